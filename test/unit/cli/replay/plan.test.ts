import { describe, expect, it } from "vitest";
import { Comparison } from "../../../../cli/replay/comparison.ts";
import type { LoggedRow } from "../../../../cli/replay/open-bandit.ts";
import { conversionDelay, type Plan, repeatDelay, shuffled } from "../../../../cli/replay/plan.ts";

// The laws of the simulated conversions, and the report that compares choices.

// Delays in windows: exponential with mean 0.15, cut at 0.8. Late conversions come 0.02 to 0.15 after the window.
const plan: Plan = { seed: 3, rate: 1, windowMs: 1_000_000 };
const delaysOf = (of: Plan) => Array.from({ length: 20_000 }, (_, index) => conversionDelay(of, { index, clicked: false }));
const delays = delaysOf(plan).map((delay) => (delay as number) / plan.windowMs);
const timely = delays.filter((delay) => delay <= 1);
const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

it("is the same for the same seed, another for another", () => {
  expect(delaysOf(plan)).toEqual(delaysOf({ ...plan }));
  expect(delaysOf(plan)).not.toEqual(delaysOf({ ...plan, seed: 2 }));
});

it("converts the asked share of the rows, and every clicked one", () => {
  const converted = delaysOf({ ...plan, rate: 0.1 }).filter((delay) => delay !== undefined);
  // Four standard deviations of a binomial.
  expect(Math.abs(converted.length - 2000)).toBeLessThan(170);
  expect(conversionDelay({ ...plan, rate: 0 }, { index: 3, clicked: true })).toBeGreaterThanOrEqual(0);
  expect(conversionDelay({ ...plan, rate: 0 }, { index: 3, clicked: false })).toBeUndefined();
});

it("delays conversions by the exponential law, cut at its end", () => {
  // Mean of the exponential law cut at 0.8, with four standard errors on either side.
  const expected = 0.15 - (0.8 * Math.exp(-0.8 / 0.15)) / (1 - Math.exp(-0.8 / 0.15));
  expect(Math.abs(mean(timely) - expected)).toBeLessThan((4 * 0.15) / Math.sqrt(timely.length));
  expect(Math.max(...timely)).toBeLessThanOrEqual(0.8);
  expect(Math.max(...timely)).toBeGreaterThan(0.7);
  expect(timely.filter((delay) => delay > 0.15 * Math.LN2).length / timely.length).toBeCloseTo(0.5, 1);
});

it("has a twentieth come late, uniformly between 0.02 and 0.15 windows after their window", () => {
  const late = delays.filter((delay) => delay > 1).map((delay) => delay - 1);
  expect(late.length / delays.length).toBeCloseTo(0.05, 2);
  expect(Math.min(...late)).toBeGreaterThanOrEqual(0.02);
  expect(Math.min(...late)).toBeLessThan(0.025);
  expect(Math.max(...late)).toBeLessThanOrEqual(0.15 + 1 / plan.windowMs);
  expect(mean(late)).toBeCloseTo(0.085, 2);
});

it("sends a tenth of the webhooks again, uniformly within 0.15 windows", () => {
  const repeats = Array.from({ length: 20_000 }, (_, i) => repeatDelay(plan, i)).filter((delay) => delay !== undefined);
  expect(Math.abs(repeats.length - 2000)).toBeLessThan(170);
  expect(Math.max(...repeats)).toBeLessThan(0.15 * plan.windowMs);
  expect(mean(repeats) / plan.windowMs).toBeCloseTo(0.075, 2);
});

it("shuffles without losing anything", () => {
  const entries = Array.from({ length: 50 }, (_, i) => i);
  const order = shuffled(plan, entries, (entry) => entry);
  expect(order).not.toEqual(entries);
  expect(order.toSorted((a, b) => a - b)).toEqual(entries);
});

describe("the comparison", () => {
  const row = (item: string, clicked = false) => ({ item, clicked }) as LoggedRow;

  it("counts rows, agreement and clicks, and names what was chosen most first", () => {
    const comparison = new Comparison();
    for (const [logged, chosen, clicked] of [
      ...([
        ["a", "a", true],
        ["a", "b", true],
        ["b", "b", false],
        ["c", "b", false],
      ] as const),
      ...([
        ["a", "a", false],
        ["c", "b", false],
        ["d", "c", false],
        ["d", "c", true],
      ] as const),
    ]) {
      comparison.count(row(logged, clicked), chosen);
    }
    expect(comparison.rows).toBe(8);
    expect(comparison.report(4).slice(0, 3)).toEqual([
      "chosen as logged  3 of 8 rows, 37.5% (by chance 25.0%)",
      "chosen most       item b 50.0%, item a 25.0%, item c 25.0%",
      "clicks logged     37.5% of all rows; 1 of 3, 33.33%, where the choice agreed",
    ]);
  });

  it("says that there is no share of nothing, and names five items at most", () => {
    const comparison = new Comparison();
    expect(comparison.report(2)[0]).toBe("chosen as logged  0 of 0 rows, none (by chance 50.0%)");
    for (const item of ["a", "b", "c", "d", "e", "f"]) comparison.count(row("x"), item);
    const [, most, clicks] = comparison.report(6);
    expect(most.match(/item \w/g)).toHaveLength(5);
    expect(clicks).toContain("0 of 0, none, where");
  });
});
