import { delayLinUcb, type Policy, policies, Recommender } from "afterclick";
import { describe, expect, it } from "vitest";
import { contentsOf } from "../../../support/crafted/crafted.ts";
import { stream } from "../../../support/scenario.ts";

// Features that say nothing, or the same as others, with blocks.

const RATES = [0.1, 0.5, 0.3, 0.2, 0.25, 0.15];
const EFFECTS = RATES.map(() => 1);
const NUMBERS = 30;
const ROUNDS = 2000;

const productOf = (product: number): number[] => RATES.map((_, i) => Number(i === product));
/** The constant, the product, a visitor's numbers, and the product of each of them with each product. */
const whole = (product: number, numbers: readonly number[]): number[] => [
  1,
  ...productOf(product),
  ...numbers,
  ...numbers.flatMap((number) => productOf(product).map((own) => own * number)),
];
const BLOCKS = [
  0,
  ...EFFECTS,
  ...Array.from({ length: NUMBERS }, () => 2),
  ...Array.from({ length: NUMBERS }, (_, n) => RATES.map(() => 4 + n)).flat(),
];
const small = (product: number): number[] => [1, ...productOf(product)];

/** Numbers of visitors, which say nothing about what they like. */
const visitors = (seed: number, count: number): number[][] => {
  const random = stream(seed);
  return Array.from({ length: count }, () => Array.from({ length: NUMBERS }, () => Math.floor(128 * (2 * random() - 1)) / 128));
};

/** Policies that have seen the same: with all features in blocks, with all features in one block, and with the products alone. */
async function taught(): Promise<Record<"blocks" | "one" | "small", Policy>> {
  const window = { rounds: 10 };
  const [blocks, one, few] = await Promise.all(
    [
      { dimension: BLOCKS.length, blocks: BLOCKS },
      { dimension: BLOCKS.length },
      { dimension: 1 + RATES.length, blocks: [0, ...EFFECTS] },
    ].map(async (options) => (await Recommender.create({ policy: delayLinUcb({ ...options, forgetting: null }), window })).policy),
  );
  const random = stream(7);
  for (const [i, numbers] of visitors(5, ROUNDS).entries()) {
    const product = Math.floor(RATES.length * random());
    const reward = Number(random() < RATES[product]);
    for (const policy of [blocks, one, few]) {
      const features = policy === few ? small(product) : whole(product, numbers);
      const impression = policy.append({ features, round: i + 1 });
      policy.observe({ impression, reward });
    }
  }
  return { blocks, one, small: few };
}

describe("thirty useless numbers of visitors", () => {
  const policy = taught();
  const sizeOf = (values: Float64Array): number => Math.sqrt(values.reduce((sum, each) => sum + each * each, 0) / values.length);

  it("have products with coefficients near 0 in blocks of their own, unlike in one block", async () => {
    const { blocks, one } = await policy;
    const first = 1 + RATES.length + NUMBERS;
    const units = (of: Policy): Float64Array =>
      of.predict(BLOCKS.slice(first).map((_, i) => BLOCKS.map((__, j) => Number(j === first + i)))).mean;
    const [own, alike] = [sizeOf(units(blocks)), sizeOf(units(one))];
    expect(own).toBeLessThan(0.015);
    expect(own).toBeLessThan(0.6 * alike);
  });

  it("leave predictions and decisions near those of the policy without them", async () => {
    const { blocks, one, small: few } = await policy;
    const errors = { blocks: 0, one: 0 };
    let same = 0;
    const met = visitors(9, 200);
    for (const numbers of met) {
      const points = RATES.map((_, product) => whole(product, numbers));
      const expected = few.predict(RATES.map((_, product) => small(product))).mean;
      for (const [name, own] of [["blocks", blocks], ["one", one]] as const) // biome-ignore format: one line
        for (const [i, mean] of own.predict(points).mean.entries()) errors[name] += (mean - expected[i]) ** 2 / (RATES.length * met.length);
      const decided = blocks.choose({ candidates: points.map((features) => ({ features })), round: ROUNDS + 1 });
      same += Number(decided[0].index === 1);
    }
    expect(Math.sqrt(errors.blocks)).toBeLessThan(0.06);
    expect(errors.blocks).toBeLessThan(errors.one / 2);
    expect(same).toBeGreaterThan(0.97 * met.length);
  });
});

describe.each([
  ["the constant twice", [0, ...EFFECTS, 2], (own: number[]) => [1, ...own, 1]],
  ["a feature that is always 1, without a constant", [...EFFECTS, 2], (own: number[]) => [...own, 1]],
  ["a feature that equals another", [0, ...EFFECTS, 4], (own: number[]) => [1, ...own, own[1]]],
  ["a feature that equals another of its block", [0, ...EFFECTS, 1], (own: number[]) => [1, ...own, own[1]]],
  ["a feature that is always 0, and an interaction that is", [0, ...EFFECTS, 2, 255], (own: number[]) => [1, ...own, 0, 0]],
  ["features that are all shrunk interactions", [3, 4, 5, 3, 4, 5], (own: number[]) => own],
])("of %s", (_, blocks, features) => {
  it.each(["linear", "bernoulli"] as const)("the predictions of a policy are right, and all its numbers finite: %s", async (rewards) => {
    const options = { dimension: blocks.length, blocks, rewards, shrinkage: "evidence", forgetting: null } as const;
    const recommender = await Recommender.create({ policy: delayLinUcb(options), window: { rounds: 10 } });
    const random = stream(11);
    const [shown, converted] = [RATES.map(() => 0), RATES.map(() => 0)];
    for (let i = 0; i < 1800; i++) {
      const product = Math.floor(RATES.length * random());
      const impressionId = `${i}`;
      recommender.register({ impressionId, features: features(productOf(product)) });
      shown[product]++;
      if (random() < RATES[product] && ++converted[product]) recommender.convert({ impressionId, reward: 1 });
    }
    const points = RATES.map((__, product) => features(productOf(product)));
    const { mean, variance } = recommender.policy.predict(points);
    for (const product of RATES.keys()) {
      expect(Math.abs(mean[product] - converted[product] / shown[product])).toBeLessThan(0.05);
      expect(variance[product]).toBeGreaterThan(0);
      expect(variance[product]).toBeLessThan(0.05);
    }
    const candidates = points.map((each) => ({ features: each }));
    for (const { width, score } of recommender.policy.choose({ candidates, round: 1801, limit: RATES.length }))
      expect([width, score].every(Number.isFinite)).toBe(true);
    const bytes = recommender.snapshot();
    expect((await Recommender.restore(bytes, { policies })).snapshot()).toEqual(bytes);
    recommender.policy.refactor();
    expect(recommender.policy.predict(points).mean.every(Number.isFinite)).toBe(true);
    // No ridge is infinite, and no sum: Infinity would be in the snapshot.
    expect(
      contentsOf(bytes)
        .sections.flatMap((each) => (typeof each === "string" ? [] : each))
        .every(Number.isFinite),
    ).toBe(true);
  });
});
