import { delayLinTs, delayLinUcb, type PolicyDescriptor, policies, Recommender } from "afterclick";
import { describe, expect, it } from "vitest";
import { stream } from "../../../support/scenario.ts";

// The weight of an impression in the delay-aware mean.

const DIMENSION = 2;
const RATES = [0.8, 0.2];
const WINDOW = 400;

/** Plays two actions in turn, each with its own feature, with delays uniform on 0 .. 199. Returns the means after `rounds`. */
async function means(policy: PolicyDescriptor, rounds: number, seed: number): Promise<Float64Array> {
  const { policy: running } = await Recommender.create({ policy, window: { rounds: WINDOW } });
  const random = stream(seed);
  const due: (() => void)[][] = [];
  for (let round = 1; round <= rounds; round++) {
    for (const convert of due[round] ?? []) convert();
    const action = round % 2;
    const impression = running.append({ round, features: [Number(action === 0), Number(action === 1)] });
    const delay = Math.floor(random() * 200);
    if (random() >= RATES[action]) continue;
    due[round + delay + 1] ??= [];
    due[round + delay + 1].push(() => running.observe({ impression, reward: 1 }));
  }
  return running.predict([
    [1, 0],
    [0, 1],
  ]).mean;
}

/** Plays 1,500 impressions until all windows have passed. Returns the policy and the largest snapshot taken with an empty ledger. */
async function ran(dimension: number): Promise<{ policy: Recommender["policy"]; snapshot: Uint8Array }> {
  const recommender = await Recommender.create({ policy: delayLinTs({ dimension }), window: { rounds: 512 } });
  const { policy } = recommender;
  const random = stream(dimension);
  let snapshot = recommender.snapshot();
  for (let round = 1; round <= 1500; round++) {
    const impression = policy.append({ round, features: Array.from({ length: dimension }, () => random() / dimension) });
    if (random() < 0.3) policy.observe({ impression, reward: 1 });
    const now = round % 16 === 0 ? recommender.snapshot() : snapshot;
    if (now.length > snapshot.length) snapshot = now;
  }
  return { policy, snapshot };
}

const average = (values: number[]): number => values.reduce((sum, each) => sum + each, 0) / values.length;

describe("a ridge regression that knows of delays", () => {
  it("estimates what will have come, where half is still on its way", async () => {
    const options = { dimension: DIMENSION, shrinkage: "fixed" } as const;
    const estimates = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((seed) => means(delayLinUcb(options), 300, seed)));
    expect(Math.abs(average(estimates.map(([first]) => first)) - RATES[0])).toBeLessThan(0.08);
    expect(Math.abs(average(estimates.map(([, second]) => second)) - RATES[1])).toBeLessThan(0.08);
  });

  it("shrinks what tells actions apart only as far as they are alike", async () => {
    const [first, second] = await means(delayLinUcb({ dimension: DIMENSION }), 2000, 9);
    expect(Math.abs(first - RATES[0])).toBeLessThan(0.08);
    expect(Math.abs(second - RATES[1])).toBeLessThan(0.08);
  });

  it("is as wide as rewards are noisy", async () => {
    const { policy } = await Recommender.create({ policy: delayLinUcb({ dimension: 1 }), window: "none" });
    const wide = policy.choose({ candidates: [{ features: [1] }], round: 1 })[0].width;
    for (let round = 1; round <= 200; round++) {
      policy.observe({ impression: policy.append({ features: [1], round }), reward: 0.5 });
    }
    const { width } = policy.choose({ candidates: [{ features: [1] }], round: 201 })[0];
    // Two hundred impressions alone would narrow it by a factor of 45.
    expect(width).toBeLessThan(wide / 60);
  });

  it.each([
    [{ rewards: "bernoulli" }, 3400],
    [{ shrinkage: "fixed", forgetting: { halfLife: 1000 } }, 1100],
  ] as const)("goes on with few directions of the greatest features, where rounding exceeds the ridge: %o", async (options, rounds) => {
    const policy = delayLinTs({ dimension: 8, ...options });
    const recommender = await Recommender.create({ policy, window: { rounds: 500 }, seed: 1 });
    const candidates = [3, 5].map((k) => ({ features: Array.from({ length: 8 }, (_, i) => 1e6 * ((k * (i + 1) * 0.1237) % 1)) }));
    for (let round = 0; round < rounds; round++) {
      const { impressionId, score } = recommender.recommend({ candidates }).action;
      expect(score).toSatisfy(Number.isFinite);
      if (round % 3 === 0) recommender.convert({ impressionId, reward: 1 });
    }
  });

  it.each([
    [64, 150_000],
    [128, 500_000],
  ])("of %i features has a snapshot of at most %i bytes", async (dimension, most) => {
    const { policy, snapshot } = await ran(dimension);
    expect(policy.impressions).toBe(1500);
    expect(snapshot.length).toBeLessThan(most);
  });

  it.each([
    ["an expected reward", {}],
    ["log-odds, and forgetting", { rewards: "bernoulli", forgetting: { halfLife: 7 } } as const],
  ])("goes on identically from a snapshot, with so many features that its mean is not taken anew each time: %s", async (_, options) => {
    const dimension = 130;
    const random = stream(4);
    const features = (): number[] => Array.from({ length: dimension }, () => (Math.floor(random() * 4096) - 2048) / 16384);
    let saved = await Recommender.create({ policy: delayLinTs({ dimension, ...options }), window: { rounds: 30 }, seed: 2 });
    const unbroken = await Recommender.create({ policy: delayLinTs({ dimension, ...options }), window: { rounds: 30 }, seed: 2 });
    for (let round = 1; round <= 20; round++) {
      const request = { candidates: [{ features: features() }, { features: features() }, { features: features() }] };
      const decision = unbroken.recommend(request);
      expect(saved.recommend(request)).toEqual(decision);
      saved = await Recommender.restore(saved.snapshot(), { policies });
      if (round % 3 === 0) for (const each of [saved, unbroken]) each.convert({ impressionId: decision.action.impressionId, reward: 1 });
    }
    expect(saved.snapshot()).toEqual(unbroken.snapshot());
  });
});

describe("forgetting", () => {
  /** Plays 40 impressions of two actions in turn. The first ones convert at the end, after up to four halvings. */
  async function late(options: object, rewards: readonly number[]) {
    const { policy } = await Recommender.create({ policy: delayLinUcb({ dimension: 2, ...options }), window: "none" });
    const impressions = Array.from({ length: 40 }, (_, i) => policy.append({ round: i + 1, features: [i % 2, 1 - (i % 2)] }));
    for (let place = 0; place < rewards.length; place++) policy.observe({ impression: impressions[place], reward: rewards[place] });
    return { policy, impressions };
  }

  it("gives a reward the weight of its impression, however late, and takes just that back", async () => {
    const options = { forgetting: { halfLife: 10 } };
    const { policy, impressions } = await late(options, [1, 0.75, 0.5]);
    // V and B count the first ten of forty impressions with a weight of 1/16.
    expect([...policy.statistics()]).toEqual([4.6875, 0, 4.6875, 0.75 / 16, 1.5 / 16]);
    policy.observe({ impression: impressions[0], reward: 0, previous: 1 });
    policy.observe({ impression: impressions[2], reward: 0, previous: 0.5 });
    const { policy: never } = await late(options, [0, 0.75, 0]);
    expect(policy.digest()).toBe(never.digest());
  });

  it.each([delayLinUcb, delayLinTs])(
    "does not promise that order is nothing to it: halved often, sums are rounded (%#)",
    async (factory) => {
      const play = async (conversions: readonly number[]) => {
        const policy = factory({ dimension: 1, shrinkage: "fixed", forgetting: { halfLife: 1 } });
        const { policy: running } = await Recommender.create({ policy, window: "none" });
        const impressions = Array.from({ length: 60 }, (_, i) => running.append({ round: i + 1, features: [1] }));
        for (const place of conversions) running.observe({ impression: impressions[place], reward: 1 });
        return running;
      };
      const [oldest, youngest] = [await play([4, 5, 6, 59]), await play([59, 4, 5, 6])];
      expect(oldest.digest()).not.toBe(youngest.digest());
      expect(oldest.orderInvariant).toBe(false);
    },
  );

  it("changes nothing before its first half-life", async () => {
    const { policy } = await late({ forgetting: { halfLife: 41 } }, [1]);
    const { policy: without } = await late({}, [1]);
    const points = [
      [1, 0],
      [0.25, 0.5],
    ];
    expect(policy.predict(points)).toEqual(without.predict(points));
    expect(policy.digest()).toBe(without.digest());
  });

  it("refuses a half-life that is none, and what it does not know", () => {
    expect(() => delayLinTs({ dimension: 2, forgetting: { halfLife: 0 } })).toThrow(/forgetting\.halfLife/);
    expect(() => delayLinTs({ dimension: 2, forgetting: { halfLife: 1.5 } })).toThrow(/forgetting\.halfLife/);
    expect(() => delayLinTs({ dimension: 2, forgetting: { halflife: 5 } as never })).toThrow(/forgetting\.halflife/);
    expect(() => delayLinTs({ dimension: 2, forgetting: 5 as never })).toThrow(TypeError);
    expect(() => delayLinTs({ dimension: 2, rewards: "poisson" as never })).toThrow(/rewards/);
  });
});

describe("log-odds", () => {
  const DELAY = 100;
  const logOdds = ([, first, second]: readonly number[]): number => -9 + 4 * first + 2.4 * second;
  const rate = (features: readonly number[]): number => 1 / (1 + Math.exp(-logOdds(features)));

  /** Rates at points: predicted after 6,000 random impressions with delays uniform on 0 .. 199, and true. */
  async function predicted(options: object) {
    const { policy } = await Recommender.create({
      policy: delayLinTs({ dimension: 3, ...options }),
      window: { rounds: 400 },
    });
    const random = stream(5);
    const point = (): number[] => [1, 2 * random() - 0.5, 2 * random() - 0.5];
    const due: (() => void)[][] = [];
    for (let round = 1; round <= 6000; round++) {
      for (const convert of due[round] ?? []) convert();
      const features = point();
      const impression = policy.append({ round, features });
      if (random() >= rate(features)) continue;
      const at = round + 1 + Math.floor(2 * DELAY * random());
      due[at] ??= [];
      due[at].push(() => policy.observe({ impression, reward: 1 }));
    }
    const points = Array.from({ length: 400 }, point);
    const { mean, variance } = policy.predict(points);
    return { mean: [...mean], variance: [...variance], rates: points.map(rate) };
  }

  it("are chances, and right ones, where an expected reward is neither", async () => {
    const { mean, variance, rates } = await predicted({ rewards: "bernoulli" });
    expect(average(rates)).toBeLessThan(0.05);
    expect(mean.every((each) => each > 0 && each < 1)).toBe(true);
    expect(variance.every((each) => each > 0)).toBe(true);
    expect(Math.abs(average(mean) / average(rates) - 1)).toBeLessThan(0.15);
    const { mean: linear } = await predicted({});
    expect(linear.some((each) => each < 0)).toBe(true);
    const error = (means: readonly number[]): number => average(means.map((each, i) => (each - rates[i]) ** 2));
    expect(error(mean)).toBeLessThan(error(linear) / 4);
  });

  it("take fractions, and count what several goals bring as one conversion at most", async () => {
    const learnt = async (...rewards: number[]) => {
      const { policy } = await Recommender.create({ policy: delayLinTs({ dimension: 2, rewards: "bernoulli" }), window: "none" });
      const impression = policy.append({ round: 1, features: [1, 0.5] });
      rewards.forEach((reward, i) => void policy.observe({ impression, reward, ...(i > 0 && { previous: rewards[i - 1] }) }));
      return { digest: policy.digest(), mean: policy.predict([[1, 0.5]]).mean[0] };
    };
    expect(await learnt(0.25, 2.5, 0.5)).toEqual(await learnt(0.5));
    expect(await learnt(2.5)).toEqual(await learnt(1));
    expect((await learnt(0.5)).mean).toBeLessThan((await learnt(1)).mean);
  });

  it("have scores that are the mean and its bonus, or the log-odds of a draw", async () => {
    const candidates = [{ features: [1, 0.5] }, { features: [0.25, -0.5] }, { features: [-1, 1] }];
    const request = { candidates, round: 1, limit: 3 };
    const options = { dimension: 2, rewards: "bernoulli" } as const;
    const { policy: optimist } = await Recommender.create({ policy: delayLinUcb(options), window: "none" });
    // Half a reward of ten impressions, and half a unit of log-odds more.
    const prior = 1 / (1 + 19 * Math.exp(-0.5));
    for (const { score, mean, width } of optimist.choose(request)) {
      expect(mean).toBeCloseTo(prior, 12);
      expect(score).toBe(mean + width);
      expect(score).toBeLessThan(1);
    }
    const { policy: sampler } = await Recommender.create({ policy: delayLinTs(options), window: "none" });
    for (const draws of [0, 50]) {
      const [first, , last] = sampler.choose({ ...request, draws });
      expect(first.score).toBeGreaterThan(last.score);
      for (const { mean } of [first, last]) expect(mean).toBeCloseTo(prior, 12);
    }
  });

  it("tell candidates apart that are all but certain: what is chosen by a draw has a chance", async () => {
    const options = { dimension: 2, rewards: "bernoulli", exploration: 1 } as const;
    const recommender = await Recommender.create({ policy: delayLinTs(options), window: "none", seed: 3 });
    const random = stream(9);
    const leaders = new Set<number>();
    for (let round = 1; round <= 60; round++) {
      const candidates = Array.from({ length: 4 }, () => ({ features: [300 * random(), 300 * random()] }));
      const [{ index, probability }] = recommender.policy.choose({ candidates, round, draws: 50 });
      expect(probability).toBeGreaterThan(0);
      leaders.add(index);
      const { action } = recommender.recommend({ candidates });
      recommender.convert({ impressionId: action.impressionId, reward: 1 });
    }
    expect(leaders.size).toBeGreaterThan(1);
  });
});
