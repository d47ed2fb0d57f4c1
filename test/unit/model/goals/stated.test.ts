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
  it("has the nearest values in the range, and no average before the first impression", () => {
    const range = { min: 0, max: 1 };
    expect(statedInterval({ mean: -1, average: 0.25, low: 0.125, high: 4 }, range)).toEqual({
      mean: 0,
      average: 0.25,
      low: 0.125,
      high: 1,
    });
    const unknown = { mean: 0.5, average: Number.NaN, low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };
    expect(statedInterval(unknown, range)).toEqual({ mean: 0.5, average: Number.NaN, low: 0, high: 1 });
  });
});
