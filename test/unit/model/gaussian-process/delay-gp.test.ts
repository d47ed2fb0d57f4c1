import { delayGpTs, delayGpUcb, NumericalError, type Policy, policies, Recommender, type Window } from "afterclick";
import { type AppendedImpression, additiveMatern32, gaussianProcess } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { running } from "../../../support/running.ts";
import { stream } from "../../../support/scenario.ts";

const MEGABYTE = 2 ** 20;

/** Appends an impression at each point, one per round, after the earlier rounds. */
function show(policy: Policy, points: readonly (readonly number[])[]): AppendedImpression[] {
  return points.map((features) => policy.append({ round: policy.impressions + 1, features }));
}

const at = (count: number): number[][] => Array.from({ length: count }, (_, i) => [i / count]);
const largest = (values: ArrayLike<number>): number => Math.max(...Array.from(values, Math.abs));

describe("what it knows", () => {
  it("takes the mean from known outcomes, and the variance from all impressions", async () => {
    const policy = await running(delayGpUcb({ dimension: 1 }));
    const before = policy.predict([[0.5]]);
    const [impression] = show(policy, [[0.5]]);
    const pending = policy.predict([[0.5]]);
    expect(pending.mean[0]).toBe(0);
    expect(pending.variance[0]).toBeLessThan(before.variance[0] / 10);
    policy.observe({ impression, reward: 0.8 });
    const known = policy.predict([[0.5]]);
    expect(known.mean[0]).toBeGreaterThan(0.7);
    expect(known.variance[0]).toBe(pending.variance[0]);
  });

  it("is the exact posterior under its prior until hyper-parameters are fitted", async () => {
    const policy = await running(delayGpUcb({ dimension: 3, contextDimension: 1, lengthscale: [0.2, 0.3, 0.4] }));
    const kernel = additiveMatern32({ lengthscale: [0.2, 0.3, 0.4], context: 1, bias: 1, variance: 0.3 });
    const exact = await gaussianProcess({ dimension: 3, kernel, noiseVariance: 0.01 });
    const random = stream(2);
    const points = Array.from({ length: 6 }, () => [random(), random(), random()]);
    for (const impression of show(policy, points)) {
      const reward = random();
      policy.observe({ impression, reward });
      exact.reward({ features: impression.features, slot: exact.append(impression.features) }, reward, 0);
    }
    const asked = [[0.5, 0.5, 0.5], points[2]];
    const { mean, variance } = policy.predict(asked);
    const expected = exact.moments(Float64Array.from(asked.flat()));
    expect(largest(mean.map((each, i) => each - expected.mean[i]))).toBeLessThan(1e-12);
    expect(largest(variance.map((each, i) => Math.sqrt(each) - expected.deviation[i]))).toBeLessThan(1e-12);
  });

  it("counts silence as a reward of 0 once the window has closed, and a conversion that is delivered later in its place", async () => {
    const late = await running(delayGpUcb({ dimension: 1 }), { rounds: 2 });
    const prompt = await running(delayGpUcb({ dimension: 1 }));
    const [silent] = show(late, [[0.5]]);
    const [open] = show(prompt, [[0.5]]);
    for (const policy of [late, prompt]) {
      for (const impression of show(policy, [[0.1], [0.2], [0.3]])) policy.observe({ impression, reward: 0.25 });
    }
    prompt.observe({ impression: open, reward: 0 });
    expect(late.digest()).toBe(prompt.digest());
    late.observe({ impression: silent, reward: 0.75 });
    prompt.observe({ impression: open, reward: 0.75, previous: 0 });
    expect(late.digest()).toBe(prompt.digest());
    expect(late.predict([[0.5]])).toEqual(prompt.predict([[0.5]]));
  });

  it.each<[string, Window, number]>([
    ["rounds", { rounds: 3 }, 1],
    ["ms", { ms: 3000 }, 1000],
  ])("takes silence for a 0 when the window has passed, not in its last instant: %s", async (_, window, unit) => {
    const policy = await running(delayGpUcb({ dimension: 1 }), window);
    const append = (time: number): AppendedImpression => policy.append({ round: time, now: unit * time, features: [0.5] });
    append(1);
    const prompt = append(2);
    policy.observe({ impression: prompt, reward: 0.6 });
    const before = policy.predict([[0.5]]).mean[0];
    append(4);
    expect(policy.predict([[0.5]]).mean[0]).toBe(before);
    append(5);
    // The mean after one more outcome, a 0, at the same point.
    expect(policy.predict([[0.5]]).mean[0]).toBeLessThan(0.51 * before);
    append(6);
    append(9);
    // Impressions 4 and 5 are silent too. The converted one is not.
    expect(policy.predict([[0.5]]).mean[0]).toBeCloseTo(0.6 / 4, 1);
  });

  it("changes nothing when a reward is too large, or is one too many", async () => {
    const recommender = await Recommender.create({ policy: delayGpTs({ dimension: 1 }), window: "none" });
    const [impression] = show(recommender.policy, [[0.5]]);
    const before = recommender.snapshot();
    expect(() => recommender.policy.observe({ impression, reward: 1e200 })).toThrow(NumericalError);
    expect(recommender.snapshot()).toEqual(before);
    recommender.policy.observe({ impression, reward: 1 });
    const known = recommender.snapshot();
    expect(() => recommender.policy.observe({ impression, reward: 1e200, previous: 1 })).toThrow(NumericalError);
    expect(() => recommender.policy.observe({ impression, reward: 1 })).toThrow(/no more first rewards/);
    expect(recommender.snapshot()).toEqual(known);
  });

  it.each([1, 1000])("learns lengthscale, signal and noise from rewards in any unit: %s", async (unit) => {
    const policy = await running(delayGpUcb({ dimension: 1 }));
    const random = stream(5);
    const value = ([x]: readonly number[]): number => unit * Math.sin(9 * x);
    for (const impression of show(policy, at(300))) {
      // Uniform noise of deviation 0.2.
      policy.observe({ impression, reward: value([...impression.features]) + unit * 0.4 * Math.sqrt(3) * (random() - 0.5) });
    }
    show(policy, [[0.5]]);
    const asked = at(40);
    const { mean, variance } = policy.predict(asked);
    const errors = asked.map((point, i) => (mean[i] - value(point)) / Math.sqrt(variance[i]));
    expect(largest(mean.map((each, i) => each - value(asked[i])))).toBeLessThan(0.2 * unit);
    expect(errors.reduce((sum, each) => sum + each * each, 0) / errors.length).toBeLessThan(2);
    expect(largest(variance)).toBeLessThan((0.1 * unit) ** 2);
  });
});

describe("a budget of rows", () => {
  it("never claims less than 8/9 of the certainty that it has, however often points repeat", async () => {
    const points = at(5);
    const policy = await running(delayGpUcb({ domain: { points }, lengthscale: 0.2, capacity: 40 }));
    const kernel = additiveMatern32({ lengthscale: 0.2, bias: 1, variance: 0.3 });
    const exact = await gaussianProcess({ dimension: 1, kernel, noiseVariance: 0.01 });
    for (let i = 0; i < 500; i++) {
      show(policy, [points[(i * i) % 5]]);
      exact.append(Float64Array.from(points[(i * i) % 5]));
    }
    const { variance } = policy.predict(points);
    const { deviation } = exact.moments(Float64Array.from(points.flat()));
    for (const [i, each] of variance.entries()) {
      expect(each / (deviation[i] * deviation[i])).toBeGreaterThan(1 - 1e-9);
      expect(each / (deviation[i] * deviation[i])).toBeLessThan(9 / 8 + 1e-9);
    }
  });

  it("loses no impression and no conversion, those of points that were given up included", async () => {
    const policy = await running(delayGpUcb({ dimension: 1, capacity: 8 }));
    const random = stream(3);
    const sizes = new Set<number>();
    const impressions = Array.from({ length: 200 }, () => {
      const [impression] = show(policy, [[random()]]);
      sizes.add(policy.statistics().length / 3);
      return impression;
    });
    // At most 8 points of all impressions. A further one reduces them to three quarters.
    expect(Math.max(...sizes)).toBe(8);
    for (const impression of impressions) policy.observe({ impression, reward: 0.5 });
    policy.observe({ impression: impressions[0], reward: 0.75, previous: 0.5 });
    // Point, count and sum of each row, first for known outcomes, then for all impressions.
    const sums = policy.statistics();
    expect(sums.length / 3).toBeLessThanOrEqual(16);
    const total = (column: number): number => sums.reduce((sum, each, i) => (i % 3 === column ? sum + each : sum), 0);
    expect(total(1)).toBe(400);
    expect(total(2)).toBe(100.25);
  });

  it("is the same in whatever order points came that share their first coordinates", async () => {
    const grid = [0, 1, 2].flatMap((a) => [0, 1].flatMap((b) => [0, 1, 2].map((c) => [a / 2, b, c / 2])));
    const random = stream(17);
    const inOrder = async (points: readonly number[][]) => {
      const policy = await running(delayGpUcb({ dimension: 3, capacity: 64 }));
      show(policy, points);
      return Array.from(policy.statistics());
    };
    // Point, count and sum of each row, points in lexicographic order. Nothing is known yet.
    const expected = grid.flatMap((point) => [...point, 1, 0]);
    for (let time = 0; time < 3; time++) {
      const order = grid.map((point) => ({ point, place: random() })).toSorted((x, y) => x.place - y.place);
      expect(await inOrder(order.map(({ point }) => point))).toEqual(expected);
    }
  });

  it("knows how noisy rewards are, those of points that were given up included", async () => {
    const noisy = await Promise.all([12, 1000].map((capacity) => running(delayGpUcb({ dimension: 1, capacity }))));
    const random = stream(11);
    const points = Array.from({ length: 64 }, () => [random()]);
    const rewards = points.map(() => (random() < 0.5 ? -1 : 1));
    for (const policy of noisy) {
      for (const [i, impression] of show(policy, points).entries()) policy.observe({ impression, reward: rewards[i] });
      show(policy, [[0.5]]);
    }
    const [bounded, exact] = noisy.map((policy) => policy.predict([[0.5]]).variance[0]);
    expect(bounded / exact).toBeGreaterThan(0.5);
    expect(bounded / exact).toBeLessThan(2);
  });

  it("stays near the exact posterior with a tenth of the rows", async () => {
    const random = stream(4);
    const [bounded, exact] = await Promise.all([30, 1000].map((capacity) => running(delayGpUcb({ dimension: 1, capacity }))));
    const points = Array.from({ length: 300 }, () => [random()]);
    for (const policy of [bounded, exact]) {
      for (const impression of show(policy, points)) policy.observe({ impression, reward: Math.sin(6 * impression.features[0]) });
    }
    const asked = at(50);
    const means = [bounded, exact].map((policy) => policy.predict(asked).mean);
    expect(largest(means[0].map((each, i) => each - means[1][i]))).toBeLessThan(0.1);
  });

  it.each([{}, { forgetting: { halfLife: 25 } }, { rewards: "bernoulli" as const, forgetting: { halfLife: 30 } }])(
    "goes on identically after a restore, fits and merges included: %j",
    async (options) => {
      const policy = delayGpUcb({ dimension: 2, capacity: 20, ...options });
      const recommender = await Recommender.create({ policy, window: { rounds: 9 } });
      const random = stream(6);
      const play = (each: Recommender, rounds: number): void => {
        for (let round = 0; round < rounds; round++) {
          const candidates = Array.from({ length: 4 }, () => ({ features: [random(), random()] }));
          const { action } = each.recommend({ candidates });
          if (random() < 0.5) each.convert({ impressionId: action.impressionId, reward: random() });
        }
      };
      play(recommender, 70);
      const copy = await Recommender.restore(recommender.snapshot(), { policies });
      const state = stream(7);
      const script = Array.from({ length: 300 }, state);
      for (const each of [recommender, copy]) {
        for (let i = 0; i + 8 < script.length; i += 9) {
          const candidates = [0, 2, 4, 6].map((j) => ({ features: script.slice(i + j, i + j + 2) }));
          each.convert({ impressionId: each.recommend({ candidates }).action.impressionId, reward: script[i + 8] });
        }
      }
      expect(copy.snapshot()).toEqual(recommender.snapshot());
    },
  );

  it("runs for ever: in no more memory, and no more bytes of a snapshot", async () => {
    const policy = delayGpUcb({ dimension: 4, contextDimension: 2, capacity: 80 });
    const recommender = await Recommender.create({ policy, window: { rounds: 20 } });
    const random = stream(8);
    const point = (): { features: number[] } => ({ features: Array.from({ length: 4 }, random) });
    const play = (rounds: number): { memory: number; snapshot: number } => {
      let snapshot = 0;
      for (let round = 1; round <= rounds; round++) {
        const { action } = recommender.recommend({ candidates: [point(), point()] });
        if (random() < 0.8) recommender.convert({ impressionId: action.impressionId, reward: random() });
        if (round % 40 === 0) snapshot = Math.max(snapshot, recommender.snapshot().length);
      }
      return { memory: recommender.memoryBytes, snapshot };
    };
    // The rows fill up first. Afterwards they are thinned out every 20 impressions.
    play(200);
    const settled = play(400);
    const later = play(400);
    expect(later.memory).toBe(settled.memory);
    expect(later.snapshot).toBeLessThan(1.1 * settled.snapshot);
  });

  it("takes less than 64 MB at its default size, full and thinned out", async () => {
    const policy = delayGpUcb({ dimension: 12, contextDimension: 6 });
    const recommender = await Recommender.create({ policy, window: { rounds: 50 } });
    const random = stream(8);
    const points = (count: number): number[][] => Array.from({ length: count }, () => Array.from({ length: 12 }, random));
    const memory = [610, 160].map((count) => {
      show(recommender.policy, points(count));
      recommender.policy.choose({ candidates: points(2).map((features) => ({ features })), round: 1000 });
      return recommender.memoryBytes;
    });
    expect(recommender.policy.statistics().length / 14).toBeGreaterThan(900);
    expect(memory[0]).toBeLessThan(64 * MEGABYTE);
    expect(memory[1]).toBe(memory[0]);
  });
});
