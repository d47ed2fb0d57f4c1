import { describe, expect, it } from "vitest";
import { verify } from "../../../cli/verify/verification.ts";
import { shardName } from "../../../worker/domain/ids/shard.ts";
import { createApp } from "../../../worker/edge/app.ts";
import { call, convert, createModel, describeModel, keep, recommend, show, statusesOf } from "../support/client.ts";
import { MINUTE_MS, tick, useClock } from "../support/clock.ts";
import { eventSource } from "../support/event-source.ts";
import { exported } from "../support/exported.ts";
import { down } from "../support/fault.ts";
import { deployOther, ringUntil } from "../support/upgrade.ts";

// Another version of the worker finds a model whose state it cannot read. It serves, takes and keeps everything while the log is learnt again.

useClock();

const IN_ORDER = ["tent", "mug", "lamp"];

const models: [name: string, body: object, learners: number][] = [
  ["an isolate", { serving: "edge", holdout: 0.5, minimumShare: 0.01 }, 1],
  ["a learner", { serving: "learner", shadows: [{ name: "otf", policy: "otf-lin-ts" }] }, 1],
  ["a Gaussian process", { policy: "gp-ts-sdf", serving: "edge" }, 1],
  ["shards", { serving: "edge", shards: 2 }, 2],
];

/** Impressions, a third of which convert. Returns the ids of those that do. */
async function live(model: string, isolate = createApp()): Promise<string[]> {
  const converted: string[] = [];
  for (let i = 0; i < 12; i++) {
    tick(MINUTE_MS);
    const [id] = await recommend(model, { context: { country: i % 2 ? "PT" : "ES" }, keys: [`visitor ${i}`] }, { isolate });
    if (i % 3 > 0) continue;
    converted.push(id);
    expect(statusesOf(await convert({ impressionId: id, reward: 1 }))).toEqual(["applied"]);
  }
  return converted;
}

/** How a new isolate decides. */
async function armOf(model: string): Promise<string> {
  const { body } = await call("POST", `/v1/models/${model}/recommendations`, { defer: true }, { isolate: createApp() });
  return body.arm;
}

/** Works with a model during its relearning, and returns how many impressions have converted. */
async function workDuring(model: string): Promise<number> {
  const isolate = createApp();
  const asked = { limit: 2, context: { country: "PT" } };
  const { status, body } = await call("POST", `/v1/models/${model}/recommendations`, asked, { isolate });
  expect([status, body.arm]).toEqual([201, "catalogue"]);
  expect(body.actions).toMatchObject(IN_ORDER.slice(0, 2).map((id) => ({ id, probability: 1, mean: 0 })));
  const excluded = await call("POST", `/v1/models/${model}/recommendations`, { ...asked, exclude: ["tent"] }, { isolate });
  expect(excluded.body.actions.map(({ id }: { id: string }) => id)).toEqual(IN_ORDER.slice(1));
  const deferred = await call("POST", `/v1/models/${model}/recommendations`, { defer: true }, { isolate });
  const { impressionId: waiting } = deferred.body.actions[0];
  expect((await call("POST", `/v1/impressions/${waiting}/activate`)).body).toMatchObject({ status: "activated" });
  const [registered] = await show(model, {});
  const ids = [body.actions[0].impressionId, waiting, registered];
  expect(statusesOf(await convert(ids.map((impressionId) => ({ impressionId, reward: 1 }))))).toEqual(ids.map(() => "applied"));
  expect((await call("GET", `/v1/impressions/${ids[0]}`)).body).toMatchObject({ status: "converted", arm: "catalogue", now: null });
  for (const path of ["", "/metrics", "/actions/estimates"]) {
    const read = await call("GET", `/v1/models/${model}${path}`);
    expect([path, read.status]).not.toEqual([path, 503]);
  }
  expect(await describeModel(model)).toMatchObject({ relearning: { done: expect.any(Number) } });
  return ids.length;
}

describe.each(models)("a model that %s serves", (_, body, count) => {
  const learnersOf = (model: string) => Array.from({ length: count }, (_, shard) => shardName(model, shard));
  const takenOver = (model: string) =>
    ringUntil(async () => (await describeModel(model)).relearning === null && (await armOf(model)) !== "catalogue", learnersOf(model));

  it("goes through an upgrade: it shows the catalogue in its order, loses no conversion, and its log verifies", async () => {
    const model = await createModel(body);
    const before = await live(model);
    const { counts } = await describeModel(model);
    await deployOther(model, 1, learnersOf(model));
    const during = await workDuring(model);
    expect((await describeModel(model)).counts).toMatchObject({ impressions: counts.impressions + 6, converted: before.length + during });
    await takenOver(model);
    const isolate = createApp();
    const { body: after } = await call("POST", `/v1/models/${model}/recommendations`, { limit: 2 }, { isolate });
    expect(["policy", "holdout"]).toContain(after.arm);
    const later = await live(model, isolate);
    const whole = await describeModel(model);
    expect(whole.counts).toMatchObject({ converted: before.length + during + later.length, orphan: 0, late: 0 });
    const lines = await exported(model);
    const { tally } = await verify(() => lines);
    expect(tally).toMatchObject({ conversions: before.length + during + later.length });
    const { leftOut } = await eventSource(lines, { progress: () => {} });
    // The impression that a backend registered.
    expect(leftOut.get("without a probability")).toBe(1);
  });

  it("goes back before it has learnt its log again, and loses nothing", async () => {
    const model = await createModel(body);
    const before = await live(model);
    await deployOther(model, 1, learnersOf(model));
    const during = await workDuring(model);
    await deployOther(model, -1, learnersOf(model));
    await call("POST", `/v1/models/${model}/recommendations`, {}, { isolate: createApp() });
    await takenOver(model);
    const later = await live(model);
    expect((await describeModel(model)).counts).toMatchObject({ converted: before.length + during + later.length, orphan: 0, late: 0 });
    const lines = await exported(model);
    await verify(() => lines);
  });
});

it("traffic goes on through an upgrade of 3,000 impressions: no answer without a list, and no conversion lost", async () => {
  const model = await createModel({ serving: "edge", encoder: { dimension: 16 } });
  const lists = async (count: number): Promise<string[][]> => {
    const isolate = createApp();
    const asked = Array.from({ length: count }, () => recommend(model, { limit: 3 }, { isolate }));
    return Promise.all(asked);
  };
  let sent = 0;
  const buy = async (shown: string[][]) => {
    const bought = shown.filter((_, i) => i % 5 === 0).map(([impressionId]) => ({ impressionId, reward: 1 }));
    expect(new Set(statusesOf(await convert(bought)))).toEqual(new Set(["applied"]));
    sent += bought.length;
  };
  for (let i = 0; i < 10; i++) await buy(await lists(50));
  await deployOther(model);
  // The alarm learns the log while requests have their turn between two pages.
  let during = 0;
  let learning = true;
  const alarms = ringUntil(async () => (await describeModel(model)).relearning === null && during >= 500, [model]).finally(() => {
    learning = false;
  });
  for (; learning || during < 500; during += 50) await buy(await lists(50));
  await alarms;
  const { counts, relearning } = await describeModel(model);
  expect(relearning).toBeNull();
  expect(counts).toMatchObject({ impressions: 3 * (500 + during), converted: sent, orphan: 0, late: 0 });
  expect(counts.impressions).toBeGreaterThanOrEqual(3000);
});

it("a model that nobody asks learns its log again all the same", async () => {
  const model = await createModel({ serving: "edge" });
  const [impressionId] = await live(model);
  await deployOther(model);
  await convert({ impressionId, reward: 1 });
  await ringUntil(async () => (await describeModel(model)).digest !== null, [model]);
  expect(await describeModel(model)).toMatchObject({ relearning: null, digest: expect.any(String) });
});

it("an isolate goes on by a publication that it can read, while a newer one cannot be read", async () => {
  const model = await createModel({ serving: "edge" });
  const isolate = createApp();
  await live(model, isolate);
  await keep(model);
  await ringUntil(async () => (await describeModel(model)).published !== null, [model]);
  const lists = (options: object) => call("POST", `/v1/models/${model}/recommendations`, {}, { isolate, ...options });
  const held = (await lists({})).body.modelVersion;
  await deployOther(model);
  for (const env of [{}, { LEARNER: down.LEARNER }, {}]) {
    tick(MINUTE_MS);
    expect((await lists({ env })).body).toMatchObject({ arm: "policy", modelVersion: held });
  }
  expect((await describeModel(model)).incidents.keptOut).toBeGreaterThan(0);
  expect(await armOf(model)).toBe("catalogue");
  await ringUntil(async () => (await armOf(model)) !== "catalogue", [model]);
  tick(MINUTE_MS);
  expect((await lists({})).body.modelVersion).toBeGreaterThan(held);
});

it("verify repeats a list in the catalogue's order before the log is learnt again", async () => {
  const model = await createModel({ serving: "edge" });
  await live(model);
  await deployOther(model);
  await workDuring(model);
  const lines = await exported(model);
  const { tally } = await verify(() => lines);
  expect(tally).toMatchObject({ decisions: 12 + 2 + 2 + 1, elsewhere: 1 });
});
