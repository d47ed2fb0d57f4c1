import {
  delayedZooming,
  delayGpTs,
  delayGpUcb,
  delayLinTs,
  dlpp,
  linear,
  matern12,
  matern32,
  matern52,
  otfLinTs,
  type PolicyDescriptor,
  policies,
  Recommender,
  squaredExponential,
} from "afterclick";
import { additiveMatern32 } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { DOMAIN } from "../../policies/facts.ts";
import { facts } from "../../policies/listed.ts";

// Defaults and limits of every policy's options.

const square = { box: [[0, 1], [0, 1]] }; // biome-ignore format: one line
const domain = DOMAIN;

/** The least required options of each policy, and the resulting defaults. */
const DEFAULTS: Record<string, [given: object, options: object]> = Object.fromEntries(
  Object.entries(facts).map(([id, { required, defaults }]) => [id, [required, defaults]]),
);

const describeBy = (id: string, options: object): PolicyDescriptor => {
  const factory = policies.find((each) => each.id === id) as unknown as (options: object) => PolicyDescriptor;
  return factory({ ...DEFAULTS[id][0], ...options });
};

describe.each(Object.entries(facts))("%s", (id, { defaults, delayOffset, stateVersion }) => {
  it("has these options by default", () => {
    expect(describeBy(id, {}).options).toEqual(defaults);
  });

  it("counts delays from its papers' round on, and its state by its version", async () => {
    const descriptor = describeBy(id, {});
    const { policy } = await Recommender.create({ policy: descriptor, window: "none" });
    expect([policy.delayOffset, descriptor.stateVersion]).toEqual([delayOffset, stateVersion]);
  });
});

it("depend on other options", () => {
  expect(otfLinTs({ dimension: 2, width: "theory" }).options).toMatchObject({ ridge: 1 });
  expect(describeBy("delay-lin-ts", { rewards: "bernoulli" }).options).toMatchObject({ exploration: 0.22, shrinkage: "fixed" });
  expect(describeBy("delay-gp-ucb", { rewards: "bernoulli" }).options).toMatchObject({ capacity: 256, exploration: 2 });
  const spread = { points: [[0, 4, 1, 7], [10, -4, 1, 7], [2, 0, 3, 7]] }; // biome-ignore format: one line
  const { lengthscale: own } = delayGpTs({ domain: spread, contextDimension: 1 }).options as { lengthscale: number[] };
  const root = 0.1 * Math.sqrt(3);
  // A tenth of 10, 8, 2 and 0, times the root of the number of context or action features.
  [1, 8 * root, 2 * root, root].forEach((each, i) => void expect(own[i]).toBeCloseTo(each, 12));
  const resolutions = [1, 2, 3, 4, 13].map((axes) => {
    const box = Array.from({ length: axes }, (): [number, number] => [0, 1]);
    return (delayedZooming({ domain: { box }, horizon: 9 }).options as { resolution: number }).resolution;
  });
  // 101^2 = 10,201; 21^3 = 9,261; 10^4 = 10,000; 2^13 = 8,192.
  expect(resolutions).toEqual([1001, 101, 21, 10, 2]);
});

type Bounds = [ids: string[], option: string, accepted: unknown[], refused: unknown[]];
const all = (...options: string[]): string[] => Object.keys(DEFAULTS).filter((id) => options.every((each) => each in DEFAULTS[id][1]));
const withDomain = ["bpe", "bpe-delay", "mini-gp-ucb", "mini-gp-ei", "delayed-zooming", "dlpp"];
const HUGE = Number.POSITIVE_INFINITY;
const bounds: Bounds[] = [
  [all("dimension").filter((id) => !withDomain.includes(id)), "dimension", [1, 4096], [0, 4097, 1.5, undefined]],
  [all("exploration"), "exploration", [0, 1e9], [-1e-9, HUGE, "2"]],
  [all("beta"), "beta", [0, 1e9], [-1e-9, Number.NaN]],
  [all("rewardBound"), "rewardBound", [0, 1e9], [-1e-9]],
  [all("ridge"), "ridge", [1e-9], [0, -1]],
  [all("noiseVariance"), "noiseVariance", [1e-300], [0]],
  [all("kernel", "capacity"), "capacity", [1, 20_000], [0, 20_001, 1.5]],
  [["delay-gp-ucb", "delay-gp-ts"], "capacity", [2, 20_000], [1, 20_001]],
  [["delay-gp-ucb", "delay-gp-ts"], "contextDimension", [0, 2], [-1, 3, 0.5]],
  [["delay-gp-ucb", "delay-gp-ts"], "lengthscale", [0.1, [0.1, 2]], [0, [0.1], [1, 0]]],
  [["delay-lin-ucb", "delay-lin-ts"], "rewardVariance", [1e-9], [0]],
  [["delay-lin-ucb", "delay-lin-ts"], "delayComponents", [0, 4096], [-1, 4097, 0.5]],
  [
    ["delay-lin-ucb", "delay-lin-ts"],
    "blocks",
    [[], [0, 255], [1, 1], Float64Array.of(0, 1)],
    [[0], [0, 1, 2], [0, 256], [-1, 0], [0, 0.5], [0, "1"], [0, HUGE], 3],
  ],
  [all("forgetting"), "forgetting", [null, { halfLife: 1 }], [{ halfLife: 0 }, { halfLife: 1.5 }, {}, { halfLife: 2, every: 3 }, 7]],
  [["otf-lin-ucb", "otf-lin-ts", "bpe-delay", "mini-gp-ucb", "mini-gp-ei", "gp-ei"], "delta", [1e-200, 1], [0, 1e-201, 1.001]],
  [["delayed-zooming", "dlpp"], "delta", [Number.MIN_VALUE, 0.999], [0, 1, -1]],
  [["otf-lin-ts"], "widthCap", [1e-9], [0]],
  [["bpe", "bpe-delay"], "horizon", [1, 1e12], [0, 1e12 + 1, 1.5]],
  [["delayed-zooming", "dlpp"], "horizon", [1, Number.MAX_SAFE_INTEGER], [0, 1.5]],
  [["bpe-delay"], "expectedDelay", [0, 1e12], [-1e-9, 1e12 + 1]],
  [["bpe-delay"], "xi", [1e-9], [0]],
  [["bpe-delay"], "b", [1e-9], [0]],
  [["mini-gp-ucb", "mini-gp-ei"], "threshold", [1, 1e6], [0.999, 1e6 + 1]],
  [["mini-gp-ucb"], "normBound", [0], [-1e-9]],
  [["epsilon-greedy"], "explorationScale", [0], [-1e-9]],
  [["epsilon-greedy"], "explorationDecay", [0], [-1e-9]],
  [["delayed-zooming"], "lazyFloor", [0, 1], [-1, 0.5, 2]],
  [["dlpp"], "pruneMultiplier", [1e-9], [0]],
  [
    all("refit"),
    "refit",
    [null, { every: 1 }, { every: 1, method: "marginal-likelihood" }],
    [{ every: 0 }, {}, { every: 2, method: "map" }, 3],
  ],
];

it.each(bounds.flatMap(([ids, option, ...rest]) => ids.map((id) => [id, option, ...rest] as const)))(
  "%s takes %s from its least to its greatest, and none beyond",
  (id, option, accepted, refused) => {
    for (const value of accepted) expect(() => describeBy(id, { [option]: value })).not.toThrow();
    for (const value of refused)
      expect(() => describeBy(id, { [option]: value })).toThrow(new RegExp(`^(options\\.)?${option}|kernel\\.lengthscale`));
  },
);

describe("a domain", () => {
  it("has as many axes as a policy has room for", () => {
    const box = (axes: number): { box: [number, number][] } => ({ box: Array.from({ length: axes }, () => [0, 1]) });
    const points = (axes: number): { points: number[][] } => ({ points: [Array(axes).fill(0), Array(axes).fill(1)] });
    expect(() => dlpp({ domain: box(10), horizon: 9 })).not.toThrow();
    expect(() => dlpp({ domain: box(11), horizon: 9 })).toThrow(/^domain\.box: /);
    expect(() => dlpp({ domain: points(50), horizon: 9 })).not.toThrow();
    expect(() => dlpp({ domain: points(51), horizon: 9 })).toThrow(/^domain\.points: /);
    expect(() => delayedZooming({ domain: box(19), horizon: 9 })).not.toThrow();
    expect(() => delayedZooming({ domain: box(20), horizon: 9 })).toThrow(/^domain\.box: /);
    expect(() => delayedZooming({ domain: points(60), horizon: 9 })).not.toThrow();
  });

  it("has a grid of at most a million points, and none beside points", () => {
    const line = { box: [[0, 1]] as [number, number][] };
    expect(() => delayedZooming({ domain: line, horizon: 9, resolution: 1_000_000 })).not.toThrow();
    expect(() => delayedZooming({ domain: line, horizon: 9, resolution: 1_000_001 })).toThrow(/^resolution: /);
    expect(() => delayedZooming({ domain: square as never, horizon: 9, resolution: 1000 })).not.toThrow();
    expect(() => delayedZooming({ domain: square as never, horizon: 9, resolution: 1001 })).toThrow(/^resolution: /);
    expect(() => delayedZooming({ domain, horizon: 9, resolution: 5 })).toThrow(/^resolution: /);
  });

  it("fits the dimension, if that is said as well", () => {
    expect(describeBy("gp-ucb", { dimension: undefined, domain }).options).toMatchObject({ dimension: 2 });
    expect(() => describeBy("gp-ucb", { dimension: 2, domain })).not.toThrow();
    expect(() => describeBy("gp-ucb", { dimension: 3, domain })).toThrow(/^domain\.points\[0\]: /);
  });
});

describe("a kernel", () => {
  const plain = { lengthscale: 1, variance: 1, bias: 0 };
  it.each([
    [squaredExponential, { name: "squared-exponential", ...plain }],
    [matern12, { name: "matern12", ...plain }],
    [matern32, { name: "matern32", ...plain }],
    [matern52, { name: "matern52", ...plain }],
    [linear, { name: "linear", ...plain }],
    [additiveMatern32, { name: "additive-matern32", ...plain, context: 0 }],
  ])("is %o by default", (make, expected) => {
    expect(make()).toEqual(expected);
    expect(describeBy("gp-ucb", { kernel: { name: expected.name } }).options).toMatchObject({ kernel: expected });
  });

  it.each([
    ["kernel", 3],
    ["kernel.name", { name: "cubic" }],
    ["kernel.scale", { name: "matern12", scale: 1 }],
    ["kernel.lengthscale", { name: "matern12", lengthscale: 0 }],
    ["kernel.lengthscale", { name: "matern12", lengthscale: "1" }],
    ["kernel.lengthscale[1]", { name: "matern12", lengthscale: [1, 0] }],
    ["kernel.lengthscale", { name: "matern12", lengthscale: [1, 1, 1] }],
    ["kernel.variance", { name: "matern12", variance: 0 }],
    ["kernel.bias", { name: "linear", bias: -1e-9 }],
    ["kernel.context", { name: "matern12", context: 0 }],
    ["kernel.context", { name: "additive-matern32", context: 3 }],
    ["kernel.context", { name: "additive-matern32", context: -1 }],
  ])("is refused by the name of its field %s: %j", (name, kernel) => {
    expect(() => describeBy("gp-ucb", { kernel })).toThrow(new RegExp(`^${name.replace(/[[\].]/g, "\\$&")}:`));
  });

  it("has a context of up to all features", () => {
    expect(() => describeBy("gp-ucb", { kernel: additiveMatern32({ context: 2, bias: 0.5 }) })).not.toThrow();
  });
});

it("refuses rewards beyond 0 to 1 under log-odds, before anything is made", async () => {
  for (const factory of [delayLinTs, delayGpUcb]) {
    const policy = factory({ dimension: 2, rewards: "bernoulli" });
    for (const reward of [
      { min: 0, max: 1e6 },
      { min: -1, max: 1 },
    ]) {
      await expect(Recommender.create({ policy, window: "none", reward })).rejects.toThrow(/^reward: expected a range inside 0 to 1/);
    }
    await Recommender.create({ policy, window: "none", reward: { min: 0, max: 0.5 } });
  }
});
