import { delayGpTs, delayGpUcb, type Policy } from "afterclick";
import { type AppendedImpression, additiveMatern32, gaussianProcess } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { solved } from "../../../support/reference/dense.ts";
import { running } from "../../../support/running.ts";

// Delay-aware Gaussian-process policies in a changing world.

/** Appends an impression at each point, one per round, after the earlier rounds. */
function show(policy: Policy, points: readonly (readonly number[])[]): AppendedImpression[] {
  return points.map((features) => policy.append({ round: policy.impressions + 1, features }));
}

const at = (count: number): number[][] => Array.from({ length: count }, (_, i) => [i / count]);

describe("forgetting", () => {
  const kernel = additiveMatern32({ lengthscale: 0.3, bias: 1, variance: 0.3 });

  /** Mean and variance at `asked` under the exact posterior, with a noise variance of 0.01 / weight for each observation. */
  async function weighted(points: readonly number[], weights: readonly number[], rewards: readonly number[], asked: number) {
    const n = points.length;
    const prior = await gaussianProcess({ dimension: 1, kernel, noiseVariance: 0.01 });
    const covariance = prior.covariance(Float64Array.of(...points, asked));
    const own = Float64Array.from({ length: n * n }, (_, i) => covariance[Math.floor(i / n) * (n + 1) + (i % n)]);
    for (const [i, weight] of weights.entries()) own[i * n + i] += 0.01 / weight;
    const cross = points.map((_, i) => covariance[n * (n + 1) + i]);
    const product = (a: readonly number[], b: readonly number[]): number => a.reduce((sum, each, i) => sum + each * b[i], 0);
    return {
      mean: product(cross, solved(own, rewards)),
      variance: covariance[(n + 1) * (n + 1) - 1] - product(cross, solved(own, cross)),
    };
  }

  it("gives an impression of age a 2^(a / halfLife) times the noise, however late its reward comes and changes", async () => {
    const policy = await running(delayGpUcb({ dimension: 1, lengthscale: 0.3, forgetting: { halfLife: 4 } }));
    const points = [0.1, 0.5, 0.1, 0.9, 0.3, 0.6];
    const impressions = show(
      policy,
      points.slice(0, 4).map((x) => [x]),
    );
    policy.observe({ impression: impressions[0], reward: 0.3 });
    policy.observe({ impression: impressions[1], reward: 0.9 });
    impressions.push(
      ...show(
        policy,
        points.slice(4).map((x) => [x]),
      ),
    );
    // One event is late, one an update, one a retraction.
    policy.observe({ impression: impressions[2], reward: 0.4 });
    policy.observe({ impression: impressions[0], reward: 0.7, previous: 0.3 });
    policy.observe({ impression: impressions[1], reward: 0, previous: 0.9 });
    policy.observe({ impression: impressions[5], reward: 0.6 });
    const weights = points.map((_, i) => 2 ** ((i - 5) / 4));
    const known = [0, 1, 2, 5];
    const of = (values: readonly number[]): number[] => known.map((i) => values[i]);
    const { mean, variance } = policy.predict([[0.4]]);
    const expected = await weighted(of(points), of(weights), [0.7, 0, 0.4, 0.6], 0.4);
    expect(mean[0]).toBeCloseTo(expected.mean, 10);
    expect(variance[0]).toBeCloseTo((await weighted(points, weights, Array(6).fill(0), 0.4)).variance, 10);
  });

  it("counts ages in blocks of an eighth of a half-life", async () => {
    const policy = await running(delayGpUcb({ dimension: 1, lengthscale: 0.3, forgetting: { halfLife: 20 } }));
    const points = [0.1, 0.5, 0.2, 0.9, 0.3, 0.6, 0.8];
    const impressions = show(
      policy,
      points.map((x) => [x]),
    );
    // Blocks of three impressions: an eighth of twenty, rounded up.
    const weights = points.map((_, i) => 2 ** ((-3 * (2 - Math.floor(i / 3))) / 20));
    for (const [i, impression] of impressions.entries()) policy.observe({ impression, reward: i / 8 });
    const expected = await weighted(
      points,
      weights,
      points.map((_, i) => i / 8),
      0.4,
    );
    const { mean, variance } = policy.predict([[0.4]]);
    expect(mean[0]).toBeCloseTo(expected.mean, 10);
    expect(variance[0]).toBeCloseTo(expected.variance, 10);
  });

  it("weighs silence by the age of its impression as well", async () => {
    const silent = await running(delayGpUcb({ dimension: 1, lengthscale: 0.3, forgetting: { halfLife: 3 } }), { rounds: 4 });
    const impressions = show(silent, at(7));
    silent.observe({ impression: impressions[5], reward: 0.8 });
    // The windows of the first two impressions have closed by round 7.
    const weights = [0, 1, 5].map((i) => 2 ** ((i - 6) / 3));
    const { mean } = await weighted([0, 1 / 7, 5 / 7], weights, [0, 0, 0.8], 0.4);
    expect(silent.predict([[0.4]]).mean[0]).toBeCloseTo(mean, 10);
  });

  it("removes what weighs next to nothing, and takes no notice when that is taken back or converts", async () => {
    const policy = await running(delayGpUcb({ dimension: 1, forgetting: { halfLife: 16 } }));
    const [first, second, ...impressions] = show(policy, at(500));
    for (const impression of [first, ...impressions]) policy.observe({ impression, reward: 0.5 });
    show(policy, at(3));
    // Ten half-lives, for known outcomes and for all impressions.
    expect(policy.statistics().length / 3).toBeLessThanOrEqual(2 * (160 + 3));
    const before = policy.statistics();
    policy.observe({ impression: first, reward: 0, previous: 0.5 });
    policy.observe({ impression: second, reward: 1 });
    expect(policy.statistics()).toEqual(before);
    // All known outcomes may be forgotten.
    show(policy, Array(600).fill([0.5]));
    expect(policy.predict([[0.25]]).mean[0]).toBe(0);
    policy.observe({ impression: impressions[0], reward: 0, previous: 0.5 });
  });

  it.each([
    [5, "forgetting: expected an object, got 5"],
    [{}, "forgetting.halfLife: expected a number, got undefined"],
    [{ halfLife: 0 }, "forgetting.halfLife: expected a number between 1 and 9007199254740991, got 0"],
    [{ halfLife: 2.5 }, "forgetting.halfLife: expected a whole number, got 2.5"],
    [{ halfLife: 5, window: 3 }, "forgetting.window: expected no such option; known are halfLife, got 3"],
  ])("refuses %j", (forgetting, message) => {
    expect(() => delayGpUcb({ dimension: 1, forgetting: forgetting as never })).toThrow(message);
    expect(() => delayGpTs({ dimension: 1, forgetting: forgetting as never })).toThrow(message);
  });
});
