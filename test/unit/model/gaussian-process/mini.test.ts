import { linear, matern52, miniGpEi, miniGpUcb, type Policy, type PolicyDescriptor, Recommender } from "afterclick";
import { gaussianProcess } from "afterclick/research";
import { describe, expect, it } from "vitest";

const points = Array.from({ length: 12 }, (_, i) => [i / 8]);
const kernel = matern52({ lengthscale: 0.5 });
const options = { domain: { points }, kernel, noiseVariance: 0.1 };

async function running(policy: PolicyDescriptor): Promise<Policy> {
  return (await Recommender.create({ policy, window: "none" })).policy;
}

describe.each([
  ["mini-gp-ucb", miniGpUcb],
  ["mini-gp-ei", miniGpEi],
])("%s", (_, factory) => {
  it("stays with a candidate for (C^2 - 1) noise / variance evaluations, whatever arrives meanwhile", async () => {
    // 99 * 0.1 / 1 = 9 under the prior.
    const policy = await running(factory({ ...options, threshold: 10 }));
    const [first] = policy.choose({ round: 1 });
    for (let round = 1; round <= 9; round++) {
      expect(policy.choose({ round })).toEqual([first]);
      const impression = policy.append({ round, features: first.features });
      if (round % 2) policy.observe({ impression, reward: -1 });
    }
    expect(policy.choose({ round: 10 })[0].index).not.toBe(first.index);
  });

  it("leaves the noise out of a raw batch, and evaluates once at a threshold of 1", async () => {
    const lengths = async (settings: object): Promise<number> => {
      const policy = await running(factory({ ...options, ...settings }));
      const [first] = policy.choose({ round: 1 });
      for (let round = 1; ; round++) {
        policy.append({ round, features: first.features });
        if (policy.choose({ round })[0].width !== first.width) return round;
      }
    };
    expect(await lengths({ threshold: 2, batchRule: "raw" })).toBe(3);
    expect(await lengths({ threshold: 1 })).toBe(1);
  });

  it("takes the mean from what has arrived and the variance from all evaluations", async () => {
    const policy = await running(factory(options));
    const arrived = await gaussianProcess({ dimension: 1, kernel, noiseVariance: 0.1 });
    const all = await gaussianProcess({ dimension: 1, kernel, noiseVariance: 0.1 });
    for (let round = 1; round <= 30; round++) {
      const [{ features = new Float64Array(1) }] = policy.choose({ round });
      const impression = policy.append({ round, features });
      all.append(features);
      if (round % 3 === 0) continue;
      policy.observe({ impression, reward: features[0] });
      arrived.reward({ features, slot: arrived.append(features) }, features[0], 0);
    }
    const { mean, variance } = policy.predict(points);
    const grid = Float64Array.from(points.flat());
    const expected = { mean: arrived.moments(grid).mean, deviation: all.moments(grid).deviation };
    for (let i = 0; i < points.length; i++) {
      expect(mean[i]).toBeCloseTo(expected.mean[i], 10);
      expect(Math.sqrt(variance[i])).toBeCloseTo(expected.deviation[i], 10);
    }
  });

  it("does not begin a batch with an impression that was decided elsewhere", async () => {
    const policy = await running(factory({ ...options, threshold: 10 }));
    policy.append({ round: 1, features: points[11] });
    const [{ index }] = policy.choose({ round: 2 });
    expect(index).not.toBe(11);
  });

  it("refuses more first rewards than impressions, and changes nothing", async () => {
    const policy = await running(factory(options));
    const impression = policy.append({ round: 1, features: points[0] });
    policy.observe({ impression, reward: 1 });
    const before = policy.digest();
    expect(() => policy.observe({ impression, reward: 1 })).toThrow(RangeError);
    expect(policy.digest()).toBe(before);
  });

  it.each([1, 2])("leaves a candidate of no variance in the end, and is saved meanwhile, at a threshold of %d", async (threshold) => {
    const certain = factory({ domain: { points: [[0]] }, kernel: linear(), noiseVariance: 0.1, threshold });
    const recommender = await Recommender.create({ policy: certain, window: "none" });
    recommender.recommend({});
    const restored = await Recommender.restore(recommender.snapshot(), { policies: [factory] });
    expect(restored.snapshot()).toEqual(recommender.snapshot());
    expect(restored.recommend({})).toEqual(recommender.recommend({}));
  });

  it.each([
    [1, 1e-10],
    [1, 1e-300],
    [1.1, 1e-10],
    [1.1, 1e-300],
  ])("stays finite for near-duplicate points at a threshold of %d and a noise of %d", async (threshold, noiseVariance) => {
    const near = { points: [[0], [1e-9], [2e-9], [1]] };
    const policy = await running(factory({ domain: near, kernel, noiseVariance, threshold }));
    for (let round = 1; round <= 40; round++) {
      const [choice] = policy.choose({ round });
      expect([choice.score, choice.mean, choice.width].every(Number.isFinite)).toBe(true);
      policy.observe({ impression: policy.append({ round, features: choice.features }), reward: 0.5 });
    }
  });

  it.each([
    ["threshold", 0.9],
    ["threshold", Number.NaN],
    ["batchRule", "halved"],
    ["delta", 0],
    ["delta", 1.1],
    ["exploration", -1],
    ["noiseVariance", -0.1],
    ["domain", undefined],
    ["domain", null],
    ["domain", { points: [[0], [0]] }],
  ])("refuses %s = %j by name", (name, bad) => {
    expect(() => factory({ ...options, [name]: bad })).toThrow(new RegExp(`^${name}`));
  });
});
