import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Cohorts } from "../../src/model/delay/cohorts.ts";

// Cohorts with a kept boundary, whatever the times of impressions and of the boundary.

const times = fc.array(fc.integer({ min: 0, max: 3000 }), { minLength: 2, maxLength: 60 });

/** Cohorts of impressions shown at `shown`, whose boundary is kept from a place in the list on, moved on to the time 4000. */
function kept(shown: readonly number[], from: number) {
  const cohorts = new Cohorts(1, Number.MAX_VALUE, 1, 1);
  let now = 0;
  for (const [i, time] of shown.entries()) {
    now = Math.max(now, time);
    cohorts.advance(now);
    if (i === from) cohorts.kept = cohorts.list[Math.floor(cohorts.list.length / 2)].start;
    const cohort = cohorts.add(time);
    if (cohort) cohort.sums[0] += time;
  }
  cohorts.advance(4000);
  return cohorts;
}

describe("a boundary that is kept", () => {
  it("parts the impressions, all of which stay in one cohort each", () => {
    fc.assert(
      fc.property(times, fc.nat(), (shown, pick) => {
        const cohorts = kept(shown, 1 + (pick % (shown.length - 1)));
        let end = Number.NEGATIVE_INFINITY;
        for (const { start, length, count, sums, elapsed } of cohorts.list) {
          expect(start).toBeGreaterThanOrEqual(end);
          end = start + length;
          expect(start < cohorts.kept && cohorts.kept < end).toBe(false);
          const own = shown.filter((time) => start <= time && time < end);
          expect([count, sums[0], start * count + elapsed]).toEqual([own.length, ...[0, 0].map(() => own.reduce((a, b) => a + b, 0))]);
        }
        expect(cohorts.list.reduce((sum, { count }) => sum + count, 0)).toBe(shown.length);
      }),
      { numRuns: 200, seed: 1 },
    );
  });

  it("leaves no trace once it is given up", () => {
    fc.assert(
      fc.property(times, fc.nat(), (shown, pick) => {
        const cohorts = kept(shown, 1 + (pick % (shown.length - 1)));
        cohorts.kept = undefined;
        cohorts.advance(4000);
        expect(cohorts.list).toEqual(kept(shown, -1).list);
      }),
      { numRuns: 200, seed: 2 },
    );
  });
});
