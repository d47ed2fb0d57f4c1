import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { bucketAt, bucketEnd, closesAt, forgottenAt } from "../../worker/bucket.ts";
import { graceMs } from "../../worker/environment.ts";
import { TokenSigner, uuidAt } from "../../worker/token.ts";
import { call, convert, createModel, describeModel, HOUR_MS, journalOf, learnerOf, recommend } from "./client.ts";

const timing = { windowMs: HOUR_MS, graceMs: graceMs(env) };
const MINUTE_MS = 60_000;

beforeEach(() => {
  // Only the clock: alarms are run by hand.
  vi.useFakeTimers({ toFake: ["Date"], now: bucketAt(Date.now(), HOUR_MS) });
});
afterEach(() => {
  vi.useRealTimers();
});

const brokenLearner = (flags: object): typeof env.LEARNER => {
  const fail = () => Promise.reject(Object.assign(new Error("broken"), flags));
  return { idFromName: () => ({}), get: () => ({ ingest: fail, recommend: fail }) } as unknown as typeof env.LEARNER;
};
const brokenKv = { put: () => Promise.reject(new Error("429")), delete: () => Promise.resolve() } as unknown as KVNamespace;
const unreachable = { LEARNER: brokenLearner({ retryable: true }) };

const statusesOf = ({ body }: Awaited<ReturnType<typeof convert>>): string[] =>
  body.conversions.map(({ status }: { status: string }) => status);
const statusOf = async (impressionId: string): Promise<string> => (await call("GET", `/v1/impressions/${impressionId}`)).body.status;

/** Lets the alarm of a model ring at a time. */
async function closeAt(model: string, now: number): Promise<void> {
  vi.setSystemTime(now);
  expect(await runDurableObjectAlarm(learnerOf(model))).toBe(true);
}

it("keeps a conversion in both stores", async () => {
  const model = await createModel();
  const [impressionId] = await recommend(model);
  expect(statusesOf(await convert({ impressionId, reward: 1 }))).toEqual(["applied"]);
  expect(await journalOf(model)).toHaveLength(1);
});

it("accepts what the learner alone took", async () => {
  const model = await createModel();
  const [impressionId] = await recommend(model);
  expect(statusesOf(await convert({ impressionId, reward: 1 }, { env: { EVENTS: brokenKv } }))).toEqual(["applied"]);
  expect(await statusOf(impressionId)).toBe("converted");
});

it.each([
  ["cannot be reached", { retryable: true }],
  ["is overloaded", { retryable: true, overloaded: true }],
  ["fails", {}],
])("accepts what KV alone took while the learner %s, and learns it at closing", async (_, flags) => {
  const model = await createModel();
  const [impressionId, other] = await recommend(model, { limit: 2 });
  const sent = await convert(
    [
      { impressionId, reward: 1 },
      { impressionId: other, reward: 1, timestamp: Date.now() + MINUTE_MS },
      { impressionId: other, reward: 7 },
    ],
    { env: { LEARNER: brokenLearner(flags) } },
  );
  expect(sent.status).toBe(202);
  expect(statusesOf(sent)).toEqual(["accepted", "accepted", "accepted"]);
  expect(await statusOf(impressionId)).toBe("pending");
  const now = Date.now();
  await closeAt(model, closesAt(now, timing) - 1);
  expect(await statusOf(impressionId)).toBe("expired");
  await closeAt(model, closesAt(now, timing));
  expect(await statusOf(impressionId)).toBe("converted");
  expect((await describeModel(model)).counts).toMatchObject({ applied: 2, converted: 2, duplicate: 0, late: 0, pending: 0, expired: 0 });
});

it("claims nothing when neither store took it, and takes it when it is sent again", async () => {
  const model = await createModel();
  const [impressionId] = await recommend(model);
  const before = await describeModel(model);
  const failed = await convert({ impressionId, reward: 1 }, { id: "msg_again", env: { ...unreachable, EVENTS: brokenKv } });
  expect(failed).toMatchObject({ status: 503, body: { status: 503 } });
  expect(failed.headers.get("retry-after")).toMatch(/^\d+$/);
  expect(await describeModel(model)).toEqual(before);
  expect(statusesOf(await convert({ impressionId, reward: 1 }, { id: "msg_again" }))).toEqual(["applied"]);
});

it("does not rely on KV alone when its list may not show the event before the bucket closes", async () => {
  const model = await createModel();
  const [impressionId] = await recommend(model);
  const at = Date.now();
  vi.setSystemTime(closesAt(at, timing) - MINUTE_MS);
  expect((await convert({ impressionId, reward: 1 }, { timestamp: at, env: unreachable })).status).toBe(503);
});

it("does not store what the learner refuses or does not know", async () => {
  const model = await createModel();
  const [impressionId] = await recommend(model);
  expect((await convert({ impressionId, reward: 2 })).status).toBe(422);
  expect(await journalOf(model)).toEqual([]);
  const signer = await TokenSigner.create(env.AFTERCLICK_TOKEN_KEY as string);
  const gone = {
    id: uuidAt(Date.now(), new Uint8Array(10)),
    model: "gone",
    action: "a",
    modelVersion: 0,
    windowEndsAt: Date.now() + HOUR_MS,
  };
  expect(statusesOf(await convert({ impressionId: await signer.sign(gone), reward: 1 }))).toEqual(["unknown"]);
  expect(await journalOf("gone")).toEqual([]);
});

it("answers 503 when a recommendation finds no learner", async () => {
  const model = await createModel();
  const reply = await call("POST", `/v1/models/${model}/recommendations`, {}, { env: unreachable });
  expect(reply).toMatchObject({ status: 503, body: { status: 503 } });
});

it("knows an event that is sent again, and one that says something else", async () => {
  const model = await createModel();
  const [a, b] = await recommend(model, { limit: 2 });
  const timestamp = Date.now();
  expect(statusesOf(await convert({ impressionId: a, reward: 0.5 }, { id: "msg_a", timestamp }))).toEqual(["applied"]);
  const { digest } = await describeModel(model);
  expect(statusesOf(await convert({ impressionId: a, reward: 0.5 }, { id: "msg_a", timestamp }))).toEqual(["duplicate"]);
  expect((await describeModel(model)).digest).toBe(digest);
  expect(statusesOf(await convert({ impressionId: a, reward: 0.25 }, { id: "msg_a", timestamp }))).toEqual(["conflict"]);
  // Of one time and one event the greater reward counts, so nothing has moved.
  expect((await describeModel(model)).digest).toBe(digest);
  const batch = [
    { impressionId: a, reward: 0.5 },
    { impressionId: b, reward: 0.5 },
  ];
  expect(statusesOf(await convert(batch, { id: "msg_b", timestamp }))).toEqual(["applied", "applied"]);
  expect(statusesOf(await convert(batch, { id: "msg_b", timestamp }))).toEqual(["duplicate", "duplicate"]);
  expect((await describeModel(model)).counts).toMatchObject({ applied: 3, conflict: 1, duplicate: 3, converted: 2 });
});

it("counts what happened in time however slowly it comes, and calls late what happened after the window", async () => {
  const model = await createModel();
  const [inTime, late] = await recommend(model, { limit: 2 });
  const shownAt = Date.now();
  const { digest } = await describeModel(model);
  vi.setSystemTime(shownAt + HOUR_MS + 4 * MINUTE_MS);
  expect(statusesOf(await convert({ impressionId: late, reward: 1 }, { timestamp: shownAt + HOUR_MS + 1 }))).toEqual(["late"]);
  expect(await describeModel(model)).toMatchObject({ digest, counts: { late: 1, expired: 2, converted: 0 }, conversionRate: 0 });
  expect(statusesOf(await convert({ impressionId: inTime, reward: 1 }, { timestamp: shownAt + HOUR_MS }))).toEqual(["applied"]);
  expect(await describeModel(model)).toMatchObject({ counts: { late: 1, expired: 1, converted: 1 }, conversionRate: 0.5 });
});

it("calls late for ever what comes after its bucket has closed", async () => {
  const model = await createModel();
  const [impressionId, known] = await recommend(model, { limit: 2 });
  const shownAt = Date.now();
  await convert({ impressionId: known, reward: 1 }, { id: "msg_known", timestamp: shownAt });
  await closeAt(model, closesAt(shownAt, timing));
  const { digest, counts } = await describeModel(model);
  // What both stores had is not taken again.
  expect(counts).toMatchObject({ applied: 1, duplicate: 0, late: 0 });
  for (const seen of [1, 2]) {
    expect(statusesOf(await convert({ impressionId, reward: 1 }, { timestamp: shownAt }))).toEqual(["late"]);
    expect(await describeModel(model)).toMatchObject({ digest, counts: { late: seen, converted: 1 } });
  }
  // The clock set back does not open it again.
  vi.setSystemTime(bucketEnd(shownAt, HOUR_MS) - MINUTE_MS);
  expect(statusesOf(await convert({ impressionId, reward: 1 }, { timestamp: shownAt }))).toEqual(["late"]);
  const [fresh] = await recommend(model);
  expect(statusesOf(await convert({ impressionId: fresh, reward: 1 }))).toEqual(["applied"]);
});

it("keeps what comes before its impression, and joins it when that is registered", async () => {
  const model = await createModel();
  const signer = await TokenSigner.create(env.AFTERCLICK_TOKEN_KEY as string);
  const shownAt = Date.now();
  const impression = { id: uuidAt(shownAt, new Uint8Array(10)), model, action: "mug", modelVersion: 0, windowEndsAt: shownAt + HOUR_MS };
  const impressionId = await signer.sign(impression);
  expect(statusesOf(await convert({ impressionId, reward: 1 }, { id: "msg_early" }))).toEqual(["orphan"]);
  expect((await describeModel(model)).counts).toMatchObject({ orphan: 1, impressions: 0, applied: 0 });
  expect((await call("GET", `/v1/impressions/${impressionId}`)).status).toBe(404);
  const { body } = await call("POST", `/v1/models/${model}/impressions`, [{ id: impressionId, action: "mug", shownAt }]);
  expect(body.impressions[0].status).toBe("registered");
  expect((await describeModel(model)).counts).toMatchObject({ orphan: 0, impressions: 1, applied: 1, converted: 1 });
  expect(await statusOf(impressionId)).toBe("converted");
  expect(statusesOf(await convert({ impressionId, reward: 1 }, { id: "msg_early" }))).toEqual(["duplicate"]);
});

it("closes later if KV fails, without losing the event", async () => {
  const model = await createModel();
  const [impressionId] = await recommend(model);
  await convert({ impressionId, reward: 1 }, { env: unreachable });
  const due = closesAt(Date.now(), timing);
  const list = vi.spyOn(Object.getPrototypeOf(env.EVENTS), "list").mockRejectedValueOnce(new Error("KV is down"));
  await closeAt(model, due);
  expect(list).toHaveBeenCalledOnce();
  list.mockRestore();
  expect(await statusOf(impressionId)).toBe("expired");
  await closeAt(model, due + MINUTE_MS);
  expect(await statusOf(impressionId)).toBe("converted");
});

it("forgets impressions a day after their bucket closed, and keeps what it has learnt", async () => {
  const model = await createModel();
  const [impressionId] = await recommend(model);
  await convert({ impressionId, reward: 1 });
  const shownAt = Date.now();
  await closeAt(model, closesAt(shownAt, timing));
  const { digest, counts } = await describeModel(model);
  await closeAt(model, forgottenAt(shownAt, timing) - 1);
  expect(await statusOf(impressionId)).toBe("converted");
  await closeAt(model, forgottenAt(shownAt, timing));
  expect((await call("GET", `/v1/impressions/${impressionId}`)).status).toBe(404);
  expect(await describeModel(model)).toMatchObject({ digest, counts });
  // Nothing is left to wake up for.
  expect(await runDurableObjectAlarm(learnerOf(model))).toBe(false);
});
