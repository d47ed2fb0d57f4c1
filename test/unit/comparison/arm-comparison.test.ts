import { expect, it } from "vitest";
import { compareArms, type Visitor } from "../../../comparison/arm-comparison.ts";
import { intervalHalfWidth } from "../../../comparison/confidence-sequence.ts";
import { sampleRatioEvidence } from "../../../comparison/sample-ratio.ts";
import { decisionDays } from "../../../experiments/daily-looks.ts";

const options = { window: 14, effect: 0.01, now: 30 };

/** Visitors of one impression, of which the first `converted` convert after a day. */
function visitors(count: number, converted: number): Visitor[] {
  return Array.from({ length: count }, (_, i) => [{ shownAt: 0, ...(i < converted && { convertedAt: 1 }) }]);
}

it("equals the plain rates once all windows have closed", () => {
  const { control, treatment, difference, low, high } = compareArms(visitors(1000, 50), visitors(1000, 60), options);
  expect([control, treatment]).toEqual([0.05, 0.06]);
  expect(difference).toBeCloseTo(0.01, 12);
  const half = intervalHalfWidth((0.05 * 0.95 + 0.06 * 0.94) / 1000, 0.01, 0.05);
  expect((high - low) / 2).toBeCloseTo(half, 12);
});

it("widens the interval when each visitor's impressions agree", () => {
  const doubled = (all: Visitor[]): Visitor[] => all.map((each) => [...each, ...each]);
  const once = compareArms(visitors(1000, 50), visitors(1000, 60), options);
  const twice = compareArms(doubled(visitors(1000, 50)), doubled(visitors(1000, 60)), options);
  expect(twice.high).toBeCloseTo(once.high, 12);
});

it("gives no interval for a few converted visitors", () => {
  expect(compareArms(visitors(1000, 29), visitors(1000, 90), options)).toMatchObject({ low: -Infinity, high: Infinity, decided: false });
});

it.each([
  ["window", { ...options, window: 0 }],
  ["effect", { ...options, effect: 2 }],
  ["alpha", { ...options, alpha: 1 }],
])("refuses a wrong %s", (name, wrong) => {
  expect(() => compareArms([], [], wrong)).toThrow(`${name}: expected`);
});

it("refuses a conversion before its impression", () => {
  expect(() => compareArms([[{ shownAt: 2, convertedAt: 1 }]], [], options)).toThrow("convertedAt: expected");
});

it("finds a mismatch of shares, and none in matching counts", () => {
  expect(sampleRatioEvidence([0, 0], [0.5, 0.5])).toBeCloseTo(1, 9);
  expect(sampleRatioEvidence([5050, 4950], [0.5, 0.5])).toBeLessThan(1);
  expect(sampleRatioEvidence([5300, 4700], [0.5, 0.5])).toBeGreaterThan(20);
  expect(sampleRatioEvidence([9000, 1000], [0.9, 0.1])).toBeLessThan(1);
  expect(() => sampleRatioEvidence([1, 2], [0.5, 0.6])).toThrow("shares: expected");
});

it("decides sooner than a test that waits for windows, and seldom without a difference", { timeout: 60_000 }, () => {
  const runs = Array.from({ length: 3 }, (_, i) =>
    decisionDays({ seed: `t-${i}`, lift: 0.5, perDay: 600, repeat: 0, tests: ["corrected", "waiting"] }),
  );
  const sum = (test: string): number => runs.reduce((total, run) => total + run[test], 0);
  expect(sum("corrected")).toBeLessThan(0.6 * sum("waiting"));
  const nulls = Array.from({ length: 20 }, (_, i) =>
    decisionDays({ seed: `n-${i}`, lift: 0, perDay: 150, repeat: 0.3, tests: ["corrected"] }),
  );
  expect(nulls.filter((run) => run.correctedDecided === 1).length).toBeLessThanOrEqual(3);
});
