import { evictDurableObject } from "cloudflare:test";
import { delayLinTs, Recommender } from "afterclick";
import { expect, it } from "vitest";
import { verify } from "../../../cli/verify/verification.ts";
import { call, convert, createModel, describeModel, HOUR_MS, learnerOf } from "../support/client.ts";
import { MINUTE_MS, tick, useClock } from "../support/clock.ts";
import type { Line } from "../support/fold.ts";

// Lists of a model whose places are examined with different probabilities.

useClock();

const options = { dimension: 2 };
const examination = [1, 0.5, 0.25];
const candidates = [
  { id: "a", features: [1, 0] },
  { id: "b", features: [0, 1] },
  { id: "c", features: [0.5, 0.5] },
  { id: "d", features: [0.25, 0.5] },
];

async function logOf(model: string): Promise<string[]> {
  return (await call("GET", `/v1/models/${model}/events`)).body.trimEnd().split("\n");
}

/** The digest of an SDK's recommender that learns the impressions of a log, each by its place. */
async function learntDigest(lines: readonly string[], weights?: readonly number[]): Promise<string> {
  const policy = delayLinTs({ ...options, ...(JSON.parse(lines[0]).config.options as typeof options) });
  const recommender = await Recommender.create({ policy, window: { ms: HOUR_MS }, ...(weights && { examination: weights }) });
  for (const line of lines.map((each): Line => JSON.parse(each))) {
    if (line.type === "impression") {
      recommender.register({ impressionId: line.id, features: line.features, now: line.shownAt, place: line.decision?.place ?? 0 });
    } else if (line.type === "conversion") recommender.convert({ impressionId: line.impression, reward: line.reward, at: line.at });
  }
  return recommender.digest();
}

it("each impression counts by its place: at once, after an eviction, in a verification and in an import", async () => {
  const model = await createModel({ options, examination, serving: "learner" });
  expect((await describeModel(model)).examination).toEqual(examination);
  for (let n = 0; n < 12; n++) {
    tick(MINUTE_MS);
    if (n === 6) await evictDurableObject(learnerOf(model));
    const { body } = await call("POST", `/v1/models/${model}/recommendations`, { actions: candidates, limit: 4 });
    if (n % 3 === 0) await convert({ impressionId: body.actions[n % 4].impressionId, reward: 1 });
  }
  const items = [0, 2].map((place) => ({ action: candidates[0], shownAt: Date.now(), place }));
  expect((await call("POST", `/v1/models/${model}/impressions`, items)).status).toBe(201);
  await evictDurableObject(learnerOf(model));
  const { digest } = await describeModel(model);
  const log = await logOf(model);
  expect(await learntDigest(log, examination)).toBe(digest);
  expect(await learntDigest(log)).not.toBe(digest);
  await verify(() => log);
  const copy = await createModel({ options, examination, serving: "learner" });
  expect((await call("POST", `/v1/models/${copy}/events`, log.join("\n"))).status).toBe(200);
  expect((await describeModel(copy)).digest).toBe(digest);
});

it.each([
  [[], 422, /^examination: /],
  [[0.5], 422, "examination[0]: expected 1, as the weights of other places are relative to the first, got 0.5"],
  [[1, 0], 422, /^examination\.1: /],
  [[1, 2], 422, /^examination\.1: /],
  [0.5, 400, /^examination: /],
])("%j is refused", async (wrong, status, detail) => {
  const { body, ...reply } = await call("PUT", "/v1/models/refused", { window: { ms: HOUR_MS }, examination: wrong });
  expect(reply.status).toBe(status);
  expect(body.detail).toMatch(detail);
});

it("is absent by default, and a change needs a reset", async () => {
  const model = await createModel({ options });
  expect((await describeModel(model)).examination).toBeUndefined();
  await call("POST", `/v1/models/${model}/recommendations`, { actions: candidates });
  const changed = await call("PATCH", `/v1/models/${model}`, { examination });
  expect(changed).toMatchObject({ status: 409, body: { detail: expect.stringContaining("examination") } });
  const { window } = await describeModel(model);
  expect((await call("POST", `/v1/models/${model}/reset`, { window, options, examination })).body).toMatchObject({ examination });
});
