import { runDurableObjectAlarm } from "cloudflare:test";
import { afterEach, expect, it, vi } from "vitest";
import { shardName } from "../../../worker/domain/ids/shard.ts";
import { createApp } from "../../../worker/edge/app.ts";
import { Learner } from "../../../worker/learner/learner.ts";
import { Coordinator } from "../../../worker/learner/shards/coordinator.ts";
import { call, convert, createModel, describeModel, HOUR_MS, keep, learnerOf, recommend, statusesOf } from "../support/client.ts";
import { START, tick, useClock } from "../support/clock.ts";
import { complaints } from "../support/complaints.ts";
import { unreachable } from "../support/fault.ts";

// A model whose shards grow while it serves.

useClock();
afterEach(() => void vi.restoreAllMocks());

const EDGE = { serving: "edge", encoder: { dimension: 16, interactions: "all" } };
const SHOWN = { action: "mug", shownAt: START };
let visitors = 0;

/** Requests recommendations, some with a visitor's key, by default from an isolate that has not served before. Returns impression ids. */
async function asked(model: string, count: number, isolate = createApp()): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const keys = i % 2 === 0 ? [`visitor-${visitors++}`] : [];
    ids.push(...(await recommend(model, { context: { country: "PT" }, keys }, { isolate })));
  }
  return ids;
}

/** Lets isolates serve the next merged publication before the coordinator does anything else. */
function servedAtOnce(serve: () => Promise<void>): void {
  const { gather } = Coordinator.prototype;
  vi.spyOn(Coordinator.prototype, "gather").mockImplementationOnce(async function (this: Coordinator, options) {
    await gather.call(this, options);
    await serve();
  });
}

const grow = (model: string, shards: number) => call("PATCH", `/v1/models/${model}`, { shards });

async function expectLearnt(model: string, ids: readonly string[]): Promise<void> {
  tick(1000);
  const statuses: string[] = [];
  for (const impressionId of ids) statuses.push(...statusesOf(await convert([{ impressionId, reward: 1 }])));
  expect(statuses).toEqual(ids.map(() => "applied"));
  const { counts, incidents } = await describeModel(model);
  expect(counts).toMatchObject({ impressions: ids.length, converted: ids.length, orphan: 0 });
  expect(incidents).toMatchObject({ refused: 0, dropped: 0, unsampled: 0 });
}

it("learns every impression that it answered while it grew in quick steps", async () => {
  const model = await createModel({ ...EDGE, shards: 1 });
  const ids = await asked(model, 8);
  for (const shards of [2, 3, 8, 16]) {
    servedAtOnce(async () => void ids.push(...(await asked(model, 24))));
    expect(await grow(model, shards)).toMatchObject({ status: 200, body: { shards } });
  }
  await expectLearnt(model, ids);
});

it("learns every impression of a model that is created with several shards", async () => {
  const name = "born-sharded";
  const ids: string[] = [];
  servedAtOnce(async () => {
    const isolate = createApp();
    for (let i = 0; i < 24; i++) ids.push(...(await recommend(name, { actions: [{ id: "mug" }] }, { isolate })));
  });
  expect(await call("PUT", `/v1/models/${name}`, { ...EDGE, window: { ms: HOUR_MS }, shards: 8 })).toMatchObject({ status: 201 });
  await expectLearnt(name, ids);
});

it("gives new shards a part of the limits although a present one cannot be reached", async () => {
  const model = await createModel({ ...EDGE, shards: 2, limits: { open: 6400 } });
  const end = unreachable(model, 1);
  expect(await grow(model, 8)).toMatchObject({ status: 200 });
  const ids = await asked(model, 40);
  end();
  tick(2000);
  await keep(model);
  await expectLearnt(model, ids);
  complaints();
});

it("keeps its shards, and the whole limits of one, if a new shard cannot be reached", async () => {
  const model = await createModel({ ...EDGE, shards: 1, limits: { open: 100 } });
  const { follow } = Learner.prototype;
  const spy = vi.spyOn(Learner.prototype, "follow").mockImplementation(async function (this: Learner, name, order) {
    const isLost = name === shardName(model, 2) && order.allowance.open > 0;
    return isLost ? { problem: { status: 503, detail: "cannot be reached" } } : follow.call(this, name, order);
  });
  expect((await grow(model, 3)).status).toBe(503);
  spy.mockRestore();
  expect(await describeModel(model)).toMatchObject({ shards: 1 });
  const ids: string[] = [];
  for (let i = 0; i < 70; i += 10) ids.push(...(await asked(model, 10)));
  await expectLearnt(model, ids);
  expect(await grow(model, 3)).toMatchObject({ status: 200, body: { shards: 3 } });
  complaints();
});

it("keeps what a shard cannot take yet, because no part of the limits has reached it", async () => {
  const { follow } = Learner.prototype;
  const spy = vi.spyOn(Learner.prototype, "follow").mockImplementation(function (this: Learner, name, order) {
    return order.allowance.open > 0 ? Promise.reject(new Error("lost")) : follow.call(this, name, order);
  });
  const model = await createModel({ ...EDGE, shards: 2 });
  const isolate = createApp();
  const ids = await asked(model, 16, isolate);
  expect((await describeModel(model)).counts.impressions).toBeLessThan(16);
  expect(
    await call(
      "POST",
      `/v1/models/${model}/impressions`,
      Array.from({ length: 16 }, () => SHOWN),
    ),
  ).toMatchObject({
    status: 503,
    body: { detail: expect.stringContaining("send the same again") },
  });
  spy.mockRestore();
  tick(2000);
  await keep(model);
  ids.push(...(await asked(model, 1, isolate)));
  await expectLearnt(model, ids);
  complaints();
});

it("a shard that was to be added before a takeover and a rollback learns as the others", async () => {
  const model = await createModel({ ...EDGE, shards: 2 });
  await asked(model, 4);
  const { follow } = Learner.prototype;
  let orders = 0;
  // The new shard is made, and then it does not answer.
  const spy = vi.spyOn(Learner.prototype, "follow").mockImplementation(function (this: Learner, name, order) {
    return name === shardName(model, 2) && orders++ ? Promise.reject(new Error("lost")) : follow.call(this, name, order);
  });
  expect((await grow(model, 3)).status).toBe(500);
  expect(complaints()).toContain("unexpected Error");
  expect(orders).toBe(2);
  spy.mockRestore();
  await call("POST", `/v1/models/${model}/reset`, { from: "log", seed: 7 });
  await runDurableObjectAlarm(learnerOf(model));
  const version = await keep(model);
  await asked(model, 2);
  expect((await call("POST", `/v1/models/${model}/rollback`, { version })).status).toBe(200);
  expect(await grow(model, 3)).toMatchObject({ status: 200, body: { shards: 3, seed: 7, digest: expect.any(String) } });
  await keep(model);
  const before = (await describeModel(model)).counts.impressions;
  await asked(model, 9);
  expect((await describeModel(model)).counts.impressions).toBe(before + 9);
});
