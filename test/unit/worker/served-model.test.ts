import { toDyadic } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { configureModel, featurizer, learnt, type ModelConfig, reconfigureModel } from "../../../worker/domain/model/model.ts";
import { differences } from "../../../worker/domain/model/reconfiguration.ts";
import { relearntModel } from "../../../worker/domain/model/relearnt-model.ts";
import type { Action, ModelBody } from "../../../worker/protocol/schema.ts";
import { matrixOf } from "../../support/reference/matrix.ts";

const window = { ms: 3_600_000 };
const configOf = (body: Partial<ModelBody> = {}): Promise<ModelConfig> => configureModel({ window, ...body });
const refusal = (body: Partial<ModelBody>) => configOf(body).then(JSON.stringify, ({ status, message }) => `${status} ${message}`);
const learnsAlike = (a: ModelConfig, b: ModelConfig) => differences(learnt(a), learnt(b)).length === 0;
const shadow = (name: string) => ({ name, policy: "otf-lin-ucb" });

describe("what was learnt under a configuration", () => {
  it("means the same under another order of names, also of names within names", async () => {
    const config = await configOf({ goals: { buy: { weight: 1 }, basket: { weight: 0.5 } }, shadows: [shadow("a")] });
    const reversed = <Value extends object>(value: Value): Value => Object.fromEntries(Object.entries(value).reverse()) as Value;
    const other = {
      ...config,
      goals: reversed(config.goals ?? {}),
      options: reversed(config.options),
      shadows: config.shadows.map(reversed),
    };
    expect(learnsAlike(config, reversed(other))).toBe(true);
    expect(learnsAlike(other, config)).toBe(true);
  });

  it("means something else under another order of a list", async () => {
    const [one, other] = [
      [shadow("a"), shadow("b")],
      [shadow("b"), shadow("a")],
    ];
    expect(learnsAlike(await configOf({ shadows: one }), await configOf({ shadows: other }))).toBe(false);
    expect(learnsAlike(await configOf({ shadows: one }), await configOf({ shadows: one }))).toBe(true);
  });

  it("means the same without an encoder too, and something else with one", async () => {
    const plain = await configOf({ options: { dimension: 64 } });
    expect(plain.encoder).toBeNull();
    expect(learnsAlike(plain, await configOf({ options: { dimension: 64 } }))).toBe(true);
    expect(learnsAlike(plain, { ...plain, encoder: (await configOf()).encoder })).toBe(false);
  });

  it("does not depend on how it is served", async () => {
    const config = await configOf();
    const served = {
      serving: "learner",
      draws: 7,
      greedy: true,
      holdout: 0.5,
      minimumShare: 0.1,
      defaultAction: "a",
      local: true,
      pageActions: true,
      pageLimit: 1,
      pageShare: 0.5,
      featureNorm: 4,
    } as const;
    const kept = { limits: { open: 1, bytes: 1, deferred: 1 }, deferral: { ms: 1 }, retention: { ms: 1 }, publish: { ms: 1 } };
    expect(learnsAlike(config, { ...config, ...served, ...kept })).toBe(true);
  });

  it.each([
    ["policy", "greedy"],
    ["options", {}],
    ["window", { ms: 1 }],
    ["reward", { min: 0, max: 2 }],
    ["seed", 1],
    ["goals", { buy: { weight: 1 } }],
  ])("means something else with another %s", async (name, value) => {
    const config = await configOf();
    expect(learnsAlike(config, { ...config, [name]: value })).toBe(false);
  });
});

describe("a configuration", () => {
  it("has defaults for all that is not said", async () => {
    expect(await configOf()).toMatchObject({
      ...{ policy: "delay-lin-ts", window, reward: { min: 0, max: 1 }, seed: 0, goals: null, shadows: [], serving: "edge", draws: 100 },
      ...{ greedy: false, holdout: 0, minimumShare: 0, defaultAction: null, limits: { open: 2_000_000, bytes: 2_000_000_000 } },
      ...{ retention: { ms: 30 * 86_400_000 }, publish: { ms: 120_000 }, local: false, pageActions: false, featureNorm: 1 },
      ...{ encoder: { version: 4, dimension: 256, interactions: "all" }, options: { dimension: 256, rewards: "linear" }, defaults: 4 },
    });
  });

  it("has an encoder unless features come as numbers", async () => {
    expect((await configOf({ encoder: { dimension: 32 } })).encoder).toMatchObject({ dimension: 32 });
    expect((await configOf({ encoder: { dimension: 32 } })).options).toMatchObject({ dimension: 32 });
    expect((await configOf({ encoder: null } as never)).encoder).toMatchObject({ dimension: 256 });
    expect(await configOf({ options: { dimension: 8 } })).toMatchObject({ encoder: null, options: { dimension: 8 } });
  });

  it("completes an encoder that is given in part", async () => {
    const numeric = { price: { min: 0, max: 500 } };
    const interactions = [["country", "brand"]];
    const encoderOf = async (body: object) => (await configOf(body)).encoder;
    expect(await encoderOf({ encoder: { numeric } })).toEqual({ version: 4, dimension: 256, interactions: "all", numeric });
    expect(await encoderOf({ encoder: {} })).toEqual({ version: 4, dimension: 256, interactions: "all" });
    expect(await encoderOf({ local: true, encoder: { numeric } })).toMatchObject({ dimension: 64, interactions: "all" });
    expect(await encoderOf({ policy: "otf-lin-ts", encoder: { numeric } })).toMatchObject({ dimension: 64, interactions: "all" });
    expect(await encoderOf({ encoder: { dimension: 32 } })).toMatchObject({ dimension: 32, interactions: "all" });
    expect(await encoderOf({ options: { dimension: 32 }, encoder: { numeric } })).toMatchObject({ dimension: 32, interactions: "all" });
    expect(await encoderOf({ encoder: { interactions } })).toMatchObject({ dimension: 256, interactions });
    expect(await encoderOf({ encoder: { interactions: [] } })).toMatchObject({ dimension: 256, interactions: [] });
  });

  it("keeps the absence of interactions of a model that began without them", async () => {
    const began = await configOf({ encoder: { dimension: 32, interactions: [] } });
    const { interactions: _, ...encoder } = began.encoder as unknown as Record<string, unknown>;
    const stored = { ...began, encoder } as unknown as ModelConfig;
    expect(await reconfigureModel({ window, encoder: { dimension: 32 }, draws: 50 } as never, stored)).toMatchObject({
      draws: 50,
      encoder,
    });
    expect((await relearntModel({ options: { ridge: 2 } } as never, stored)).encoder).toMatchObject({ dimension: 32, interactions: [] });
    expect((await relearntModel({ policy: "otf-lin-ts" } as never, stored)).encoder).toMatchObject({ dimension: 32, interactions: [] });
  });

  it("has fewer components where pages fetch the posterior", async () => {
    expect((await configOf({ local: true })).encoder).toMatchObject({ dimension: 64 });
  });

  it("has norms that a decision need not work out", async () => {
    expect((await configOf({ policy: "otf-lin-ucb" })).options).toMatchObject({ norms: "buffered" });
    expect((await configOf({ shadows: [shadow("a")] })).shadows).toMatchObject([{ options: { dimension: 256, norms: "buffered" } }]);
  });

  it("is served at the edge by a policy that draws, and by its learner where all would get the same list", async () => {
    const serving = async (body: Partial<ModelBody>) => (await configOf(body)).serving;
    expect(await serving({})).toBe("edge");
    expect(await serving({ policy: "otf-lin-ucb" })).toBe("learner");
    expect(await serving({ policy: "otf-lin-ucb", minimumShare: 0.01 })).toBe("edge");
    expect(await serving({ policy: "otf-lin-ucb", serving: "edge" })).toBe("edge");
    expect(await serving({ serving: "learner" })).toBe("learner");
  });

  it.each<[Partial<ModelBody>, RegExp]>([
    [{ policy: "nothing" }, /^422 policy: expected one of .*delay-lin-ts, /],
    [{ policy: "otf-lin-ucb", options: { norms: "exact" } }, /^422 options\.norms: expected "buffered", got "exact"/],
    [{ options: { dimension: 8 }, encoder: { dimension: 16 } }, /^422 options\.dimension: expected the encoder's 16, got 8/],
    [
      { policy: "dlpp", options: { domain: { box: [[0, 1]] }, horizon: 100 }, shadows: [shadow("a")] },
      /^422 shadows: a has nothing to choose among, as the policy has its own domain/,
    ],
    [{ local: true, holdout: 0.1 }, /^422 local: expected no holdout and no shadows/],
    [{ local: true, shadows: [shadow("a")] }, /^422 local: expected no holdout and no shadows/],
  ])("%j is refused, with the reason", async (body, reason) => {
    expect(await refusal(body)).toMatch(reason);
  });

  it("may have pages decide, without a control beside them", async () => {
    expect((await configOf({ local: true })).local).toBe(true);
  });
});

describe("features", () => {
  it("are cut to multiples of 2^-12, towards zero, which has no sign", () => {
    expect([1.99 / 4096, -1.99 / 4096, 2.5, -0.3].map(toDyadic)).toEqual([1 / 4096, -1 / 4096, 2.5, -1228 / 4096]);
    expect(toDyadic(-1e-9)).toBe(0);
  });

  it("by place are the context's and then the action's, one row per action", async () => {
    const { vector, points } = featurizer(await configOf({ options: { dimension: 3 }, featureNorm: 10 }));
    expect(Array.from(vector([0.5], { id: "a", features: [1, 2] }))).toEqual([0.5, 1, 2]);
    expect(Array.from(vector(undefined, { id: "a", features: [1] }))).toEqual([1]);
    expect(Array.from(vector([1, 0.00001], { id: "a" }))).toEqual([1, 0]);
    const actions: Action[] = [
      { id: "a", features: [1, 2] },
      { id: "b", features: [3, 4] },
    ];
    expect(Array.from(matrixOf(points([0.5], actions)))).toEqual([0.5, 1, 2, 0.5, 3, 4]);
    expect(matrixOf(points([0.5], []))).toHaveLength(0);
    const uneven: Action[] = [...actions, { id: "c", features: [1] }];
    expect(() => points([0.5], uneven)).toThrow("features of action c: expected 3 numbers with the context's, got 2");
    expect(() => vector({ a: 1 }, { id: "a" })).toThrow("context: expected an array of numbers");
    expect(() => vector([1], { id: "a", features: { a: 1 } })).toThrow("features of action a: expected an array of numbers");
  });

  it("by name are the same for a list as one by one, and the id is one of them", async () => {
    const { vector, points } = featurizer(await configOf());
    const context = { weather: "rain" };
    const actions: Action[] = [{ id: "a", features: { price: "low" } }, { id: "b", features: { price: "low" } }, { id: "c" }];
    const rows = actions.map((action) => Array.from(vector(context, action)));
    for (let time = 0; time < 2; time++) expect(Array.from(matrixOf(points(context, actions)))).toEqual(rows.flat());
    expect(rows[0]).not.toEqual(rows[1]);
    expect(Array.from(matrixOf(points(undefined, actions)))).not.toEqual(rows.flat());
    expect(() => vector([1], { id: "a" })).toThrow("context: expected features by name");
    expect(() => vector(context, { id: "a", features: [1] })).toThrow("features of action a: expected features by name");
    expect(() => vector(context, { id: "a", features: { id: 1 } })).toThrow("the name id is taken by the action's id");
  });
});

it.each([
  ["the constant", {}, 1],
  ["the constant and two components of a declared number", { encoder: { dimension: 64, numeric: { price: { min: 0, max: 9 } } } }, 3],
  ["no component of features that are numbers", { options: { dimension: 8 } }, 0],
] as const)("takes delays to differ by the components after %s", async (_, body, delayComponents) => {
  const shadow = { name: "other", policy: "delay-lin-ucb" };
  const { options, shadows } = await configOf({ ...body, shadows: [shadow] });
  expect([options, shadows[0].options]).toMatchObject([{ delayComponents }, { delayComponents }]);
  expect((await configOf({ ...body, policy: "otf-lin-ts", options: { dimension: 64 } })).options).not.toHaveProperty("delayComponents");
});
