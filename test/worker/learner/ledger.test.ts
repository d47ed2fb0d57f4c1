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
    const start = store.model.watermark;
    const key = "hash";
    const waiting = Array.from({ length: 500 }, (_, i) => ({ impression: waitingFor(key, start + i), at: start + i, event: `order ${i}` }));
    store.transact(() => {
      for (const each of waiting) store.conversions.insert({ ...each, key, action: null, goal: "conversion", reward: 1 }, "orphan");
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
