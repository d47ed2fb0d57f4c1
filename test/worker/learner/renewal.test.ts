import { runDurableObjectAlarm } from "cloudflare:test";
import { expect, it } from "vitest";
import { call, convert, createModel, describeModel, HOUR_MS, keep, learnerOf, recommend, show, statusesOf } from "../support/client.ts";
import { MINUTE_MS, tick, useClock } from "../support/clock.ts";
import { unreachable } from "../support/fault.ts";
import { logOf } from "../support/fold.ts";

// Configurations of models that have learnt nothing, and impressions from before a change of a model.

useClock();

const numeric = { price: { min: 0, max: 50 } };
const put = (model: string, body: object) => call("PUT", `/v1/models/${model}`, { window: { ms: HOUR_MS }, ...body });

it.each([
  ["encoder.numeric", {}, { encoder: { numeric } }],
  ["another policy", {}, { policy: "delay-gp-ucb" }],
  ["a policy in its domain", { serving: "edge" }, { policy: "bpe", options: { domain: { points: [[0], [1]] }, horizon: 9 } }],
  ["features by name", { options: { dimension: 3 } }, { encoder: { dimension: 16 } }],
  ["goals, with an option that needs nothing", {}, { goals: { order: { weight: 1 } }, draws: 7 }],
  ["a seed, in three shards", { serving: "edge", shards: 3 }, { seed: 7 }],
])("a model without impressions takes %s, and serves by it", async (_, options, change) => {
  const model = await createModel(options);
  const before = await describeModel(model);
  const changed = await put(model, change);
  expect(changed).toMatchObject({ status: 200, body: { ...change, generation: before.generation, relearning: null } });
  expect(changed.body.published.version).toBe(changed.body.modelVersion);
  // The same again changes nothing.
  expect(await put(model, change)).toMatchObject({ status: 200, body: changed.body });
  const [impressionId] = await recommend(model);
  expect(statusesOf(await convert({ impressionId, reward: 1, goal: "order" }))).toEqual(["applied"]);
  expect(await describeModel(model)).toMatchObject({ counts: { impressions: 1, converted: 1 }, incidents: { refused: 0 } });
});

it("a model without impressions takes another seed once all its shards can be reached", async () => {
  const model = await createModel({ serving: "edge", shards: 3 });
  const end = unreachable(model, 2);
  expect(await put(model, { seed: 7 })).toMatchObject({ status: 503, body: { detail: expect.stringContaining("a shard of the model") } });
  expect(await describeModel(model)).toMatchObject({ seed: 0 });
  end();
  expect(await put(model, { seed: 7 })).toMatchObject({ status: 200, body: { seed: 7, relearning: null } });
  expect(await recommend(model)).toHaveLength(1);
});

it("an orphan and a deferred impression from before are learnt under the new configuration", async () => {
  const model = await createModel();
  await convert({ model, key: "order 1", reward: 1 });
  const [impressionId] = await recommend(model, { defer: true });
  expect((await put(model, { encoder: { dimension: 16 } })).status).toBe(200);
  await call("POST", `/v1/impressions/${impressionId}/activate`);
  await show(model, { keys: ["order 1"] });
  expect((await describeModel(model)).counts).toMatchObject({ impressions: 2, converted: 1 });
  const features = (await logOf(model)).flatMap((line) => (line.type === "impression" ? [line.features.length] : []));
  expect(features).toEqual([16, 16]);
});

it.each([
  ["a reset", "", (model: string) => call("POST", `/v1/models/${model}/reset`, {})],
  [
    "a rollback to its beginning",
    "",
    async (model: string) => call("POST", `/v1/models/${model}/rollback`, { version: (await describeModel(model)).kept.at(-1)?.version }),
  ],
])("a model takes another seed after %s", async (_, __, empty) => {
  const model = await createModel();
  await show(model, {});
  await keep(model);
  expect(await put(model, { seed: 7 })).toMatchObject({
    status: 409,
    body: { detail: expect.stringContaining("seed: expected 0, got 7") },
  });
  expect((await empty(model)).status).toBe(200);
  expect(await put(model, { seed: 7 })).toMatchObject({ status: 200, body: { seed: 7, counts: { impressions: 0 } } });
});

/** Whether an impression of half an hour ago is registered, and its conversion counts. */
async function registersEarlier(model: string): Promise<string[]> {
  const [impressionId] = await show(model, { shownAt: Date.now() - HOUR_MS / 2 });
  return statusesOf(await convert({ impressionId, reward: 1 }));
}

it("an impression that was shown before a model's creation, a rollback or a relearning counts in its window", async () => {
  const model = await createModel();
  expect(await registersEarlier(model)).toEqual(["applied"]);
  const version = await keep(model);
  await show(model, {});
  expect((await call("POST", `/v1/models/${model}/rollback`, { version })).status).toBe(200);
  expect(await registersEarlier(model)).toEqual(["applied"]);
  await call("POST", `/v1/models/${model}/reset`, { from: "log", seed: 7 });
  await runDurableObjectAlarm(learnerOf(model));
  expect(await registersEarlier(model)).toEqual(["applied"]);
  expect(await describeModel(model)).toMatchObject({ seed: 7, counts: { impressions: 3, converted: 3 } });
});

it("an impression that was shown before a reset is refused for that, an older one for its window", async () => {
  const model = await createModel();
  tick(MINUTE_MS);
  await call("POST", `/v1/models/${model}/reset`, {});
  const reset = new Date(Date.now()).toISOString();
  const register = (shownAt: number) => call("POST", `/v1/models/${model}/impressions`, [{ action: "mug", shownAt }]);
  tick(MINUTE_MS);
  expect(await register(Date.now() - 2 * MINUTE_MS)).toMatchObject({
    status: 422,
    body: { detail: expect.stringMatching(new RegExp(`^\\[0\\]: shownAt: expected ${reset} or later, as a reset`)) },
  });
  const line = JSON.stringify({ type: "impression", id: "earlier", action: "mug", shownAt: Date.now() - 2 * MINUTE_MS });
  const imported = await call("POST", `/v1/models/${model}/events`, line);
  expect(imported).toMatchObject({ status: 422, body: { detail: expect.stringContaining(`expected ${reset} or later`) } });
  expect((await register(Date.now() - MINUTE_MS)).status).toBe(201);
  tick(2 * HOUR_MS);
  expect(await register(Date.now() - 3 * HOUR_MS)).toMatchObject({
    status: 422,
    body: { detail: "[0]: shownAt: its window has passed, and the grace after it" },
  });
});

const actions = ["tent", "mug"].map((id, i) => ({ id, features: { price: 10 * i, brand: `brand-${i}` } }));
const catalogue = (model: string, of: readonly object[]) => call("PUT", `/v1/models/${model}/actions`, { actions: of });

const numbers = [{ id: "a", features: [0, 1] }];

it.each<[string, object, readonly object[], object, string, (readonly object[])?]>([
  ["no range for a number", { encoder: { numeric } }, actions, { encoder: { numeric: {} } }, "action.price"],
  ["no range for an earlier number", { encoder: { numeric } }, actions, { encoder: { numeric: {} } }, "action.price", [{ id: "mug" }]],
  ["another dimension of numbers", { options: { dimension: 2 } }, numbers, { options: { dimension: 3 } }, "features"],
  ["names for numbers", { options: { dimension: 2 } }, numbers, { encoder: { dimension: 8 } }, "features of action a"],
])("%s: a log that cannot be learnt again under it is refused by name, and nothing begins", async (_, options, of, change, name, later) => {
  const model = await createModel(options);
  expect((await catalogue(model, of)).status).toBe(200);
  await recommend(model);
  if (later) expect((await catalogue(model, later)).status).toBe(200);
  const before = await describeModel(model);
  const refused = await put(model, change);
  expect([refused.status, refused.body.detail]).toEqual([409, expect.not.stringContaining('"from": "log"')]);
  const relearnt = await call("POST", `/v1/models/${model}/reset`, { from: "log", ...change });
  expect([relearnt.status, relearnt.body.detail]).toEqual([422, expect.stringContaining(name)]);
  expect(await describeModel(model)).toEqual(before);
});
