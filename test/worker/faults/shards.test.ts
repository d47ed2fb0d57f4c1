import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { shardName } from "../../../worker/domain/ids/shard.ts";
import { TokenSigner } from "../../../worker/domain/ids/token.ts";
import { createApp } from "../../../worker/edge/app.ts";
import { Learner } from "../../../worker/learner/learner.ts";
import { LearnerStore } from "../../../worker/learner/store/learner-store.ts";
import {
  call,
  convert,
  createModel,
  describeModel,
  HOUR_MS,
  keep,
  learnerOf,
  recommend,
  show,
  statusesOf,
  statusOf,
} from "../support/client.ts";
import { MINUTE_MS, START, tick, useClock } from "../support/clock.ts";
import { complaints } from "../support/complaints.ts";
import { unreachable } from "../support/fault.ts";

// A model whose events are shared by several learners.

useClock();
afterEach(() => void vi.restoreAllMocks());

const EDGE = { serving: "edge", encoder: { dimension: 16, interactions: "all" } };

/** A model of so many shards. */
const sharded = (shards: number, body: object = {}): Promise<string> => createModel({ ...EDGE, shards, ...body });

const signer = TokenSigner.create(env.AFTERCLICK_TOKEN_KEY as string);
const shardIn = (impressionId: string) => signer.verify(impressionId, Date.now())?.shard ?? 0;

/** Reads a shard's store. */
const inShard = <T>(model: string, shard: number, read: (store: LearnerStore) => T): Promise<T> =>
  runInDurableObject(learnerOf(shardName(model, shard)), (_, { storage }) => read(new LearnerStore(storage)));

/** Registers impressions that convert at once. Returns their ids. */
async function bought(model: string, from: number, to: number): Promise<string[]> {
  const items = Array.from({ length: to - from }, (_, i) => ({
    action: ["tent", "mug", "lamp"][(from + i) % 3],
    context: { country: ["PT", "DE", "FI"][(from + i) % 3] },
    shownAt: START + (from + i) * 1000,
  }));
  vi.setSystemTime(START + to * 1000);
  const ids = await show(model, ...items);
  for (const [i, impressionId] of ids.entries())
    if (i % 2 === 0) await convert({ impressionId, reward: 1 }, { timestamp: START + to * 1000 });
  return ids;
}

const digestOf = async (model: string) => {
  tick(2000);
  await keep(model);
  return (await describeModel(model)).digest;
};

it("goes back to the same model, also if a shard cannot be reached meanwhile", async () => {
  const digests = [];
  for (const shards of [1, 4]) {
    const model = await sharded(shards);
    await bought(model, 0, 20);
    const before = await digestOf(model);
    const [{ version }] = (await describeModel(model)).kept;
    const undone = await bought(model, 100, 130);
    await digestOf(model);
    const end = unreachable(model, 2);
    expect(await call("POST", `/v1/models/${model}/rollback`, { version })).toMatchObject({ status: 200, body: { restored: version } });
    expect((await describeModel(model)).digest).toBe(before);
    if (shards > 1) expect(complaints()).toContain("an alarm's task failed Unreachable");
    end();
    expect(await digestOf(model)).toBe(before);
    expect((await describeModel(model)).counts).toMatchObject({ impressions: 20, converted: 10 });
    expect(await statusOf(undone[0])).toBe("rolled-back");
    await bought(model, 200, 215);
    digests.push([before, await digestOf(model)]);
    vi.setSystemTime(START);
  }
  expect(digests[1]).toEqual(digests[0]);
});

it("publishes the last sums of a shard that cannot be reached, and counts that", async () => {
  const model = await sharded(3);
  await bought(model, 0, 30);
  const before = await digestOf(model);
  await bought(model, 40, 70);
  const end = unreachable(model, 1);
  const without = await digestOf(model);
  expect(without).not.toBe(before);
  expect((await describeModel(model)).incidents.unanswered).toBeGreaterThan(0);
  end();
  const whole = await digestOf(model);
  expect(whole).not.toBe(without);
  vi.setSystemTime(START);
  const alone = await sharded(1);
  await bought(alone, 0, 30);
  await bought(alone, 40, 70);
  expect(await digestOf(alone)).toBe(whole);
});

it("starts a new generation in all shards, and refuses what is of an earlier one", async () => {
  const model = await sharded(4);
  const ids = await bought(model, 0, 12);
  const { generation, config } = await inShard(model, 0, (store) => ({ generation: store.model.generation, config: store.model.config }));
  tick(5000);
  expect(await call("POST", `/v1/models/${model}/reset`, {})).toMatchObject({
    status: 200,
    body: { shards: 4, counts: { impressions: 0 } },
  });
  const reset = await call("POST", `/v1/models/${model}/reset`, { window: { ms: HOUR_MS }, shards: 2 });
  expect(reset).toMatchObject({ status: 422, body: { detail: expect.stringContaining("at least the model's 4") } });
  for (const impressionId of ids) expect(statusesOf(await convert([{ impressionId, reward: 1 }]))).toEqual(["late"]);
  const name = shardName(model, 1);
  const allowance = { open: 1, bytes: 1, deferred: 1 };
  const order = {
    generation,
    config,
    configuredAt: 1,
    horizon: 0,
    homes: 4,
    catalogue: { version: 0, actions: null },
    allowance,
    term: 0,
    back: null,
    relearning: null,
    relearnt: null,
    held: -1,
  };
  const stale = await learnerOf(name).follow(name, { ...order, keep: false });
  expect(stale).toMatchObject({ problem: { status: 409, detail: expect.stringContaining(String(generation)) } });
  const later = { generation: generation + 1e9, count: 0, keys: [], unsampled: 1, byPage: false, deferred: false };
  const early = await learnerOf(name).registerShown({ decisions: [later], block: null, dropped: 0, keptOut: 0 });
  expect(early).toMatchObject({ problem: { status: 503 } });
});

it("is deleted with all its shards", async () => {
  const model = await sharded(3);
  await bought(model, 0, 9);
  expect((await call("DELETE", `/v1/models/${model}`)).status).toBe(204);
  for (const shard of [0, 1, 2]) expect(await inShard(model, shard, ({ exists }) => exists)).toBe(false);
  await call("PUT", `/v1/models/${model}`, { ...EDGE, window: { ms: HOUR_MS }, shards: 3 });
  expect((await describeModel(model)).counts.impressions).toBe(0);
});

it("is refused where the states of several learners make no model", async () => {
  const put = (body: object) => call("PUT", "/v1/models/refused", { window: { ms: HOUR_MS }, shards: 2, ...body });
  const refused = (detail: string) => ({ status: 422, body: { detail: expect.stringContaining(detail) } });
  expect(await put({ policy: "delay-gp-ts", options: { dimension: 2 } })).toMatchObject(refused("is not a sum"));
  expect(await put({ options: { rewards: "bernoulli" } })).toMatchObject(refused('rewards: "linear"'));
  expect(await put({ serving: "learner" })).toMatchObject(refused("one learner makes every decision"));
  expect(await put({ shards: 33 })).toMatchObject(refused("shards"));
  expect(await put({ limits: { open: 30_000_000 } })).toMatchObject(refused("for each shard"));
  const model = await sharded(2);
  const line = JSON.stringify({ type: "impression", id: "past", action: "mug", shownAt: Date.now() });
  expect(await call("POST", `/v1/models/${model}/events`, line)).toMatchObject(refused("shards: expected 1 during an import"));
});

it("registers in the shard that the token names, and explains, activates and erases there", async () => {
  const model = await sharded(4);
  const isolate = createApp();
  const shards = new Set<number>();
  for (let i = 0; i < 12; i++) {
    const [impressionId] = await recommend(model, { context: { country: "PT" }, keys: i % 2 === 0 ? [`visitor-${i}`] : [] }, { isolate });
    const shard = shardIn(impressionId);
    shards.add(shard);
    expect(
      await inShard(model, shard, ({ impressions }) => impressions.find(signer.verify(impressionId, Date.now())?.id as string)),
    ).toBeDefined();
    expect(statusesOf(await convert({ impressionId, reward: 1 }))).toEqual(["applied"]);
    expect(await call("GET", `/v1/impressions/${impressionId}`)).toMatchObject({ status: 200, body: { model, status: "converted" } });
    tick(1000);
  }
  expect(shards.size).toBeGreaterThan(1);
  const [deferred] = await recommend(model, { defer: true }, { isolate });
  expect(await call("POST", `/v1/impressions/${deferred}/activate`)).toMatchObject({ status: 200, body: { status: "activated" } });
  expect((await describeModel(model)).counts).toMatchObject({ impressions: 13, converted: 12 });
  expect(await call("DELETE", `/v1/models/${model}/keys/visitor-4`)).toMatchObject({ body: { erased: 1 } });
  const { body } = await call("GET", `/v1/models/${model}/metrics`);
  expect(body.recent).toHaveLength(12);
  for (const { impressionId } of body.recent) expect((await call("GET", `/v1/impressions/${impressionId}`)).status).toBe(200);
});

it("joins an event to an impression of another shard, whichever comes first, once", async () => {
  const model = await sharded(8);
  const event = (key: string) => convert({ model, key, reward: 1 }, { id: `of-${key}`, timestamp: START });
  const keys = Array.from({ length: 20 }, (_, i) => `order-${i}`);
  for (const [i, key] of keys.entries()) if (i % 2 === 0) expect(statusesOf(await event(key))).toEqual(["orphan"]);
  const ids = await show(model, ...keys.map((key, i) => ({ keys: [`visitor-${i}`, key], shownAt: START - 1000 })));
  for (const [i, key] of keys.entries()) expect(statusesOf(await event(key))).toEqual([i % 2 === 0 ? "duplicate" : "applied"]);
  for (const key of keys) expect(statusesOf(await event(key))).toEqual(["duplicate"]);
  expect((await describeModel(model)).counts).toMatchObject({ impressions: 20, converted: 20, applied: 20, orphan: 0 });
  // A later impression with the key does not take an event that has joined.
  await show(model, { keys: ["other", "order-1"], shownAt: START - 500 });
  expect(statusesOf(await event("order-1"))).toEqual(["duplicate"]);
  await call("DELETE", `/v1/impressions/${ids[3]}`);
  const { body } = await call("DELETE", `/v1/models/${model}/keys/order-3`);
  expect(body).toEqual({ erased: 0 });
  for (let shard = 0; shard < 8; shard++) {
    const links = await inShard(model, shard, ({ database }) => database.query("SELECT impression FROM links"));
    const erased = signer.verify(ids[3], Date.now())?.id;
    expect(links.map(({ impression }) => impression)).not.toContain(erased);
  }
});

it("finds the home of a key across a rotation of its secret", async () => {
  const model = await sharded(8);
  const rotated = { env: { AFTERCLICK_JOIN_KEY: `a-newer-join-key-of-the-tests ${env.AFTERCLICK_JOIN_KEY}` } };
  const keys = Array.from({ length: 12 }, (_, i) => `order-${i}`);
  await show(model, ...keys.map((key, i) => ({ keys: [`visitor-${i}`, key], shownAt: START - 1000 })));
  for (const key of keys) {
    expect(statusesOf(await convert({ model, key, reward: 1 }, { id: key, timestamp: START, ...rotated }))).toEqual(["applied"]);
  }
});

it("takes no answer that comes after a reset", async () => {
  const model = await sharded(2);
  await bought(model, 0, 12);
  const { follow } = Learner.prototype;
  const generation = () => inShard(model, 0, (store) => store.model.generation);
  const before = await generation();
  let [hasLearnt, isReset] = [false, false];
  // It makes no requests itself: the runtime cannot delete an object that waits for a request of another's.
  const spy = vi.spyOn(Learner.prototype, "follow").mockImplementationOnce(async function (this: Learner, name, order) {
    const answer = await follow.call(this, name, order);
    hasLearnt = true;
    while (!isReset) await scheduler.wait(0);
    return answer;
  });
  // No later answer covers it.
  spy.mockRejectedValue(new Error("lost"));
  tick(2 * MINUTE_MS);
  const kept = keep(model).catch(() => {});
  while (!hasLearnt) await scheduler.wait(0);
  const reset = call("POST", `/v1/models/${model}/reset`, {});
  while ((await generation()) === before);
  isReset = true;
  await Promise.all([kept, reset]);
  expect(await inShard(model, 0, ({ shards }) => shards.find(1))).toBeUndefined();
  complaints();
  spy.mockRestore();
  await keep(model);
  const fresh = await sharded(2);
  await keep(fresh);
  expect((await describeModel(model)).digest).toBe((await describeModel(fresh)).digest);
});

it("gives its catalogue to every shard, once for each change", async () => {
  const model = await sharded(3);
  const { follow } = Learner.prototype;
  const given: string[] = [];
  vi.spyOn(Learner.prototype, "follow").mockImplementation(function (this: Learner, name, order) {
    if (order.catalogue.actions) given.push(name);
    return follow.call(this, name, order);
  });
  const actions = ["tent", "mug", "lamp", "boat"].map((id) => ({ id }));
  await call("PUT", `/v1/models/${model}/actions`, actions);
  for (const shard of [1, 2]) {
    expect(await inShard(model, shard, ({ catalogue }) => catalogue.actions)).toEqual(actions);
  }
  expect(given.sort()).toEqual([1, 2].map((shard) => shardName(model, shard)));
  await bought(model, 0, 6);
  await digestOf(model);
  expect(given).toHaveLength(2);
});

it("does not know the token of a shard that does not exist", async () => {
  const model = await sharded(2);
  const [known] = await show(model, {});
  const { actionHash: _, ...token } = signer.verify(known, Date.now()) as Exclude<ReturnType<TokenSigner["verify"]>, undefined>;
  const forged = signer.sign({ ...token, action: "mug", shard: 9 });
  expect(await convert([{ impressionId: forged, reward: 1 }])).toMatchObject({ body: { conversions: [{ status: "unknown" }] } });
  expect((await call("GET", `/v1/impressions/${forged}`)).status).toBe(404);
});

it("loses no event with a key while a shard has not heard of a reset", async () => {
  const model = await sharded(4);
  tick(5000);
  const end = unreachable(model, 1, 2, 3);
  await call("POST", `/v1/models/${model}/reset`, {});
  // So many that each shard is the home of one.
  const keys = Array.from({ length: 40 }, (_, i) => `order-${i}`);
  const send = (key: string) => convert({ model, key, reward: 1 }, { id: key, timestamp: Date.now() });
  const replies = [];
  for (const key of keys) replies.push(await send(key));
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([202, 503]));
  end();
  tick(2000);
  await keep(model);
  expect((await describeModel(model)).counts.orphan).toBe(replies.filter(({ status }) => status === 202).length);
  complaints();
});

it("waits before a shard asks its coordinator again that cannot reach it", async () => {
  const model = await sharded(2);
  await bought(model, 0, 40);
  const end = unreachable(model, 1);
  tick(HOUR_MS / 2);
  await runDurableObjectAlarm(learnerOf(shardName(model, 1)));
  const at = await runInDurableObject(learnerOf(shardName(model, 1)), (_, { storage }) => storage.getAlarm());
  expect(at).toBeGreaterThan(Date.now());
  end();
  complaints();
});

it("erases the other keys of an impression at their homes, if one of its keys is erased", async () => {
  const model = await sharded(8);
  const lists = Array.from({ length: 6 }, (_, i) => Array.from({ length: 4 }, (_, j) => `cart-${i}-${j}`));
  await show(model, ...lists.map((keys) => ({ keys, shownAt: START - 1000 })));
  const linksOf = async () => {
    const rows = Array.from({ length: 8 }, (_, shard) => inShard(model, shard, ({ database }) => database.query("SELECT * FROM links")));
    return (await Promise.all(rows)).flat();
  };
  expect((await linksOf()).length).toBeGreaterThan(6);
  for (const [key] of lists) expect(await call("DELETE", `/v1/models/${model}/keys/${key}`)).toMatchObject({ body: { erased: 1 } });
  expect(await linksOf()).toEqual([]);
});

it("holds its limits if the answer of a shard is lost, and then its orders", async () => {
  const model = await sharded(3, { limits: { open: 90 } });
  const { follow } = Learner.prototype;
  const spy = vi.spyOn(Learner.prototype, "follow").mockImplementation(async function (this: Learner, name, order) {
    const sums = await follow.call(this, name, order);
    return name === shardName(model, 1) ? Promise.reject(new Error("lost")) : sums;
  });
  tick(2000);
  await keep(model);
  spy.mockRestore();
  const end = unreachable(model, 1);
  for (let round = 0; round < 8; round++) {
    await show(model, ...Array.from({ length: 30 }, () => ({ shownAt: Date.now() })));
    tick(2000);
    await keep(model);
  }
  end();
  expect((await describeModel(model)).counts.impressions).toBeLessThanOrEqual(90);
  complaints();
});
