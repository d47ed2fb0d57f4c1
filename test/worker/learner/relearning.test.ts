import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { verify } from "../../../cli/verify/verification.ts";
import { createApp } from "../../../worker/edge/app.ts";
import { Relearning, SAVING } from "../../../worker/learner/model/relearning.ts";
import { LearnerStore } from "../../../worker/learner/store/learner-store.ts";
import type { Description } from "../../../worker/rpc/message.ts";
import { stream } from "../../support/scenario.ts";
import { call, convert, createModel, describeModel, learnerOf, recommend, show, stateOf, statusesOf } from "../support/client.ts";
import { bucketOf, MINUTE_MS, QUARTER_MS, tick, useClock } from "../support/clock.ts";
import { expectDelays, linesOf } from "../support/fold.ts";

// A model learns its log again under another configuration, while the old one serves.

useClock();

const actions = ["tent", "mug", "lamp", "stove"].map((id, i) => ({ id, features: { price: 10 * i, brand: `brand-${i % 2}` } }));
const more = [...actions, { id: "rope", features: { price: 5, brand: "brand-1" } }];
const encoder = { dimension: 32, numeric: { price: { min: 0, max: 50 } }, interactions: "all" };
const random = stream(3);

/** A model with a history: decisions, conversions, updates, retractions, late ones, an erasure and a change of the catalogue. */
async function lived(options: object = {}): Promise<{ model: string; shown: string[] }> {
  const model = await createModel({ encoder, ...options });
  await call("PUT", `/v1/models/${model}/actions`, { actions });
  const shown: string[] = [];
  for (let i = 0; i < 40; i++) {
    tick(MINUTE_MS);
    if (i === 20)
      await call("PUT", `/v1/models/${model}/actions`, { actions: [...actions, { id: "rope", features: { price: 5, brand: "brand-1" } }] });
    const ids = await recommend(model, { context: { country: i % 3 ? "PT" : "ES" }, limit: 1 + (i % 2), keys: [`visitor ${i}`] });
    shown.push(...ids);
    if (random() < 0.4) await convert({ impressionId: ids[0], reward: 1 }, { id: `msg_${i}` });
    if (i % 7 === 3) await convert({ impressionId: ids[0] }, { type: "conversion.retracted", id: `msg_${i}` });
  }
  await show(model, { action: "mug", context: { country: "PT" } });
  await call("DELETE", `/v1/impressions/${shown[5]}`);
  return { model, shown };
}

const reset = (model: string, body: object) => call("POST", `/v1/models/${model}/reset`, { from: "log", ...body });

/** Lets the alarm learn the log until the new model has taken over. */
async function finish(model: string): Promise<void> {
  for (let i = 0; i < 20 && (await describeModel(model)).relearning; i++) await runDurableObjectAlarm(learnerOf(model));
  expect((await describeModel(model)).relearning).toBeNull();
  await expectDelays(model, linesOf(await logOf(model)));
}

const logOf = async (model: string): Promise<string> => (await call("GET", `/v1/models/${model}/events`)).body;

/** The body that makes a model like this one. */
function bodyOf({ policy, options, encoder: own, goals, seed }: Description): object {
  const { vocabulary: _, version: __, ...rest } = own ?? {};
  return { policy, options, seed, encoder: rest, ...(goals && { goals }) };
}

/** The digest of a new model that takes the log of another one. */
async function importedDigest(model: string): Promise<string | null> {
  const fresh = await createModel(bodyOf(await describeModel(model)));
  await call("PUT", `/v1/models/${fresh}/actions`, { actions: more });
  expect((await call("POST", `/v1/models/${fresh}/events`, await logOf(model))).status).toBe(200);
  return (await describeModel(fresh)).digest;
}

describe.each([
  ["another policy", { policy: "otf-lin-ts" }],
  ["other options", { options: { shrinkage: "fixed", ridge: 2 } }],
  ["another encoder", { encoder: { dimension: 64, numeric: { price: { min: 0, max: 50 } }, interactions: [] } }],
  ["log-odds", { options: { rewards: "bernoulli" } }],
  ["goals", { goals: { conversion: { weight: 0.5 } } }],
])("under %s", (_, change) => {
  it("learns what a new model learns from the exported log, goes on, and can be verified", async () => {
    const { model, shown } = await lived();
    const before = await describeModel(model);
    const answer = await reset(model, change);
    expect(answer).toMatchObject({ status: 202, body: { policy: before.policy, relearning: { done: 0, endsAt: null } } });
    // The old model serves meanwhile.
    const [meanwhile] = await recommend(model, { context: { country: "ES" } });
    await convert({ impressionId: meanwhile, reward: 1 }, { id: "msg_meanwhile" });
    await finish(model);
    const after = await describeModel(model);
    expect(after).toMatchObject({ generation: before.generation, ...change, options: expect.anything(), encoder: expect.anything() });
    expect(after.counts).toMatchObject({ impressions: before.counts.impressions + 1, converted: before.counts.converted + 1 });
    expect(await importedDigest(model)).toBe(after.digest);
    // Conversions of earlier impressions count as before, and a learner that starts again has the same state.
    expect(statusesOf(await convert({ impressionId: shown[0], reward: 1 }, { id: "msg_after" }))).toEqual(["applied"]);
    await recommend(model, { context: { country: "PT" }, limit: 2 });
    const { digest } = await describeModel(model);
    await evictDurableObject(learnerOf(model));
    expect((await describeModel(model)).digest).toBe(digest);
    const lines = (await logOf(model)).trimEnd().split("\n");
    const { tally } = await verify(() => lines);
    // The erased one cannot be verified, and one came meanwhile.
    expect(tally).toMatchObject({ decisions: 2, before: before.counts.impressions });
  });
});

it("a longer log is learnt page by page, and goes on where it was interrupted", async () => {
  const model = await createModel();
  const now = Date.now();
  const line = (i: number) =>
    JSON.stringify({ type: "impression", id: `shown ${i}`, action: ["tent", "mug", "lamp"][i % 3], shownAt: now - 5 * i });
  await call("POST", `/v1/models/${model}/events`, Array.from({ length: 2500 }, (_, i) => line(2500 - i)).join("\n"));
  await reset(model, { options: { ridge: 3 } });
  await runInDurableObject(learnerOf(model), async (_, { storage }) => {
    const store = new LearnerStore(storage);
    const relearning = new Relearning(store, 0);
    expect(await relearning.step()).toBe(false);
    expect(relearning.progress(Date.now() + 10)).toMatchObject({ done: 256, rows: store.seq });
    expect(store.relearning.blocks.countAfter(0)).toBeGreaterThan(200);
  });
  await evictDurableObject(learnerOf(model));
  await finish(model);
  const { digest, counts } = await describeModel(model);
  expect(counts.impressions).toBe(2500);
  expect(await importedDigest(model)).toBe(digest);
});

it("what was saved is not learnt again after an interruption, and what was not is learnt once", async () => {
  const rows = SAVING.rows;
  try {
    SAVING.rows = 1500;
    const model = await createModel({ encoder });
    await call("PUT", `/v1/models/${model}/actions`, { actions: more });
    const now = Date.now();
    const lines = Array.from({ length: 2200 }, (_, i) => {
      const shownAt = now - 11_000 + 5 * i;
      const shown = { type: "impression", id: `shown ${i}`, action: more[i % 5].id, shownAt, context: { country: i % 3 ? "PT" : "ES" } };
      const converted = { type: "conversion", impression: `shown ${i - 3}`, reward: 1, at: shownAt, event: `order ${i}` };
      return i % 4 === 3 ? [shown, converted] : [shown];
    });
    await call(
      "POST",
      `/v1/models/${model}/events`,
      lines
        .flat()
        .map((line) => JSON.stringify(line))
        .join("\n"),
    );
    await reset(model, { encoder: { dimension: 16, numeric: { price: { min: 0, max: 50 } }, interactions: [] } });
    await runInDurableObject(learnerOf(model), async (_, { storage }) => {
      const store = new LearnerStore(storage);
      const interrupted = new Relearning(store, 0);
      const done: (number | undefined)[] = [];
      while (done.at(-1) !== store.seq) {
        await interrupted.step();
        done.push(interrupted.progress(now)?.done);
      }
      expect(done).toEqual([...Array.from({ length: Math.floor(store.seq / 256) }, (_, i) => 256 * (i + 1)), store.seq]);
      expect(store.relearning.begun?.seq).toBe(1536);
      const relearning = new Relearning(store, 0);
      expect(relearning.progress(now)).toMatchObject({ done: 1536, rows: store.seq, endsAt: null });
      while (relearning.progress(now)?.done !== store.seq) expect(await relearning.step()).toBe(false);
      expect(store.relearning.blocks.countAfter(0)).toBe(2200);
      // Four impressions come between two conversions.
      expect(Array.from(store.relearning.blocks.after(0)).length).toBeLessThan(600);
    });
    await evictDurableObject(learnerOf(model));
    await finish(model);
    const { digest, counts } = await describeModel(model);
    expect(counts).toMatchObject({ impressions: 2200, converted: 550 });
    expect(await importedDigest(model)).toBe(digest);
  } finally {
    SAVING.rows = rows;
  }
});

it("a conversion of a goal that is not declared any more does not count, and keeps no other one out", async () => {
  const model = await createModel();
  const [impressionId, other] = await show(model, {}, {});
  await convert([impressionId, other].map((id) => ({ impressionId: id, goal: "review", reward: 1 })));
  tick(MINUTE_MS);
  await reset(model, { goals: { order: { weight: 1 } } });
  await finish(model);
  expect((await describeModel(model)).counts).toMatchObject({ impressions: 2, converted: 0 });
  expect(statusesOf(await convert({ impressionId, goal: "order", reward: 1 }))).toEqual(["applied"]);
  expect((await describeModel(model)).counts).toMatchObject({ converted: 1 });
  const { body } = await call("GET", `/v1/models/${model}/metrics`);
  expect(body.delay).toMatchObject({ impressions: 2, conversions: 1 });
  await expectDelays(model, linesOf(await logOf(model)));
});

it("a rollback and an erasure meanwhile are not learnt", async () => {
  const { model, shown } = await lived();
  await runDurableObjectAlarm(learnerOf(model));
  const { kept } = await describeModel(model);
  const [undone] = await recommend(model, { context: { country: "PT" } });
  await reset(model, { options: { ridge: 3 } });
  await runInDurableObject(learnerOf(model), async (_, { storage }) => {
    const relearning = new Relearning(new LearnerStore(storage), 0);
    while (relearning.progress(0)?.done === 0) await relearning.step();
  });
  await evictDurableObject(learnerOf(model));
  expect((await call("POST", `/v1/models/${model}/rollback`, { version: kept[0].version })).status).toBe(200);
  await call("DELETE", `/v1/impressions/${shown[7]}`);
  await finish(model);
  const { digest } = await describeModel(model);
  expect((await call("GET", `/v1/impressions/${undone}`)).body).toMatchObject({ status: "rolled-back" });
  expect((await call("GET", `/v1/impressions/${shown[7]}`)).status).toBe(404);
  expect(await logOf(model)).not.toContain(`"keys":["visitor 5"]`);
  expect(await importedDigest(model)).toBe(digest);
});

it("what an object has learnt before a rollback or another beginning is not used", async () => {
  const { model } = await lived();
  await runDurableObjectAlarm(learnerOf(model));
  const { kept } = await describeModel(model);
  await recommend(model, { context: { country: "PT" } });
  await reset(model, { options: { ridge: 3 } });
  await runInDurableObject(learnerOf(model), async (_, { storage }) => {
    const store = new LearnerStore(storage);
    const relearning = new Relearning(store, 0);
    await relearning.step();
    const learnt = relearning.progress(0)?.done ?? 0;
    expect(learnt).toBeGreaterThan(40);
    store.transact(() => store.rollBack(store.snapshots.kept(kept[0].version) as never));
    expect(await relearning.step()).toBe(false);
    expect(store.relearning.blocks.countAfter(0)).toBe(0);
    while (!(await relearning.step()));
    expect(await relearning.takeOver()).toBe(true);
    const { state } = Array.from(store.impressions.after(0)).at(-1) ?? {};
    expect([state, store.model.config.options]).toMatchObject(["void", { ridge: 3 }]);
  });
  await evictDurableObject(learnerOf(model));
  expect(await importedDigest(model)).toBe((await describeModel(model)).digest);
});

it("rows that are forgotten meanwhile do not come back, and what they brought is counted once", async () => {
  const model = await createModel();
  const [converted] = await show(model, {}, {});
  await convert({ impressionId: converted, reward: 1 });
  tick(QUARTER_MS);
  const [kept] = await show(model, {});
  await convert({ impressionId: kept, reward: 1 });
  const figures = async () => [await stateOf(model), (await call("GET", `/v1/models/${model}/metrics`)).body.buckets];
  const before = await figures();
  await reset(model, { options: { ridge: 2 } });
  await runInDurableObject(learnerOf(model), async (_, { storage }) => {
    const store = new LearnerStore(storage);
    const relearning = new Relearning(store, 0);
    while (!(await relearning.step()));
    store.transact(() => store.prune(bucketOf(Date.now())));
    expect(await relearning.takeOver()).toBe(true);
    expect(Array.from(store.impressions.after(0))).toHaveLength(1);
  });
  await evictDurableObject(learnerOf(model));
  expect(await figures()).toEqual(before);
  await expectDelays(model, linesOf(await logOf(model)));
});

it("features of an isolate that still has the old encoder are made anew", async () => {
  const { model } = await lived({ serving: "edge" });
  const old = createApp();
  await recommend(model, { context: { country: "PT" } }, { isolate: old });
  await reset(model, { encoder: { dimension: 16, numeric: { price: { min: 0, max: 50 } }, interactions: [] } });
  await finish(model);
  const before = (await describeModel(model)).counts.impressions;
  const [id] = await recommend(model, { context: { country: "ES" } }, { isolate: old });
  const { counts, incidents } = await describeModel(model);
  expect([counts.impressions, incidents.refused]).toEqual([before + 1, 0]);
  expect(statusesOf(await convert({ impressionId: id, reward: 1 }))).toEqual(["applied"]);
  const lines = (await logOf(model)).trimEnd().split("\n");
  expect(JSON.parse(lines.findLast((text) => text.includes('"type":"impression"')) as string).features).toHaveLength(16);
  expect((await verify(() => lines)).tally.decisions).toBe(0);
});

it("a deferred impression is learnt with new features once it is shown", async () => {
  const { model } = await lived();
  const [id] = await recommend(model, { context: { country: "PT" }, defer: true });
  await reset(model, { encoder: { dimension: 16, numeric: { price: { min: 0, max: 50 } }, interactions: [] } });
  await finish(model);
  expect((await call("POST", `/v1/impressions/${id}/activate`)).body).toMatchObject({ status: "activated" });
  expect(await importedDigest(model)).toBe((await describeModel(model)).digest);
});

it("a state that this version cannot read is learnt again from the log, and no conversion is lost meanwhile", async () => {
  const { model, shown } = await lived();
  const before = await describeModel(model);
  await runInDurableObject(learnerOf(model), (_, { storage: { sql } }) => {
    // The fifth byte is the format of a snapshot.
    for (const { seq, part, chunk, bytes } of sql
      .exec<{ seq: number; part: number; chunk: number; bytes: ArrayBuffer }>("SELECT * FROM snapshots WHERE chunk = 0")
      .toArray()) {
      new Uint8Array(bytes)[4]++;
      sql.exec("UPDATE snapshots SET bytes = ? WHERE seq = ? AND part = ? AND chunk = ?", bytes, seq, part, chunk);
    }
  });
  await evictDurableObject(learnerOf(model));
  // The state itself is what nobody can give.
  for (const [method, path] of [
    ["GET", `/v1/models/${model}/snapshot`],
    ["GET", `/v1/models/${model}/examination`],
    ["POST", `/v1/models/${model}/rollback`],
    ["DELETE", `/v1/impressions/${shown[0]}`],
  ] as const) {
    const refused = await call(method, path, method === "POST" ? { version: before.kept[0].version } : undefined);
    expect(refused, path).toMatchObject({ status: 503, body: { detail: expect.stringMatching(/its log is learnt again: 0 of \d+ rows/) } });
  }
  expect(await describeModel(model)).toMatchObject({ digest: null, relearning: { done: 0 } });
  expect(statusesOf(await convert({ impressionId: shown[0], reward: 1 }, { id: "msg_meanwhile" }))).toEqual(["applied"]);
  await finish(model);
  const after = await describeModel(model);
  expect(after.counts).toMatchObject({ impressions: before.counts.impressions, applied: before.counts.applied + 1 });
  expect(await importedDigest(model)).toBe(after.digest);
  expect(await recommend(model, { context: { country: "PT" } })).toHaveLength(1);
});

it.each([
  ["an unknown policy", { policy: "otf-lin-tsx" }, 422, "policy: expected one of"],
  ["options that do not fit", { options: { dimension: 7 } }, 422, "options.dimension: expected the encoder's 32, got 7"],
  ["an unknown source", { from: "archive" }, 400, "from"],
])("%s is refused, and nothing begins", async (_, body, status, detail) => {
  const { model } = await lived();
  const answer = await reset(model, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(status);
  expect(JSON.stringify(answer.body)).toContain(detail);
  expect((await describeModel(model)).relearning).toBeNull();
});

it("a new relearning replaces the one that runs, and a reset ends it", async () => {
  const { model } = await lived();
  // The first has made features of another length.
  await reset(model, { encoder: { dimension: 16, numeric: { price: { min: 0, max: 50 } }, interactions: [] } });
  await runInDurableObject(learnerOf(model), async (_, { storage }) => {
    const store = new LearnerStore(storage);
    const relearning = new Relearning(store, 0);
    await relearning.step();
    relearning.begin({ ...store.model.config, seed: 5 }, 0);
    await relearning.step();
    expect(store.relearning.blocks.find(Array.from(store.impressions.after(0))[0].id)?.row.features).toHaveLength(32);
  });
  await evictDurableObject(learnerOf(model));
  await reset(model, { options: { ridge: 2 } });
  await reset(model, { options: { ridge: 3 } });
  await finish(model);
  expect((await describeModel(model)).options).toMatchObject({ ridge: 3 });
  await reset(model, { options: { ridge: 4 } });
  await call("POST", `/v1/models/${model}/reset`, {});
  expect(await describeModel(model)).toMatchObject({ relearning: null, options: { ridge: 3 }, counts: { impressions: 0 } });
});
