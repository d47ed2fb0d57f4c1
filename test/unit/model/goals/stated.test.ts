import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LearntGoal } from "../../../../src/model/goals/goal.ts";
import { rangeOf, statedInterval } from "../../../../src/model/goals/stated.ts";

const goal = (name: string, weight: number, rest: Partial<LearntGoal> = {}): LearntGoal => {
  return { name, weight, window: { ms: 1000 }, after: undefined, delay: undefined, value: undefined, ...rest };
};

describe("the range of an expected reward", () => {
  it.each([
    [
      { min: 0, max: 1 },
      { min: 0, max: 1 },
    ],
    [
      { min: 0.5, max: 2 },
      { min: 0, max: 2 },
    ],
    [
      { min: -1, max: 3 },
      { min: -1, max: 3 },
    ],
    [
      { min: -3, max: -1 },
      { min: -3, max: 0 },
    ],
  ])("contains the reward 0 of an impression that does not convert: %o", (reward, range) => {
    expect(rangeOf(reward)).toEqual(range);
  });

  it("adds up over goals, each by its weight", () => {
    const goals = [goal("click", 0.25), goal("return", -2), goal("view", 0), goal("purchase", 3)];
    expect(rangeOf({ min: 0, max: 2 }, goals)).toEqual({ min: -4, max: 6.5 });
    expect(rangeOf({ min: -1, max: 2 }, goals)).toEqual({ min: -7.25, max: 8.5 });
  });

  it("counts a goal that another one follows as reached or not, if goals are learnt one by one", () => {
    const goals = [goal("click", 0.25), goal("purchase", 3, { after: "click" })];
    expect(rangeOf({ min: 0, max: 0.5 }, goals, true)).toEqual({ min: 0, max: 1.75 });
    expect(rangeOf({ min: 0, max: 0.5 }, goals, false)).toEqual({ min: 0, max: 1.625 });
  });

  it("has no upper end for amounts without a greatest one", () => {
    const reward = { min: 0, max: 1 };
    expect(rangeOf(reward, [goal("order", 1, { value: {} }), goal("click", -0.5)], true)).toEqual({
      min: -0.5,
      max: Number.POSITIVE_INFINITY,
    });
    expect(rangeOf(reward, [goal("order", 2, { value: { max: 100 } })], true)).toEqual({ min: 0, max: 200 });
    expect(rangeOf(reward, [goal("cost", -1, { value: {} })], true)).toEqual({ min: Number.NEGATIVE_INFINITY, max: 0 });
    expect(rangeOf(reward, [goal("order", 0, { value: {} }), goal("click", 1)], true)).toEqual(reward);
  });
});

describe("the stated interval", () => {
  const finite = (min: number, max: number) => fc.double({ min, max, noNaN: true });
  const cases = fc.record({
    mean: finite(-5, 5),
    below: finite(1e-6, 3),
    above: finite(1e-6, 3),
    ends: fc.tuple(finite(-2, -0.01), finite(0.01, 2)),
    share: finite(0, 1),
  });

  it("is inside the range, has a width, and holds every truth in the range that the posterior's interval holds", () => {
    fc.assert(
      fc.property(cases, ({ mean, below, above, ends: [min, max], share }) => {
        const [low, high] = [mean - below, mean + above];
        const own = statedInterval({ mean, low, high }, { min, max });
        expect(own.low).toBeGreaterThanOrEqual(min);
        expect(own.low).toBeLessThanOrEqual(own.mean);
        expect(own.high).toBeGreaterThanOrEqual(own.mean);
        expect(own.high).toBeLessThanOrEqual(max);
        expect(own.high).toBeGreaterThan(own.low);
        const truth = min + share * (max - min);
        if (low > truth || truth > high) return;
        // A rounding of the ends.
        expect(own.low).toBeLessThanOrEqual(truth + 1e-12);
        expect(own.high).toBeGreaterThanOrEqual(truth - 1e-12);
      }),
      { numRuns: 1000, seed: 1 },
    );
  });

  it("is the posterior's where that is inside the range", () => {
    expect(statedInterval({ mean: 0.5, low: 0.25, high: 0.625 }, { min: 0, max: 1 })).toEqual({ mean: 0.5, low: 0.25, high: 0.625 });
  });

  it("does not shrink to a point where the posterior's lies outside", () => {
    expect(statedInterval({ mean: -1, low: -1.25, high: -0.5 }, { min: 0, max: 1 })).toEqual({ mean: 0, low: 0, high: 0.5 });
    expect(statedInterval({ mean: 2, low: 1.75, high: 4 }, { min: 0, max: 1 })).toEqual({ mean: 1, low: 0.75, high: 1 });
  });
});
