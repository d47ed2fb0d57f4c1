import { delayGpTs, delayGpUcb, type Policy, Recommender } from "afterclick";
import type { AppendedImpression } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { running } from "../../../support/running.ts";
import { stream } from "../../../support/scenario.ts";

// Quality and size of Gaussian-process policies with `rewards: "bernoulli"` over hundreds of rounds.

const rewards = "bernoulli";
const logistic = (x: number): number => 1 / (1 + Math.exp(-x));
const meanOf = (values: ArrayLike<number>): number => Array.from(values).reduce((sum, each) => sum + each, 0) / values.length;

function show(policy: Policy, features: readonly number[]): AppendedImpression {
  return policy.append({ round: policy.impressions + 1, features });
}

/** Conversion rate at x, from about 0.05 to about 0.5. */
const rate = (x: number): number => logistic(-3 + 3 * Math.exp(-20 * (x - 0.6) * (x - 0.6)));

/** Shows uniform points. Conversions arrive after geometric delays of the given mean. */
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
    // Counting pending impressions as failures would bias the rate by their share, about 0.06.
    expect(Math.abs(bias)).toBeLessThan(0.03);
  });

  it("is surer of a point that was shown just now, and thinks of it hardly worse", async () => {
    const policy = await running(delayGpUcb({ dimension: 1, rewards, capacity: 100 }), { rounds: 1000 });
    await played(policy, 600, 250, stream(8));
    const before = policy.predict([[0.6]]);
    for (let i = 0; i < 30; i++) show(policy, [0.6]);
    const after = policy.predict([[0.6]]);
    expect(after.variance[0]).toBeLessThan(0.67 * before.variance[0]);
    // More conversions of the older impressions should have arrived too.
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
