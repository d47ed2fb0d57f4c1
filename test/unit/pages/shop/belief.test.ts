import { describe, expect, it } from "vitest";
import { errorOf, waitingBand } from "../../../../pages/shop/belief.ts";
import { clockSkew } from "../../../../pages/ui/clock-skew.ts";

describe("a recommender that waits", () => {
  it("knows nothing before a window has closed", () => {
    expect(waitingBand({ impressions: 0, converted: 0 })).toBeNull();
  });

  // statsmodels 0.14: proportion_confint(count, nobs, 0.05, "wilson"), which has 1.959964 for 1.96.
  it.each([
    [10, 1, 0.01788, 0.40415],
    [50, 35, 0.56248, 0.80905],
    [4, 0, 0, 0.48989],
    [4, 4, 0.51011, 1],
  ])("of %i closed windows with %i purchases believes %f to %f", (impressions, converted, low, high) => {
    expect(waitingBand({ impressions, converted })).toEqual([expect.closeTo(low, 3), expect.closeTo(high, 3)]);
  });
});

it("the error is the mean distance from the visitor's tastes", () => {
  const closed = { impressions: 0, converted: 0 };
  const estimate = (id: string, mean: number) => ({ id, belief: { mean }, closed });
  expect(errorOf([], "mira")).toBeNull();
  // Mira's tastes: 0.55 for the tent, 0.7 for the mug.
  expect(errorOf([estimate("tent", 0.45), estimate("mug", 1)], "mira")).toBeCloseTo(0.2, 12);
});

it("a clock is worth a word if it is off by more than two minutes", () => {
  expect([clockSkew(0), clockSkew(120_000), clockSkew(-120_000)]).toEqual(["", "", ""]);
  expect(clockSkew(3_600_000)).toBe("This device's clock is 1 h ahead of the worker's. This page does not rely on it.");
  expect(clockSkew(-3_600_000)).toBe("This device's clock is 1 h behind the worker's. This page does not rely on it.");
});
