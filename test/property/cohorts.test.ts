import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Cohorts } from "../../src/model/delay/cohorts.ts";

// Cohorts follow from the times of impressions and the latest of them, however the clock came there.

const END = 4000;
const times = fc.array(fc.integer({ min: 0, max: END }), { minLength: 1, maxLength: 80 });
const settings = fc.record({
  unit: fc.constantFrom(1, 3, 7.5),
  span: fc.constantFrom(64, 200, 1000, Number.MAX_VALUE),
  same: fc.constantFrom(1, 4),
});
type Settings = typeof settings extends fc.Arbitrary<infer Value> ? Value : never;

const cohortsOf = ({ unit, span, same }: Settings): Cohorts => new Cohorts(unit, span, 1, same, 1);

/** Counts impressions in this order. Returns what they and the passed cohorts add up to. */
function counted(cohorts: Cohorts, shown: readonly number[]): number {
  let [passed, now] = [0, 0];
  const advance = (time: number): void => {
    now = Math.max(now, time);
    for (const { sums } of cohorts.advance(now)) passed += sums.values[0];
  };
  for (const time of shown) {
    advance(time);
    const cohort = cohorts.append(time);
    if (cohort) cohort.sums.add(0, time);
    else passed += time;
  }
  advance(END);
  return passed;
}

const plain = ({ list }: Cohorts) =>
  list.map(({ start, length, count, times, sums }) => ({ start, length, count, times: times.values[0], sum: sums.values[0] }));
const check = (property: (shown: number[], setting: Settings) => void) =>
  fc.assert(fc.property(times, settings, property), { numRuns: 300 });

describe("cohorts", () => {
  it("part the impressions, each of which is in the cohort of its time", () => {
    check((shown, setting) => {
      const cohorts = cohortsOf({ ...setting, span: Number.MAX_VALUE });
      counted(cohorts, shown);
      let end = Number.NEGATIVE_INFINITY;
      for (const { start, length, count, times, sum } of plain(cohorts)) {
        expect(start).toBeGreaterThanOrEqual(end);
        end = start + length;
        const own = shown.filter((time) => start * setting.unit <= time && time < end * setting.unit);
        const total = own.reduce((a, b) => a + b, 0);
        expect([count, times, sum]).toEqual([own.length, total, total]);
      }
    });
  });

  it("are the same in any order of impressions, and whatever the clock has seen", () => {
    check((shown, setting) => {
      const expected = cohortsOf(setting);
      const passed = counted(
        expected,
        shown.toSorted((a, b) => a - b),
      );
      for (const order of [shown, shown.toReversed(), shown.toSorted((a, b) => b - a)]) {
        const cohorts = cohortsOf(setting);
        expect(counted(cohorts, order)).toBe(passed);
        expect(plain(cohorts)).toEqual(plain(expected));
      }
    });
  });

  it("of parts of the impressions add up to those of all", () => {
    check((shown, setting) => {
      const [expected, merged] = [cohortsOf(setting), cohortsOf(setting)];
      const all = counted(expected, shown);
      let passed = 0;
      for (const part of [0, 1, 2]) {
        const own = cohortsOf(setting);
        let now = 0;
        for (const time of shown.filter((_, i) => i % 3 === part)) {
          now = Math.max(now, time);
          for (const { sums } of own.advance(now)) passed += sums.values[0];
          const cohort = own.append(time);
          if (cohort) cohort.sums.add(0, time);
          else passed += time;
        }
        merged.merge(own);
      }
      for (const { sums } of merged.advance(END)) passed += sums.values[0];
      expect(passed).toBe(all);
      expect(plain(merged)).toEqual(plain(expected));
    });
  });
});
