import { describe, expect, it } from "vitest";
import { Cohorts } from "../../../../src/model/delay/cohorts.ts";
import { Decays } from "../../../../src/model/delay/decays.ts";

const UNIT = 8;

/** Cohorts of impressions at each time from 0 on, and the weight of each impression. */
function decayed(count: number, every: number, factor: number) {
  const [cohorts, decays, weights] = [new Cohorts(UNIT, Number.MAX_VALUE, 0), new Decays(), [] as number[]];
  for (let time = 0; time < count; time++) {
    cohorts.append(time);
    weights.push(1);
    if (time % every < every - 1) continue;
    decays.add(time + 1, factor);
    for (let i = 0; i < weights.length; i++) weights[i] *= factor;
  }
  cohorts.advance(count);
  return { cohorts, decays, weights, now: count };
}

const total = (weights: readonly number[]): number => weights.reduce((sum, each) => sum + each, 0);

describe("what the impressions of a cohort still weigh", () => {
  it.each([
    [100, 7, 1 / 2],
    [100, 1, 1 / 2],
    [333, 50, 0.9],
    [64, 64, 1 / 2],
    [50, 60, 1 / 2],
  ])("is their mean weight, of %d impressions with a decay after each %d by %d", (count, every, factor) => {
    const { cohorts, decays, weights, now } = decayed(count, every, factor);
    expect(cohorts.list.length).toBeGreaterThan(1);
    for (const cohort of cohorts.list) {
      const own = weights.slice(cohort.start * UNIT, (cohort.start + cohort.length) * UNIT);
      expect(decays.weightOf(cohort, cohorts, now)).toBeCloseTo(total(own) / own.length, 12);
    }
  });

  it("is 1 before any decay", () => {
    const { cohorts, decays, now } = decayed(50, 60, 1 / 2);
    expect(decays.isEmpty).toBe(true);
    expect(decays.weightOf(cohorts.list[0], cohorts, now)).toBe(1);
  });

  it("keeps no more decays than impressions feel", () => {
    const { decays } = decayed(5000, 1, 1 / 2);
    expect(decays.numbers().length).toBeLessThan(2 * 70);
    expect(decays.numbers().at(-2)).toBe(5000);
  });
});

describe("decays", () => {
  it("of one time are one, by the product of their factors", () => {
    const decays = new Decays();
    for (const factor of [1 / 2, 1 / 4]) decays.add(3, factor);
    expect(decays.numbers()).toEqual([3, 1 / 8]);
  });

  it("are restored from their numbers, and refuse what none have", () => {
    const { cohorts, decays, now } = decayed(100, 7, 1 / 2);
    const restored = new Decays();
    restored.load(decays.numbers());
    for (const cohort of cohorts.list) expect(restored.weightOf(cohort, cohorts, now)).toBe(decays.weightOf(cohort, cohorts, now));
    for (const wrong of [[1], [1, 0], [1, 1], [1, Number.NaN], [2, 0.5, 1, 0.5], [Number.NaN, 0.5, 1, 0.5], [1, 0.5, 1, 0.5]])
      expect(() => new Decays().load(wrong)).toThrow("do not fit together");
  });
});
