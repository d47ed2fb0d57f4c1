import {
  type AppendedImpression,
  additiveMatern32,
  delayGpTs,
  delayGpUcb,
  gaussianProcess,
  type Policy,
  type PolicyDescriptor,
  Recommender,
  type Window,
} from "afterclick";
import { describe, expect, it } from "vitest";
import { solved } from "../support/dense.ts";
import { stream } from "../support/scenario.ts";

// Gaussian-process policies with `rewards: "bernoulli"`.

const rewards = "bernoulli";
const logistic = (x: number): number => 1 / (1 + Math.exp(-x));
const product = (a: readonly number[], b: readonly number[]): number => a.reduce((sum, each, i) => sum + each * b[i], 0);
const meanOf = (values: ArrayLike<number>): number => Array.from(values).reduce((sum, each) => sum + each, 0) / values.length;

async function running(descriptor: PolicyDescriptor, window: Window = "none"): Promise<Policy> {
  return (await Recommender.create({ policy: descriptor, window })).policy;
}

function show(policy: Policy, features: readonly number[]): AppendedImpression {
  return policy.append({ round: policy.impressions + 1, features });
}

/** Mean and variance of the latent function at `asked`: Rasmussen and Williams 2006, algorithms 3.1 and 3.2, in plain matrices. */
async function reference(points: readonly number[], trials: readonly number[], successes: readonly number[], asked: number) {
  const kernel = additiveMatern32({ lengthscale: 0.3, bias: 8, variance: 1 });
  const prior = await gaussianProcess({ dimension: 1, kernel });
  const n = points.length;
  const covariance = prior.covariance(Float64Array.of(...points, asked));
  const row = (i: number): number[] => [...covariance.subarray(i * (n + 1), i * (n + 1) + n)];
  const cross = row(n);
  let f = points.map(() => 0);
  const gradient = (): number[] => f.map((each, i) => successes[i] - trials[i] * logistic(each));
  const weights = (): number[] => f.map((each, i) => trials[i] * logistic(each) * (1 - logistic(each)));
  /** (I + W K)^-1 b. */
  const inner = (b: readonly number[]): number[] => {
    const w = weights();
    const matrix = points.flatMap((_, i) => row(i).map((each, j) => w[i] * each + Number(i === j)));
    return solved(Float64Array.from(matrix), b);
  };
  for (let step = 0; step < 100; step++) {
    const g = gradient();
    const a = inner(weights().map((w, i) => w * f[i] + g[i]));
    f = points.map((_, i) => product(row(i), a));
  }
  const w = weights();
  return {
    mean: product(cross, gradient()),
    variance: covariance[(n + 1) * (n + 1) - 1] - product(cross, inner(cross.map((each, i) => w[i] * each))),
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
        // At once, so that all that does not convert is known not to.
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

/** The rate of conversions at x: from about 0.05 to about 0.5. */
const rate = (x: number): number => logistic(-3 + 3 * Math.exp(-20 * (x - 0.6) * (x - 0.6)));

/** Shows uniform points in so many rounds, of which conversions come after geometric delays of this mean. */
async function played(policy: Policy, rounds: number, mean: number, random: () => number): Promise<number> {
  const due = new Map<number, AppendedImpression[]>();
  let arrived = 0;
  for (let round = 1; round <= rounds; round++) {
    const impression = show(policy, [random()]);
    const when = round + Math.floor(Math.log(1 - random()) / Math.log(1 - 1 / mean));
    if (random() < rate(impression.features[0])) due.set(when, [...(due.get(when) ?? []), impression]);
    for (const each of due.get(round) ?? []) policy.observe({ impression: each, reward: 1 });
    arrived += (due.get(round) ?? []).length;
  }
  return arrived;
}

const asked = Array.from({ length: 41 }, (_, i) => [i / 40]);

describe("in a simulated world", () => {
  it("is calibrated, while a third of the conversions is still to come", async () => {
    let inside = 0;
    let bias = 0;
    let pending = 0;
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const policy = await running(delayGpUcb({ dimension: 1, rewards, capacity: 40 }), { rounds: 1000 });
      const arrived = await played(policy, 800, 250, stream(seed));
      const { mean, variance } = policy.predict(asked);
      const truth = asked.map(([x]) => rate(x));
      inside += mean.filter((each, i) => Math.abs(each - truth[i]) < 2 * Math.sqrt(variance[i])).length / asked.length / 6;
      bias += meanOf(mean.map((each, i) => each - truth[i])) / 6;
      pending += (1 - arrived / (800 * meanOf(truth))) / 6;
    }
    expect(pending).toBeGreaterThan(0.25);
    expect(inside).toBeGreaterThan(0.85);
    // The share that is pending, taken for silence, would be a bias of its share of the rate: about 0.06.
    expect(Math.abs(bias)).toBeLessThan(0.03);
  });

  it("is surer of a point that was shown just now, and thinks of it hardly worse", async () => {
    const policy = await running(delayGpUcb({ dimension: 1, rewards, capacity: 100 }), { rounds: 1000 });
    await played(policy, 600, 250, stream(8));
    const before = policy.predict([[0.6]]);
    for (let i = 0; i < 30; i++) show(policy, [0.6]);
    const after = policy.predict([[0.6]]);
    expect(after.variance[0]).toBeLessThan(0.67 * before.variance[0]);
    // Of the older ones more should have come as well by now.
    expect(after.mean[0]).toBeGreaterThan(0.75 * before.mean[0]);
  });

  it("loses nothing within its budget, and stays near what it would say without one", async () => {
    const [bounded, exact] = await Promise.all([24, 400].map((capacity) => running(delayGpUcb({ dimension: 1, rewards, capacity }))));
    const arrived = await played(bounded, 400, 10, stream(7));
    await played(exact, 400, 10, stream(7));
    const sums = bounded.statistics();
    expect(sums.length / 3).toBeLessThanOrEqual(24);
    const total = (column: number): number => sums.reduce((sum, each, i) => (i % 3 === column ? sum + each : sum), 0);
    expect([total(1), total(2)]).toEqual([400, arrived]);
    const means = [bounded, exact].map((policy) => policy.predict(asked).mean);
    expect(Math.max(...means[0].map((each, i) => Math.abs(each - means[1][i])))).toBeLessThan(0.05);
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

describe("memory", () => {
  it("is no more, nor are the bytes of a snapshot, however long it runs", async () => {
    const policy = delayGpTs({ dimension: 4, contextDimension: 2, rewards, capacity: 48 });
    const recommender = await Recommender.create({ policy, window: { rounds: 50 } });
    const random = stream(9);
    const play = (rounds: number): { memory: number; snapshot: number } => {
      let snapshot = 0;
      for (let round = 1; round <= rounds; round++) {
        const candidates = [0, 1].map(() => ({ features: Array.from({ length: 4 }, random) }));
        const { impressionId } = recommender.recommend({ candidates }).action;
        if (random() < 0.3) recommender.convert({ impressionId, reward: 1 });
        if (round % 6 === 0) snapshot = Math.max(snapshot, recommender.snapshot().length);
      }
      return { memory: recommender.memoryBytes, snapshot };
    };
    const settled = play(150);
    const later = play(300);
    expect(later.memory).toBe(settled.memory);
    expect(later.snapshot).toBeLessThan(1.1 * settled.snapshot);
  });

  it("is less than 64 MB at its default size, full and thinned out", async () => {
    const recommender = await Recommender.create({ policy: delayGpTs({ dimension: 12, rewards }), window: { rounds: 50 } });
    const random = stream(9);
    const points = (count: number): number[][] => Array.from({ length: count }, () => Array.from({ length: 12 }, random));
    const memory = [260, 70].map((count) => {
      for (const [i, point] of points(count).entries()) {
        const impression = show(recommender.policy, point);
        if (i % 9 === 0) recommender.policy.observe({ impression, reward: 1 });
      }
      recommender.policy.choose({ candidates: points(2).map((features) => ({ features })), round: 1000 });
      return recommender.memoryBytes;
    });
    expect(memory[0]).toBeLessThan(64 * 2 ** 20);
    expect(memory[1]).toBe(memory[0]);
  });

  it("is for the points it has, not for those it may have", async () => {
    const policy = delayGpTs({ domain: { points: [[0], [1]] }, capacity: 20_000, rewards });
    const recommender = await Recommender.create({ policy, window: "none" });
    for (let round = 1; round <= 20; round++)
      recommender.convert({ impressionId: recommender.recommend({}).action.impressionId, reward: 1 });
    expect(recommender.memoryBytes).toBeLessThan(2 ** 21);
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
