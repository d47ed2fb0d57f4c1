import { describe, expect, it } from "vitest";
import { betaBelow, betaInterval } from "../../../src/model/beta.ts";

// Values of scipy.stats.beta.

describe("the central 95 % of a beta distribution", () => {
  it.each([
    [0.5, 5.5, 9.34206e-5, 0.3793771],
    [5.5, 0.5, 0.6206229, 0.9999066],
    [10.5, 0.5, 0.7828037, 0.9999521],
    [50.5, 0.5, 0.9512415, 0.9999902],
    [3.2, 7.9, 0.07592391, 0.5722089],
    [0.05, 12, 4.610847e-34, 0.04799862],
    [500, 0.5, 0.9949862, 0.999999],
    [25.5, 475.5, 0.03342941, 0.07175525],
    [200, 50, 0.7483238, 0.8471318],
    [61, 70, 0.3811909, 0.5511006],
    [5000, 3.5, 0.9984004, 0.9998311],
    [0.5, 50000, 9.82074e-9, 5.023785e-5],
    [40000, 30, 0.9989597, 0.9994943],
  ])("with shapes %d and %d", (a, b, low, high) => {
    const [from, to] = betaInterval(a, b);
    // A large shape is approximate to 2 % of the width.
    expect(Math.abs(from - low)).toBeLessThan(0.02 * (high - low) + 1e-7);
    expect(Math.abs(to - high)).toBeLessThan(0.02 * (high - low) + 1e-7);
    const [mirrored] = betaInterval(b, a);
    expect(mirrored).toBeCloseTo(1 - to, 6);
  });

  it("is that of scipy to six digits where both shapes are small", () => {
    const [low, high] = betaInterval(3.2, 7.9);
    expect(low).toBeCloseTo(0.07592391, 6);
    expect(high).toBeCloseTo(0.57220892, 6);
  });
});

it("the probability below a value is that of scipy", () => {
  expect(betaBelow(0.3, 2, 5)).toBeCloseTo(0.579825, 6);
  expect(betaBelow(0.5, 0.5, 0.5)).toBeCloseTo(0.5, 9);
  expect(betaBelow(0.05, 25.5, 475.5)).toBeCloseTo(0.487662, 6);
});
