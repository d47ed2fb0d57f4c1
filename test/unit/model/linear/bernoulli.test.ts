import { delayGpTs, delayGpUcb, type Policy } from "afterclick";
import { type AppendedImpression, additiveMatern32, gaussianProcess } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { solved } from "../../../support/reference/dense.ts";
import { PlainRidge } from "../../../support/reference/plain-ridge.ts";
import { running } from "../../../support/running.ts";

// Gaussian-process policies with `rewards: "bernoulli"`.

const rewards = "bernoulli";
const logistic = (x: number): number => 1 / (1 + Math.exp(-x));
const product = (a: readonly number[], b: readonly number[]): number => a.reduce((sum, each, i) => sum + each * b[i], 0);

function show(policy: Policy, features: readonly number[]): AppendedImpression {
  return policy.append({ round: policy.impressions + 1, features });
}

/**
 * Mean and variance of the latent function at `asked`, in plain matrices: Rasmussen and Williams 2006, algorithms 3.1 and 3.2. The
 * variance may count more trials than the mean.
 */
async function reference(points: readonly number[], trials: readonly number[], successes: readonly number[], asked: number, all = trials) {
  const kernel = additiveMatern32({ lengthscale: 0.3, bias: 8, variance: 1 });
  const prior = await gaussianProcess({ dimension: 1, kernel });
  const n = points.length;
  const covariance = prior.covariance(Float64Array.of(...points, asked));
  const row = (i: number): number[] => [...covariance.subarray(i * (n + 1), i * (n + 1) + n)];
  const cross = row(n);
  let f = points.map(() => 0);
  const gradient = (): number[] => f.map((each, i) => successes[i] - trials[i] * logistic(each));
  const weights = (of = trials): number[] => f.map((each, i) => of[i] * logistic(each) * (1 - logistic(each)));
  /** (I + W K)^-1 b. */
  const inner = (b: readonly number[], w = weights()): number[] => {
    const matrix = points.flatMap((_, i) => row(i).map((each, j) => w[i] * each + Number(i === j)));
    return solved(Float64Array.from(matrix), b);
  };
  for (let step = 0; step < 100; step++) {
    const g = gradient();
    const a = inner(weights().map((w, i) => w * f[i] + g[i]));
    f = points.map((_, i) => product(row(i), a));
  }
  const w = weights(all);
  return {
    mean: product(cross, gradient()),
    variance:
      covariance[(n + 1) * (n + 1) - 1] -
      product(
        cross,
        inner(
          cross.map((each, i) => w[i] * each),
          w,
        ),
      ),
  };
}

describe("the approximation", () => {
  it("is Laplace's, as plain matrices have it", async () => {
    const policy = await running(delayGpUcb({ dimension: 1, lengthscale: 0.3, rewards }));
    const points = [0.1, 0.25, 0.5, 0.75, 0.9];
    const trials = [5, 4, 3, 4, 2];
    const successes = [0, 1, 2, 3, 1];
    for (const [i, x] of points.entries()) {
      for (let trial = 0; trial < trials[i]; trial++) {
        const impression = show(policy, [x]);
        // Conversions arrive at once, so that silence means failure.
        if (trial < successes[i]) policy.observe({ impression, reward: 1 });
      }
    }
    for (const asked of [0.1, 0.6, 3]) {
      const { mean, variance } = policy.predict([[asked]]);
      const latent = await reference(points, trials, successes, asked);
      const deviation = Math.sqrt(latent.variance);
      expect(mean[0]).toBeCloseTo(logistic(latent.mean / Math.sqrt(1 + (Math.PI / 8) * latent.variance)), 6);
      expect(Math.sqrt(variance[0])).toBeCloseTo((logistic(latent.mean + deviation) - logistic(latent.mean - deviation)) / 2, 6);
    }
  });

  it("counts an impression for what has matured of it in the mean, and for one in the variance", async () => {
    const window = { rounds: 40 };
    const policy = await running(delayGpUcb({ dimension: 1, lengthscale: 0.3, rewards }), window);
    const plain = new PlainRidge({ dimension: 1, shrinkage: "fixed", window });
    const points = [0.1, 0.5, 0.9];
    const due = new Map<number, () => void>();
    for (let round = 1; round <= 70; round++) {
      due.get(round)?.();
      const x = points[(round * round) % 3];
      const [impression, other] = [show(policy, [x]), plain.append([x], round)];
      // Six conversions are too few for a fit.
      if (round % 11 !== 3 || round > 60) continue;
      due.set(round + 1 + ((round * 7) % 23), () => {
        policy.observe({ impression, reward: 1 });
        plain.observe(other, 1);
      });
    }
    const shares = plain.shares();
    const at = (of: (i: number) => number): number[] =>
      points.map((x) => plain.impressions.reduce((sum, each, i) => sum + (each.x[0] === x ? of(i) : 0), 0));
    const [trials, successes] = [at((i) => shares[i]), at((i) => plain.impressions[i].reward)];
    expect(product(trials, [1, 1, 1])).toBeLessThan(65);
    for (const asked of [0.1, 0.7]) {
      const latent = await reference(
        points,
        trials,
        successes,
        asked,
        at(() => 1),
      );
      const { mean, variance } = policy.predict([[asked]]);
      const deviation = Math.sqrt(latent.variance);
      expect(mean[0]).toBeCloseTo(logistic(latent.mean / Math.sqrt(1 + (Math.PI / 8) * latent.variance)), 6);
      expect(Math.sqrt(variance[0])).toBeCloseTo((logistic(latent.mean + deviation) - logistic(latent.mean - deviation)) / 2, 6);
    }
  });

  it("has its mean in (0, 1) whatever came, and converges where rates are near 0 or 1", async () => {
    const policy = await running(delayGpUcb({ domain: { points: [[0], [1]] }, rewards }));
    for (let i = 0; i < 2000; i++) {
      const impression = show(policy, [i % 2]);
      if (i % 2 === 0) policy.observe({ impression, reward: 1 });
    }
    const { mean } = policy.predict([[0], [1]]);
    expect(mean[0]).toBeGreaterThan(0.98);
    expect(mean[0]).toBeLessThan(1);
    expect(mean[1]).toBeLessThan(0.02);
    expect(mean[1]).toBeGreaterThan(0);
  });

  it("forgets what is taken back, and counts what several goals bring as one success at most", async () => {
    const [changed, plain] = await Promise.all([0, 1].map(() => running(delayGpUcb({ dimension: 1, rewards }))));
    const [a, b] = [changed, plain].map((policy) => [show(policy, [0.2]), show(policy, [0.8])]);
    changed.observe({ impression: a[0], reward: 1 });
    changed.observe({ impression: a[1], reward: 0.4 });
    changed.observe({ impression: a[0], reward: 0, previous: 1 });
    changed.observe({ impression: a[1], reward: 2.5, previous: 0.4 });
    plain.observe({ impression: b[0], reward: 0 });
    plain.observe({ impression: b[1], reward: 1 });
    expect(changed.digest()).toBe(plain.digest());
    const means = [changed, plain].map((policy) => policy.predict([[0.2], [0.8]]).mean);
    for (const i of [0, 1]) expect(means[0][i]).toBeCloseTo(means[1][i], 6);
  });
});

describe("forgetting", () => {
  it("halves what impressions and their rewards weigh, however late those come and are taken back", async () => {
    const policy = await running(delayGpUcb({ dimension: 1, rewards, forgetting: { halfLife: 4 } }));
    const impressions = Array.from({ length: 9 }, () => show(policy, [0.5]));
    policy.observe({ impression: impressions[8], reward: 1 });
    policy.observe({ impression: impressions[0], reward: 1 });
    policy.observe({ impression: impressions[4], reward: 1 });
    impressions.push(...Array.from({ length: 4 }, () => show(policy, [0.5])));
    policy.observe({ impression: impressions[0], reward: 0, previous: 1 });
    policy.observe({ impression: impressions[11], reward: 1 });
    const weights = impressions.map((_, i) => 2 ** ((i - 12) / 4));
    const [, count, successes] = policy.statistics();
    expect(count).toBeCloseTo(product(weights, Array(13).fill(1)), 10);
    expect(successes).toBeCloseTo(weights[4] + weights[8] + weights[11], 10);
  });

  it("follows a rate that changes, and removes points that are forgotten", async () => {
    const [forgetting, keeping] = await Promise.all(
      [{ halfLife: 24 }, null].map((each) => running(delayGpUcb({ dimension: 1, rewards, forgetting: each }))),
    );
    for (const policy of [forgetting, keeping]) {
      const [old] = [0.1, 0.9].map((x) => show(policy, [x]));
      for (let i = 0; i < 400; i++) show(policy, [0.5]);
      const before = policy.statistics();
      policy.observe({ impression: old, reward: 1 });
      // Two points are forgotten.
      expect(policy.statistics().length).toBe(policy === forgetting ? 3 : 9);
      if (policy === forgetting) expect(policy.statistics()).toEqual(before);
      for (let i = 0; i < 80; i++) policy.observe({ impression: show(policy, [0.5]), reward: 1 });
    }
    expect(forgetting.predict([[0.5]]).mean[0]).toBeGreaterThan(0.75);
    expect(keeping.predict([[0.5]]).mean[0]).toBeLessThan(0.3);
  });
});

describe("options", () => {
  it.each([
    [{ rewards: "poisson" }, /^rewards: expected one of gaussian, bernoulli/],
    [{ rewards: 1 }, /^rewards: expected one of gaussian, bernoulli, got 1/],
  ])("refuses %j", (options, message) => {
    for (const make of [delayGpUcb, delayGpTs]) expect(() => make({ dimension: 1, ...(options as object) })).toThrow(message);
  });

  it("are those of Gaussian rewards when that is said", () => {
    expect(delayGpUcb({ dimension: 1, rewards: "gaussian" }).options).toEqual(delayGpUcb({ dimension: 1 }).options);
  });
});
