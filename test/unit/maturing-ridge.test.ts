import { delayLinTs, delayLinUcb, type PolicyDescriptor, policies, Recommender } from "afterclick";
import { describe, expect, it } from "vitest";
import { stream } from "../support/scenario.ts";

// What an impression counts for in a mean that knows of delays.

const DIMENSION = 2;
const RATES = [0.8, 0.2];
const WINDOW = 400;

/** Plays two actions in turn, each a feature of its own, with delays uniform on 0 .. 199; returns the means after `rounds`. */
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

/** 1,500 impressions of so many features, the window past; the greatest of their snapshots, with nothing in the ledger. */
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
    expect(width).toBeLessThan(wide / 100);
  });

  it.each([
    [64, 150_000],
    [128, 500_000],
  ])("of %i features has a snapshot of at most %i bytes", async (dimension, most) => {
    const { policy, snapshot } = await ran(dimension);
    expect(policy.impressions).toBe(1500);
    expect(snapshot.length).toBeLessThan(most);
  });

  it("goes on identically from a snapshot, with so many features that its mean is not taken anew each time", async () => {
    const dimension = 130;
    const random = stream(4);
    const features = (): number[] => Array.from({ length: dimension }, () => (Math.floor(random() * 4096) - 2048) / 16384);
    let saved = await Recommender.create({ policy: delayLinTs({ dimension }), window: { rounds: 30 }, seed: 2 });
    const unbroken = await Recommender.create({ policy: delayLinTs({ dimension }), window: { rounds: 30 }, seed: 2 });
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
