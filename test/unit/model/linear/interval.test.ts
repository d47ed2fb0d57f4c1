import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { betaInterval } from "../../../../src/model/beta.ts";
import type { Brought } from "../../../../src/model/delay/own-laws.ts";
import { ProductAverages } from "../../../../src/model/linear/interval.ts";
import { stream } from "../../../support/scenario.ts";

const RATES = { min: 0, max: 1 };
const sold = (conversions: number, impressions: number, reward = 1): Brought => {
  return { impressions, conversions, lawful: conversions, rewards: reward * conversions, squares: reward * reward * conversions };
};
const averages = (products: readonly Brought[], error = 0, range = RATES) => new ProductAverages(new Map(products.entries()), error, range);

describe("the average of a product", () => {
  it("has Jeffreys' interval for rewards of 0 and 1", () => {
    const { average, low, high } = averages([sold(2, 40)]).average(0);
    expect([average, low, high]).toEqual([0.05, ...betaInterval(2.5, 38.5).map((each) => expect.closeTo(each, 12))]);
    expect(averages([sold(0, 40)]).average(0)).toMatchObject({ average: 0, low: 0, high: expect.closeTo(0.0605, 4) });
    expect(averages([sold(40, 40)]).average(0)).toMatchObject({ average: 1, high: 1 });
  });

  it("is unknown before the first impression", () => {
    for (const key of [-1, 3]) expect(averages([sold(1, 9)]).average(key)).toEqual({ average: Number.NaN, low: 0, high: 1 });
  });

  const products = fc.array(
    fc.record({
      impressions: fc.double({ min: 0, max: 1e7, noNaN: true }),
      conversions: fc.nat(1000),
      reward: fc.double({ min: 2 ** -12, max: 1, noNaN: true }),
    }),
    { minLength: 1, maxLength: 4 },
  );

  it("is in its interval, which has a width inside the range and narrows with data", () => {
    fc.assert(
      fc.property(products, fc.double({ min: 0, max: 1, noNaN: true }), (all, error) => {
        const of = (times: number) =>
          averages(
            all.map((each) => sold(times * each.conversions, times * each.impressions, each.reward)),
            error,
          );
        for (const key of all.keys()) {
          const { average, low, high } = of(1).average(key);
          expect([0 <= low, low < high, high <= 1]).toEqual([true, true, true]);
          if (Number.isNaN(average)) return;
          expect([low <= average, average <= high]).toEqual([true, true]);
          const more = of(4).average(key);
          expect(more.high - more.low).toBeLessThanOrEqual((high - low) * (1 + 1e-6));
        }
      }),
      { seed: 1 },
    );
  });

  it("grows with the error of the matured share, in proportion to the average", () => {
    const [sure, unsure] = [0, 0.5].map((error) => averages([sold(1e8, 1e9)], error).average(0));
    expect(sure.high - sure.low).toBeLessThan(1e-4);
    expect(unsure.high - unsure.average).toBeCloseTo(1.96 * 0.5 * 0.1, 3);
  });

  it("scales with the size of rewards", () => {
    const own = averages([sold(5, 50)], 0.1).average(0);
    const euros = averages([sold(5, 50, 60)], 0.1, { min: 0, max: 60 }).average(0);
    for (const key of ["average", "low", "high"] as const) expect(euros[key]).toBeCloseTo(60 * own[key], 9);
  });

  it("takes a product of few conversions to have the size of all, if that is greater", () => {
    const range = { min: 0, max: Number.POSITIVE_INFINITY };
    const [few, many] = [1, 40].map((count) => averages([sold(count, 20 * count, 10), sold(100, 2000, 100)], 0, range).average(0));
    expect(few.high).toBeGreaterThan(100 * betaInterval(0.6, 20.4)[1] * 0.9);
    expect(many.high).toBeLessThan(1);
  });

  it("is normal if rewards may be negative", () => {
    const { average, low, high } = averages([{ impressions: 1000, conversions: 90, lawful: 90, rewards: 30, squares: 90 }], 0, {
      min: -1,
      max: 1,
    }).average(0);
    expect(average).toBe(0.03);
    expect(high - average).toBeCloseTo((1.96 * Math.sqrt(90.5)) / 1000, 5);
    expect(average - low).toBeCloseTo(high - average, 12);
  });
});

describe("the mean amount of a product", () => {
  it("needs ten amounts, and is in its interval", () => {
    const of = (count: number) => averages([sold(count, count, 60)], 0, { min: 0, max: Number.POSITIVE_INFINITY }).amount(0);
    expect(of(9)).toEqual({ average: 60, low: 0, high: Number.POSITIVE_INFINITY });
    const { low, high } = of(10);
    expect([low > 40, low < 60, high > 60, high < 90]).toEqual([true, true, true, true]);
  });

  it.each([0.5, 1])("of 30 log-normal amounts of sigma %s is in its interval in 88 to 99 of 100 shops", (sigma) => {
    const random = stream(7);
    let held = 0;
    for (let shop = 0; shop < 400; shop++) {
      const amounts = Array.from({ length: 30 }, () => Math.exp(sigma * normal(random) - sigma ** 2 / 2));
      const [rewards, squares] = [1, 2].map((power) => amounts.reduce((sum, each) => sum + each ** power, 0));
      const { low, high } = averages([{ impressions: 30, conversions: 30, lawful: 30, rewards, squares }], 0, RATES).amount(0);
      held += Number(low <= 1 && 1 <= high);
    }
    expect(held).toBeGreaterThan(352);
    expect(held).toBeLessThan(396);
  });
});

const normal = (random: () => number): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
