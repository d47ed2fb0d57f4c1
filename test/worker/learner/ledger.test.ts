import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { waitingFor } from "../../../worker/domain/conversion/event.ts";
import { LearnerStore } from "../../../worker/learner/store/learner-store.ts";
import {
  call,
  convert,
  createModel,
  describeModel,
  HOUR_MS,
  journalOf,
  learnerOf,
  recommend,
  show,
  stateOf,
  statusesOf,
  statusOf,
  storedOf,
  type WebhookOptions,
} from "../support/client.ts";
import { auditing, closing, MINUTE_MS, QUARTER_MS, ring, useClock } from "../support/clock.ts";
import { learners, lost } from "../support/fault.ts";
import { expectConsistent } from "../support/fold.ts";

useClock();

const unreachable = { LEARNER: learners(() => lost()) };

/** Shows one action. Returns its impression id. */
async function showOne(model: string, fields: object = {}): Promise<string> {
  const [impressionId] = await show(model, fields);
  return impressionId;
}

/** The answer without the count of repetitions, which depends on how often events were sent. */
async function uncounted(model: string) {
  const { digest, counts } = await stateOf(model);
  return { digest, counts: { ...counts, duplicate: 0 } };
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, i) => permutations(items.toSpliced(i, 1)).map((rest) => [item, ...rest]));
}

type Delivery = readonly [data: object, options: WebhookOptions];

const converted = (reward: number, timestamp: number, id?: string): Delivery => [{ reward }, { timestamp, id }];
const restated = (reward: number, timestamp: number, id?: string): Delivery => [{ reward }, { type: "conversion.updated", timestamp, id }];
const retracted = (timestamp: number, id?: string): Delivery => [{}, { type: "conversion.retracted", timestamp, id }];

/** A new model with one impression and some conversions, all of them sent again if `twice`. */
async function after(
  deliveries: readonly Delivery[],
  { twice = false, ...config }: { twice?: boolean; policy?: string; options?: object } = {},
) {
  const model = await createModel(config);
  const impressionId = await showOne(model);
  const named = deliveries.map(
    ([data, options], i): Delivery => [
      { impressionId, ...data },
      { ...options, id: options.id ?? `msg_${model}_${i}` },
    ],
  );
  for (const [data, options] of named) await convert(data, options);
  if (twice) for (const [data, options] of named) expect(statusesOf(await convert(data, options))).toEqual(["duplicate"]);
  return { model, impressionId, ...(await uncounted(model)), status: await statusOf(impressionId) };
}

it.each([
  ["otf-lin-ts", {}],
  ["delay-lin-ts", {}],
  ["otf-lin-ucb", {}],
  ["gp-ucb-sdf", { kernel: { name: "matern52" } }],
])("subtracts what is retracted exactly, in whichever order it comes (%s)", async (policy, options) => {
  const at = Date.now() + MINUTE_MS;
  const config = { policy, options, twice: true };
  const untouched = await after([], config);
  const revived = await after([converted(0.25, at)], config);
  const events = [converted(0.5, at), restated(0.75, at + 1), retracted(at + 2)];
  for (const order of permutations(events)) {
    const { model, impressionId, ...state } = await after(order, config);
    expect(state).toMatchObject({
      status: "retracted",
      digest: untouched.digest,
      counts: { impressions: 1, pending: 0, converted: 0, retracted: 1, applied: 3 },
    });
    expect(statusesOf(await convert({ impressionId, reward: 0.25 }, { timestamp: at + 3 }))).toEqual(["applied"]);
    expect(await describeModel(model)).toMatchObject({ digest: revived.digest, counts: { converted: 1, retracted: 0 } });
    expect(await statusOf(impressionId)).toBe("converted");
    await evictDurableObject(learnerOf(model));
    expect((await describeModel(model)).digest).toBe(revived.digest);
  }
});

it("lets a retraction wait for what it retracts", async () => {
  const at = Date.now();
  const untouched = await after([]);
  const alone = await after([retracted(at + 1)]);
  expect(alone).toMatchObject({ status: "pending", digest: untouched.digest, counts: { pending: 1, retracted: 0, applied: 1 } });
  await convert({ impressionId: alone.impressionId, reward: 1 }, { timestamp: at });
  expect(await statusOf(alone.impressionId)).toBe("retracted");
  expect(await describeModel(alone.model)).toMatchObject({ digest: untouched.digest, counts: { pending: 0, retracted: 1 } });
});

it("takes the latest statement, whichever comes last", async () => {
  const at = Date.now();
  const expected = await after([converted(0.75, at)]);
  for (const order of permutations([converted(1, at - 2), retracted(at - 1), restated(0.75, at)])) {
    expect(await after(order)).toMatchObject({ status: "converted", digest: expected.digest, counts: { converted: 1, applied: 3 } });
  }
});

it.each([
  ["rewards", [converted(0.5, 1, "a"), converted(0.25, 1, "a")]],
  ["times", [converted(0.5, 1, "a"), converted(0.25, 2, "a")]],
  ["a reward and its retraction at one time", [converted(0.5, 1, "a"), retracted(1, "a")]],
  ["a reward and its later retraction", [converted(0.5, 1, "a"), retracted(2, "a"), converted(1, 0, "b")]],
])("calls it a conflict if one event comes with two %s, and ends up the same in any order", async (_, events) => {
  const start = Date.now();
  const states = [];
  for (const order of permutations(events)) {
    const dated = order.map(([data, options]): Delivery => [data, { ...options, timestamp: start + (options.timestamp ?? 0) }]);
    const { model: _, impressionId: __, ...state } = await after(dated, { twice: true });
    states.push(state);
  }
  expect(states[0].counts).toMatchObject({ conflict: 1, applied: events.length - 1 });
  for (const state of states) expect(state).toEqual(states[0]);
});

it("adds up goals by their weights", async () => {
  const at = Date.now();
  const model = await createModel({ goals: { order: { weight: 1 }, review: { weight: 0.25 }, refund: { weight: -0.5 } } });
  const impressionId = await showOne(model);
  const rewardOf = async () => (await call("GET", `/v1/impressions/${impressionId}`)).body.reward;
  for (const [goal, total] of [
    ["order", 0.5],
    ["review", 0.625],
    ["refund", 0.375],
  ] as const) {
    await convert({ impressionId, goal, reward: 0.5 }, { timestamp: at });
    expect(await rewardOf()).toBe(total);
    await expectConsistent(model);
  }
  await convert({ impressionId, goal: "order" }, { type: "conversion.retracted", timestamp: at + 1 });
  // Below zero: an impression's reward may leave the range of one conversion.
  expect(await rewardOf()).toBe(-0.125);
  expect(await statusOf(impressionId)).toBe("converted");
});

it("refuses a goal that is not declared, and keeps nothing of it", async () => {
  const model = await createModel({ goals: { order: { weight: 1 } } });
  const impressionId = await showOne(model);
  const before = await uncounted(model);
  const single = await convert({ impressionId, goal: "click", reward: 1 });
  expect(single).toMatchObject({ status: 422, body: { detail: "goal: expected one of order, got click" } });
  expect(await journalOf(model)).toEqual([]);
  expect(await uncounted(model)).toEqual(before);
  const batch = [
    { impressionId, goal: "click", reward: 1 },
    { impressionId, goal: "order", reward: 1 },
    { impressionId, goal: "order", reward: 2 },
  ];
  expect(statusesOf(await convert(batch))).toEqual(["refused", "applied", "refused"]);
  expect(await journalOf(model)).toHaveLength(1);
});

it("neither learns nor misses at closing what it would have refused", async () => {
  const model = await createModel({ goals: { order: { weight: 1 } } });
  const [impressionId, shownAt] = [await showOne(model), Date.now()];
  const batch = [
    { impressionId, goal: "click", reward: 1 },
    { impressionId, goal: "order", reward: 2 },
  ];
  expect(statusesOf(await convert(batch, { env: unreachable }))).toEqual(["accepted", "accepted"]);
  await ring(model, closing(shownAt));
  await ring(model, auditing(shownAt));
  expect(await describeModel(model)).toMatchObject({ counts: { applied: 0, converted: 0 }, incidents: { missed: 0 } });
});

it("counts a day later what neither the learner got nor KV's list showed at closing, and leaves it out", async () => {
  const model = await createModel();
  const [impressionId, shownAt] = [await showOne(model), Date.now()];
  await convert({ impressionId, reward: 1 }, { env: unreachable });
  const { digest } = await describeModel(model);
  const list = vi.spyOn(Object.getPrototypeOf(env.EVENTS), "list").mockResolvedValue({ keys: [], list_complete: true, cacheStatus: null });
  await ring(model, closing(shownAt));
  // Lists the events that the learner may have missed, and the bucket's events.
  expect(list).toHaveBeenCalledTimes(2);
  list.mockRestore();
  await ring(model, auditing(shownAt) - 1);
  expect(await describeModel(model)).toMatchObject({ digest, incidents: { missed: 0 } });
  await ring(model, auditing(shownAt));
  expect(await describeModel(model)).toMatchObject({ digest, incidents: { missed: 1 }, counts: { applied: 0, late: 0, expired: 1 } });
  // Only once.
  await evictDurableObject(learnerOf(model));
  await ring(model, Date.now() + HOUR_MS);
  expect(await describeModel(model)).toMatchObject({ digest, incidents: { missed: 1 } });
});

const keyed = (model: string, key: string, fields: object = {}) => ({ model, key, reward: 1, ...fields });

it("joins conversions by an order's or a visitor's key", async () => {
  const model = await createModel();
  const [impressionId] = await recommend(model, { keys: ["order 17", "ana@example.com"] });
  const sent = await convert(keyed(model, "order 17", { reward: 0.5 }));
  expect(sent.body.conversions).toEqual([{ key: "order 17", status: "applied" }]);
  expect((await call("GET", `/v1/impressions/${impressionId}`)).body).toMatchObject({ status: "converted", reward: 0.5 });
  expect(statusesOf(await convert(keyed(model, "ana@example.com", { reward: 0.25, goal: "review" })))).toEqual(["applied"]);
  expect((await call("GET", `/v1/impressions/${impressionId}`)).body.reward).toBe(0.75);
  // A key belongs to one model.
  const other = await createModel();
  expect(statusesOf(await convert([keyed(other, "order 17"), keyed("nowhere", "order 17")]))).toEqual(["orphan", "unknown"]);
});

it("attributes to the newest impression of a key that was shown before the event and within its window", async () => {
  const model = await createModel();
  const start = Date.now();
  const older = await showOne(model, { keys: ["ana"], shownAt: start });
  vi.setSystemTime(start + 10 * MINUTE_MS);
  const newer = await showOne(model, { keys: ["ana"], action: "tent" });
  const rewardOf = async (id: string) => (await call("GET", `/v1/impressions/${id}`)).body.reward;
  const send = (timestamp: number, fields: object = {}, id?: string) => convert(keyed(model, "ana", fields), { timestamp, id });
  expect(statusesOf(await send(start + 10 * MINUTE_MS - 1, { reward: 0.25 }, "msg_before"))).toEqual(["applied"]);
  expect([await rewardOf(older), await rewardOf(newer)]).toEqual([0.25, null]);
  await send(start + 10 * MINUTE_MS, { reward: 0.5 }, "msg_at");
  expect([await rewardOf(older), await rewardOf(newer)]).toEqual([0.25, 0.5]);
  await send(start + 11 * MINUTE_MS, { action: "mug", goal: "review", reward: 0.125 });
  expect([await rewardOf(older), await rewardOf(newer)]).toEqual([0.375, 0.5]);
  vi.setSystemTime(start + 12 * MINUTE_MS);
  const newest = await showOne(model, { keys: ["ana"], action: "lamp" });
  // A repeated event is known, although the key now leads to another impression.
  expect(statusesOf(await send(start + 10 * MINUTE_MS, { reward: 0.5 }, "msg_at"))).toEqual(["duplicate"]);
  expect(statusesOf(await send(start + 13 * MINUTE_MS, { reward: 0.5 }, "msg_at"))).toEqual(["conflict"]);
  expect(await rewardOf(newest)).toBeNull();
  vi.setSystemTime(start + 72 * MINUTE_MS);
  expect(statusesOf(await send(start + 72 * MINUTE_MS + 1))).toEqual(["orphan"]);
  expect(statusesOf(await send(start + 72 * MINUTE_MS))).toEqual(["applied"]);
  expect(await rewardOf(newest)).toBe(1);
});

it("keeps a conversion for the impression that its key is given for later", async () => {
  const model = await createModel();
  const start = Date.now();
  const send = (timestamp: number, fields: object = {}, id?: string) => convert(keyed(model, "order 17", fields), { timestamp, id });
  expect(statusesOf(await send(start + 1000, { reward: 0.5 }, "msg_early"))).toEqual(["orphan"]);
  expect(statusesOf(await send(start + 1000, { reward: 0.5 }, "msg_early"))).toEqual(["duplicate"]);
  expect(statusesOf(await send(start + 1000, { reward: 0.25, goal: "review", action: "tent" }))).toEqual(["orphan"]);
  expect(statusesOf(await send(start - 1, { reward: 1 }))).toEqual(["orphan"]);
  expect((await describeModel(model)).counts).toMatchObject({ orphan: 3, applied: 0 });
  const impressionId = await showOne(model, { keys: ["order 17"] });
  expect((await call("GET", `/v1/impressions/${impressionId}`)).body).toMatchObject({ status: "converted", reward: 0.5 });
  expect((await describeModel(model)).counts).toMatchObject({ orphan: 2, applied: 1, duplicate: 1 });
  expect(statusesOf(await send(start + 1000, { reward: 0.5 }, "msg_early"))).toEqual(["duplicate"]);
  const tent = await showOne(model, { keys: ["order 17"], action: "tent" });
  expect((await call("GET", `/v1/impressions/${tent}`)).body.reward).toBe(0.25);
  expect((await describeModel(model)).counts).toMatchObject({ orphan: 1, applied: 2 });
});

it("makes a keyed conversion late that came after the window, once no impression may come for it any more", async () => {
  const model = await createModel();
  const start = Date.now();
  await showOne(model, { keys: ["ana"] });
  const at = start + HOUR_MS + 1;
  vi.setSystemTime(at);
  expect(statusesOf(await convert([keyed(model, "ana"), keyed(model, "unheard of")], { timestamp: at }))).toEqual(["orphan", "orphan"]);
  // Keeps the bucket of the conversion from being empty.
  await showOne(model, {});
  await ring(model, closing(start));
  expect((await describeModel(model)).counts).toMatchObject({ orphan: 2, late: 0 });
  await ring(model, closing(at));
  expect((await describeModel(model)).counts).toMatchObject({ orphan: 1, late: 1 });
  await expectConsistent(model);
});

it("makes an imported conversion late too, although its bucket is closed", async () => {
  const model = await createModel();
  const shownAt = Date.now() - 3 * HOUR_MS;
  const at = shownAt + HOUR_MS + 1;
  const hash = "h".repeat(22);
  const lines = [
    { type: "impression", id: "shown", action: "mug", shownAt, hashes: [hash] },
    { type: "conversion", impression: waitingFor(hash, at), reward: 1, at, hash, status: "orphan" },
  ];
  const log = lines.map((line) => JSON.stringify(line)).join("\n");
  expect(await call("POST", `/v1/models/${model}/events`, log)).toMatchObject({ status: 200 });
  expect((await describeModel(model)).counts).toMatchObject({ orphan: 0, late: 1 });
  await expectConsistent(model);
});

it("closes a bucket without reading what waits in earlier ones", async () => {
  const model = await createModel();
  const [first, second] = await runInDurableObject(learnerOf(model), (_, { storage }) => {
    const store = new LearnerStore(storage);
    const start = store.watermark;
    const key = "hash";
    const waiting = Array.from({ length: 500 }, (_, i) => ({ impression: waitingFor(key, start + i), at: start + i, event: `order ${i}` }));
    store.transact(() => {
      for (const each of waiting) store.conversions.insert({ ...each, key, action: null, goal: "conversion", reward: 1 }, "orphan", null);
    });
    const exec = vi.spyOn(Object.getPrototypeOf(storage.sql), "exec");
    const rowsRead = (close: () => void) => {
      exec.mockClear();
      store.transact(close);
      return exec.mock.results.reduce((sum, { value }) => sum + value.rowsRead, 0);
    };
    const counts = [1, 2].map((bucket) => rowsRead(() => store.close(start + bucket * QUARTER_MS)));
    exec.mockRestore();
    return counts;
  });
  expect(first).toBeGreaterThanOrEqual(500);
  expect(second).toBeLessThan(50);
});

it("claims no conversion by key that its learner did not get", async () => {
  const model = await createModel();
  await recommend(model, { keys: ["order 17"] });
  expect((await convert(keyed(model, "order 17"), { id: "msg_key", env: unreachable })).status).toBe(503);
  expect(await journalOf(model)).toEqual([]);
  expect(statusesOf(await convert(keyed(model, "order 17"), { id: "msg_key" }))).toEqual(["applied"]);
});

it("stores no key in the clear", async () => {
  const model = await createModel();
  const secret = "visitor-8f2c";
  await recommend(model, { keys: [secret], context: { country: "PT" } });
  await showOne(model, { keys: [secret] });
  await convert(keyed(model, secret));
  await convert(keyed(model, `${secret}-unknown`));
  await call("GET", `/v1/models/${model}/snapshot`);
  const stored = await storedOf(model);
  expect(stored).toContain("PT");
  expect(stored).not.toContain(secret);
  const { body } = await call("GET", `/v1/models/${model}/events`);
  expect(body).toContain('"orphan"');
  expect(body).not.toContain(secret);
});

it("looks up by an index whatever a delivery or a registration asks for", async () => {
  const model = await createModel();
  const plans = await runInDurableObject(learnerOf(model), async (_, { storage: { sql } }) => {
    const exec = vi.spyOn(Object.getPrototypeOf(sql), "exec");
    const impressionId = await showOne(model, { keys: ["ana"] });
    await convert([{ impressionId, reward: 1 }, keyed(model, "ana"), keyed(model, "bea")]);
    const statements = exec.mock.calls.map(([statement]) => String(statement));
    exec.mockRestore();
    return statements.flatMap((statement) =>
      sql
        .exec(`EXPLAIN QUERY PLAN ${statement.replace(/\?\d*/g, "1")}`)
        .toArray()
        .map(({ detail }) => detail),
    );
  });
  expect(plans.filter((detail) => /SEARCH (keys|conversions)/.test(String(detail))).length).toBeGreaterThan(3);
  expect(plans.filter((detail) => /^SCAN (?!model|progress|relearning|json_each)/.test(String(detail)))).toEqual([]);
});

it("learns what was deferred once it is shown, and joins what came for it before", async () => {
  const model = await createModel();
  const before = await describeModel(model);
  const [impressionId] = await recommend(model, { defer: true });
  expect(await statusOf(impressionId)).toBe("deferred");
  expect(await describeModel(model)).toMatchObject({ digest: before.digest, counts: { impressions: 0, pending: 0, expired: 0 } });
  expect(statusesOf(await convert({ impressionId, reward: 0.5 }))).toEqual(["orphan"]);
  expect((await describeModel(model)).digest).toBe(before.digest);
  const activate = async () => (await call("POST", `/v1/impressions/${impressionId}/activate`)).body.status;
  expect(await activate()).toBe("activated");
  const { digest, counts } = await describeModel(model);
  expect(counts).toMatchObject({ impressions: 1, converted: 1, orphan: 0, applied: 1 });
  const { action } = (await call("GET", `/v1/impressions/${impressionId}`)).body;
  const direct = await createModel();
  await convert({ impressionId: await showOne(direct, { action, context: undefined }), reward: 0.5 });
  expect((await describeModel(direct)).digest).toBe(digest);
  expect(await activate()).toBe("duplicate");
  await evictDurableObject(learnerOf(model));
  expect(await describeModel(model)).toMatchObject({ digest, counts });
  expect((await call("POST", "/v1/impressions/forged/activate")).status).toBe(404);
});

it("forgets at closing what was deferred and never shown", async () => {
  const model = await createModel();
  const [[never], shownAt] = [await recommend(model, { defer: true, keys: ["ana"] }), Date.now()];
  await recommend(model);
  await convert({ impressionId: never, reward: 1 });
  const { digest } = await describeModel(model);
  expect(statusesOf(await convert(keyed(model, "ana")))).toEqual(["orphan"]);
  await ring(model, closing(shownAt));
  expect((await call("GET", `/v1/impressions/${never}`)).status).toBe(404);
  expect((await call("POST", `/v1/impressions/${never}/activate`)).status).toBe(404);
  expect(await describeModel(model)).toMatchObject({ digest, counts: { impressions: 1, expired: 1, orphan: 2 } });
});
