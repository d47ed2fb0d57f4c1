import { evaluate, evaluateLists, otfLinUcb, Recommender, uniform } from "afterclick";
import { expect, it } from "vitest";
import { call, convert, createModel, HOUR_MS, recommend, statusesOf } from "../support/client.ts";
import { MINUTE_MS, tick, useClock } from "../support/clock.ts";
import { eventSource, recounted } from "../support/event-source.ts";

// Every reader of conversions takes the same times.

useClock();

/** Whether each reader takes a conversion this long after its impression, in ms. */
async function takenAt(after: number): Promise<Record<string, boolean>> {
  const shownAt = Date.now();
  const at = shownAt + after;
  const taken = (read: () => Promise<unknown>): Promise<boolean> =>
    read().then(
      () => true,
      (error) => {
        expect(error.message).toMatch(/\bat: expected/);
        return false;
      },
    );
  const model = await createModel();
  const [impressionId] = await recommend(model);
  const lines: string[] = (await call("GET", `/v1/models/${model}/events`)).body.trimEnd().split("\n");
  tick(MINUTE_MS);
  const webhook = await convert([{ impressionId, reward: 1 }], { timestamp: at });
  const imported = [
    { type: "impression", id: "a", action: "mug", shownAt },
    { type: "conversion", impression: "a", reward: 1, at },
  ];
  const body = imported.map((line) => JSON.stringify(line)).join("\n");
  const reply = await call("POST", `/v1/models/${await createModel()}/events`, body);
  const { id, seq } = lines.map((line) => JSON.parse(line)).find(({ type }) => type === "impression");
  const line = { type: "conversion", seq: seq + 100, impression: id, goal: "conversion", event: "e", reward: 1, at, status: "applied" };
  const recommender = await Recommender.create({ policy: otfLinUcb({ dimension: 1 }), window: { ms: HOUR_MS } });
  recommender.register({ impressionId: "a", features: [1], now: shownAt });
  const conversions = [{ at, reward: 1 }];
  const common = { shownAt, count: 2 };
  const request = { policy: uniform(), asOf: shownAt + HOUR_MS, window: { ms: HOUR_MS } };
  return {
    webhook: statusesOf(webhook)[0] === "applied",
    import: reply.status === 200,
    log: await taken(() => eventSource(recounted([...lines, JSON.stringify(line)]), { progress: () => {} })),
    SDK: await taken(async () => recommender.convert({ impressionId: "a", reward: 1, at })),
    evaluate: await taken(() => evaluate({ ...request, log: [{ ...common, index: 0, probability: 0.5, conversions }] })),
    evaluateLists: await taken(() =>
      evaluateLists({ ...request, log: [{ ...common, items: [{ index: 0, probability: 0.5, conversions }] }], examination: [1] }),
    ),
  };
}

it.each([
  ["an hour before the impression", -HOUR_MS, false],
  ["a moment more than five minutes before", -5 * MINUTE_MS - 1, false],
  ["five minutes before", -5 * MINUTE_MS, true],
  ["at the same time", 0, true],
  ["after it", MINUTE_MS, true],
])("a conversion %s", async (_, after, isTaken) => {
  expect(new Set(Object.entries(await takenAt(after)).map(([name, taken]) => `${name} ${taken}`))).toEqual(
    new Set(["webhook", "import", "log", "SDK", "evaluate", "evaluateLists"].map((name) => `${name} ${isTaken}`)),
  );
});
