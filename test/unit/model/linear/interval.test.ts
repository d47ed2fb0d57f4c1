import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { intervalOf } from "../../../../src/model/linear/interval.ts";

const rates = { min: 0, max: 1, size: 1, variance: 0.05 };
const binomial = (conversions: number, impressions: number) =>
  intervalOf({ mean: conversions / impressions, impressions, maturityError: 0 }, rates);

/** P(k conversions of n impressions), for each k. */
function probabilities(n: number, rate: number): number[] {
  let own = (1 - rate) ** n;
  return Array.from({ length: n + 1 }, (_, k) => {
    if (k > 0) own *= ((n - k + 1) / k) * (rate / (1 - rate));
    return own;
  });
}

describe("the interval of an expected reward", () => {
  it("is Wilson's for rewards of 0 and 1", () => {
    const { mean, low, high } = binomial(2, 40);
    expect(mean).toBe(0.05);
    expect(low).toBeCloseTo(0.0138207, 7);
    expect(high).toBeCloseTo(0.1650388, 7);
    expect(binomial(0, 40).low).toBe(0);
    expect(binomial(40, 40).high).toBe(1);
  });

  it.each([20, 50, 200, 1000])("holds rates of 3 to 50 %% in at least 90 %% of cases, after %i impressions", (n) => {
    for (const rate of [0.03, 0.1, 0.3, 0.5]) {
      const chances = probabilities(n, rate);
      const held = chances.reduce((sum, chance, k) => {
        const { low, high } = binomial(k, n);
        return low <= rate && rate <= high ? sum + chance : sum;
      }, 0);
      expect(held).toBeGreaterThan(0.9);
    }
  });

  it("holds its mean, and stays inside the range of rewards", () => {
    const evidence = fc.record({
      mean: fc.double({ min: -2, max: 2, noNaN: true }),
      impressions: fc.double({ min: 1e-3, max: 1e9, noNaN: true }),
      maturityError: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(evidence, (known) => {
        const { mean, low, high } = intervalOf(known, rates);
        expect(mean).toBe(Math.min(Math.max(known.mean, 0), 1));
        expect(low).toBeGreaterThanOrEqual(0);
        expect(high).toBeLessThanOrEqual(1);
        expect(low).toBeLessThanOrEqual(mean);
        expect(high).toBeGreaterThanOrEqual(mean);
      }),
    );
  });

  it("grows with the error of the matured share, in proportion to the mean", () => {
    const [sure, unsure] = [0, 0.5].map((maturityError) => intervalOf({ mean: 0.1, impressions: 1e9, maturityError }, rates));
    expect(sure.high - sure.low).toBeLessThan(1e-4);
    expect(unsure.high - unsure.mean).toBeCloseTo(1.96 * 0.5 * 0.1, 3);
  });

  it("scales with the size of rewards", () => {
    const own = intervalOf({ mean: 0.1, impressions: 50, maturityError: 0.1 }, rates);
    const euros = intervalOf({ mean: 6, impressions: 50, maturityError: 0.1 }, { min: 0, max: 60, size: 60, variance: 180 });
    for (const key of ["mean", "low", "high"] as const) expect(euros[key]).toBeCloseTo(60 * own[key], 12);
  });

  it("is normal where a mean is beyond the typical reward, or rewards may be negative", () => {
    const sums = { min: -5, max: 5, size: 2, variance: 4 };
    for (const mean of [-1, 3]) {
      const { low, high } = intervalOf({ mean, impressions: 100, maturityError: 0 }, sums);
      expect(high - mean).toBeCloseTo(1.96 * 0.2, 3);
      expect(mean - low).toBeCloseTo(high - mean, 12);
    }
  });
});
