import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, expect, it, vi } from "vitest";
import { verify } from "../../../cli/verify/verification.ts";
import { shardName } from "../../../worker/domain/ids/shard.ts";
import { createApp } from "../../../worker/edge/app.ts";
import { call, convert, createModel, describeModel, keep, learnerOf, recommend, show, statusesOf } from "../support/client.ts";
import { MINUTE_MS, START, tick, useClock } from "../support/clock.ts";
import { complaints } from "../support/complaints.ts";
import { exported, fieldsOf } from "../support/exported.ts";
import { unreachable } from "../support/fault.ts";
import { publicationIn } from "../support/published.ts";

// A model whose events are shared by several learners learns its log again: each learner its own part, and all take over together.

useClock();
afterEach(() => void vi.restoreAllMocks());

const actions = ["tent", "mug", "lamp", "stove"].map((id, i) => ({ id, features: { price: 10 * i, brand: `brand-${i % 2}` } }));
const numeric = { price: { min: 0, max: 50 } };
const OLD = { serving: "edge", encoder: { dimension: 16, numeric, interactions: "all" } };
const NEW = { encoder: { dimension: 32, numeric, interactions: [] }, options: { ridge: 2 } };

/** Impressions that were decided elsewhere, with conversions, an update, a retraction and an erasure. Returns their ids. */
async function lived(model: string): Promise<string[]> {
  await call("PUT", `/v1/models/${model}/actions`, { actions });
  const started = Date.now();
  const items = Array.from({ length: 40 }, (_, i) => ({
    action: actions[i % 4].id,
    context: { country: i % 3 ? "PT" : "ES" },
    shownAt: started - (40 - i) * 1000,
    ...(i % 3 === 1 && { keys: [`visitor-${i}`] }),
  }));
  const ids = await show(model, ...items);
  for (let i = 0; i < 40; i += 2) await convert({ impressionId: ids[i], reward: 1 }, { id: `order-${i}`, timestamp: started });
  await convert({ impressionId: ids[4], reward: 0.5 }, { id: "less-4", type: "conversion.updated" });
  await convert({ impressionId: ids[6] }, { id: "order-6", type: "conversion.retracted" });
  await call("DELETE", `/v1/impressions/${ids[8]}`);
  tick(2 * MINUTE_MS);
  await keep(model);
  return ids;
}

const reset = (model: string, body: object = NEW) => call("POST", `/v1/models/${model}/reset`, { from: "log", ...body });

/** Rings the alarms of all shards. */
async function ringAll(model: string, shards: number): Promise<void> {
  for (let shard = shards - 1; shard >= 0; shard--) await runDurableObjectAlarm(learnerOf(shardName(model, shard)));
}

async function finish(model: string, shards: number): Promise<void> {
  for (let i = 0; i < 20 && (await describeModel(model)).relearning; i++) {
    if (i > 0) tick(6000);
    await ringAll(model, shards);
  }
  expect((await describeModel(model)).relearning).toBeNull();
}

it("1, 3 and 8 shards learn the same model from the same log, and the old one serves meanwhile", async () => {
  const results = [];
  for (const shards of [1, 3, 8]) {
    const model = await createModel({ ...OLD, shards });
    const ids = await lived(model);
    const before = await describeModel(model);
    const answer = await reset(model);
    expect(answer).toMatchObject({ status: 202, body: { options: before.options, relearning: { endsAt: null } } });
    expect(answer.body.relearning.rows).toBeGreaterThan(60);
    expect((await publicationIn(model)).config.encoder).toMatchObject({ dimension: 16 });
    await finish(model, shards);
    expect(statusesOf(await convert({ impressionId: ids[1], reward: 1 }, { id: "after" }))).toEqual(["applied"]);
    tick(2 * MINUTE_MS);
    await keep(model);
    const { digest, options, counts } = await describeModel(model);
    const { parts, config } = await publicationIn(model);
    expect(config.encoder).toMatchObject({ dimension: 32 });
    results.push({ digest, options, counts, parts: parts.map((bytes) => Array.from(bytes).join()) });
    vi.setSystemTime(START);
  }
  expect(results[1]).toEqual(results[0]);
  expect(results[2]).toEqual(results[0]);
});

it("the log of all shards can be verified, with what isolates decided before and after", async () => {
  const model = await createModel({ ...OLD, shards: 3 });
  await lived(model);
  const old = createApp();
  for (let i = 0; i < 6; i++) await recommend(model, { context: { country: "PT" }, keys: [`cart-${i}`] }, { isolate: old });
  tick(2 * MINUTE_MS);
  await keep(model);
  await recommend(model, { context: { country: "PT" } }, { isolate: old });
  await reset(model);
  await finish(model, 3);
  // This isolate still has the old encoder: its impressions get features of the new one.
  const late = await Promise.all(
    [1, 2, 3].map((i) => recommend(model, { context: { country: "ES" }, keys: [`late-${i}`] }, { isolate: old })),
  );
  tick(2 * MINUTE_MS);
  await keep(model);
  const fresh = createApp();
  for (let i = 0; i < 5; i++) {
    const [id] = await recommend(model, { context: { country: "PT" }, keys: [`new-${i}`] }, { isolate: fresh });
    expect(statusesOf(await convert({ impressionId: id, reward: 1 }))).toEqual(["applied"]);
  }
  expect((await describeModel(model)).incidents.refused).toBe(0);
  const log = await exported(model);
  const lines = log.map(fieldsOf);
  const features = (id: string) => lines.find((line) => line.id === id)?.features?.length;
  expect(features(lines.find(({ type, shard }) => type === "impression" && shard === 2)?.id)).toBe(32);
  expect(lines.filter(({ mark }) => mark === "relearnt").map(({ shard = 0 }) => shard)).toEqual([0, 1, 2]);
  const { tally } = await verify(() => log);
  expect(tally).toMatchObject({ decisions: 5, elsewhere: 0 });
  expect(tally.before).toBeGreaterThan(40);
  expect(late.flat()).toHaveLength(3);
  // A shard that starts again has the same sums.
  const { digest } = await describeModel(model);
  for (const shard of [0, 1, 2]) await evictDurableObject(learnerOf(shardName(model, shard)));
  await keep(model);
  expect((await describeModel(model)).digest).toBe(digest);
});

it("no shard takes over before all have learnt their logs, and one that misses the order follows later", async () => {
  const model = await createModel({ ...OLD, shards: 3 });
  const ids = await lived(model);
  const end = unreachable(model, 2);
  await reset(model);
  await ringAll(model, 3);
  tick(6000);
  await ringAll(model, 3);
  expect(await describeModel(model)).toMatchObject({ relearning: expect.anything(), encoder: { dimension: 16 } });
  end();
  // Shard 2 learns its log with the next order. It does not hear the one by which all take over.
  let orders = 0;
  const { Learner } = await import("../../../worker/learner/learner.ts");
  const { follow } = Learner.prototype;
  const spy = vi.spyOn(Learner.prototype, "follow").mockImplementation(function (this: InstanceType<typeof Learner>, name, order) {
    if (name === shardName(model, 2) && order.relearnt && ++orders) return Promise.reject(new Error("lost"));
    return follow.call(this, name, order);
  });
  tick(6000);
  await runDurableObjectAlarm(learnerOf(model));
  expect(orders).toBeGreaterThan(0);
  expect(complaints()).toContain("an alarm's task failed Unreachable");
  const between = await describeModel(model);
  expect(between).toMatchObject({ digest: null, encoder: { dimension: 32 } });
  // Isolates still serve by the publication of the old model.
  expect((await publicationIn(model)).config.encoder).toMatchObject({ dimension: 16 });
  expect(await recommend(model, { context: { country: "PT" } }, { isolate: createApp() })).toHaveLength(1);
  expect(statusesOf(await convert({ impressionId: ids[3], reward: 1 }, { id: "between" }))).toEqual(["applied"]);
  spy.mockRestore();
  tick(2 * MINUTE_MS);
  await keep(model);
  expect((await describeModel(model)).digest).not.toBeNull();
  const log = await exported(model);
  expect((await verify(() => log)).tally.conversions).toBeGreaterThan(20);
});

it("a state that one shard cannot read makes all shards learn again", async () => {
  const model = await createModel({ ...OLD, shards: 3 });
  const ids = await lived(model);
  const { digest } = await describeModel(model);
  await runInDurableObject(learnerOf(shardName(model, 1)), (_, { storage: { sql } }) => {
    // The fifth byte is the format of a snapshot.
    for (const { seq, bytes } of sql
      .exec<{ seq: number; bytes: ArrayBuffer }>("SELECT seq, bytes FROM snapshots WHERE chunk = 0")
      .toArray()) {
      new Uint8Array(bytes)[4]++;
      sql.exec("UPDATE snapshots SET bytes = ? WHERE seq = ? AND chunk = 0", bytes, seq);
    }
  });
  await evictDurableObject(learnerOf(shardName(model, 1)));
  // So many that each shard is the home of one.
  const keys = Array.from({ length: 40 }, (_, i) => `other-${i}`);
  await Promise.all(keys.map((key) => show(model, { keys: [key] })));
  expect((await describeModel(model)).relearning).not.toBeNull();
  await finish(model, 3);
  await convert({ impressionId: ids[3], reward: 1 }, { id: "after" });
  tick(2 * MINUTE_MS);
  await keep(model);
  expect((await describeModel(model)).digest).not.toBe(digest);
  const log = await exported(model);
  await verify(() => log);
});

it("a rollback meanwhile is learnt too, and a reset ends the relearning in all shards", async () => {
  const model = await createModel({ ...OLD, shards: 3 });
  await lived(model);
  const { kept } = await describeModel(model);
  const undone = await show(model, { keys: ["undone"] });
  await convert({ impressionId: undone[0], reward: 1 });
  tick(2 * MINUTE_MS);
  await keep(model);
  const end = unreachable(model, 2);
  await reset(model);
  await ringAll(model, 3);
  expect((await call("POST", `/v1/models/${model}/rollback`, { version: kept[0].version })).status).toBe(200);
  expect(complaints()).toContain("an alarm's task failed Unreachable");
  end();
  await finish(model, 3);
  expect((await call("GET", `/v1/impressions/${undone[0]}`)).body).toMatchObject({ status: "rolled-back" });
  const log = await exported(model);
  expect((await verify(() => log)).tally.before).toBeGreaterThan(30);
  await reset(model, { options: { ridge: 4 } });
  await call("POST", `/v1/models/${model}/reset`, {});
  await keep(model);
  expect(await describeModel(model)).toMatchObject({ relearning: null, options: { ridge: 2 }, counts: { impressions: 0 } });
});
