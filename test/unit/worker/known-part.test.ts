import { DelayEstimate } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { type Cohort, closedAt, type History, knownAt, type Part, partOf } from "../../../worker/learner/figures/known-part.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WINDOW_MS = 8 * DAY_MS;
const UNIT_MS = DelayEstimate.grid(WINDOW_MS).cohort;

/** Ten impressions each hour of some days. */
function historyOf(days: number): History {
  const shown = Array.from({ length: 24 * days }, (_, hour): Cohort => {
    const [step, impressions] = [hour * HOUR_MS, 10];
    return { step, shownAt: step, impressions, elapsed: 0, observed: 0, converted: 0, groups: { 1: impressions } };
  });
  return { shown, earlier: {}, windowMs: WINDOW_MS, now: days * DAY_MS };
}

/** A part with a conversion in each of some cells. Times are in days. */
function part(cells: readonly { readonly shown: number; readonly long: number; readonly delay: number }[]): Part {
  const delays = cells.map(({ shown, long, delay }) => {
    const [cohort, length] = [(shown * DAY_MS) / UNIT_MS, (long * DAY_MS) / UNIT_MS];
    return { cohort, length, bin: 0, arm: "policy" as const, count: 1, delay: delay * DAY_MS, groups: { 1: 1 } };
  });
  const latestAt = Math.max(...cells.map(({ shown, long, delay }) => (shown + long + delay) * DAY_MS));
  return partOf({ delays, latestAt, arrivedAt: latestAt, arrivals: [], reports: [], quarters: {} }, WINDOW_MS);
}

const countOf = ({ shown }: History): number => shown.reduce((sum, { impressions }) => sum + impressions, 0);

it("what is known at a time is without later impressions and conversions", () => {
  const { history, part: own } = knownAt(
    historyOf(20),
    part([
      { shown: 2, long: 1, delay: 1 },
      { shown: 18, long: 1, delay: 1 },
    ]),
    18 * DAY_MS,
  );
  expect([countOf(history), own.conversions.length, own.latestAt]).toEqual([10 * (18 * 24 + 1), 1, 18 * DAY_MS]);
});

describe("the part whose windows have closed", () => {
  it("ends before a cell of which some windows are open", () => {
    const cells = [
      { shown: 10, long: 1, delay: 1 },
      { shown: 11, long: 2, delay: 7 },
      { shown: 13, long: 1, delay: 1 },
    ];
    const { history, part: own, missingMs } = closedAt(historyOf(20), part(cells), 20 * DAY_MS);
    expect([countOf(history), own.conversions.length, missingMs]).toEqual([10 * (11 * 24 + 1), 1, 0]);
    expect(own.windowMs).toBe(WINDOW_MS);
  });

  it("is of half the window while it is of less than a day, or of a quarter", () => {
    const cells = [
      { shown: 0, long: 0.5, delay: 3 },
      { shown: 0.5, long: 0.5, delay: 5 },
    ];
    const of = (days: number) => {
      const { part: own, missingMs } = closedAt(historyOf(days), part(cells), days * DAY_MS);
      return [own.windowMs / WINDOW_MS, own.conversions.length, missingMs / DAY_MS];
    };
    expect(of(9)).toEqual([1, 2, 6]);
    expect(of(8)).toEqual([0.5, 1, 7]);
    expect(of(3)).toEqual([0.25, 0, 12]);
  });

  it("is of all earlier impressions in an old model", () => {
    const old = { ...historyOf(9), earlier: { 1: 100 } };
    expect(closedAt(old, part([{ shown: 0.5, long: 0.25, delay: 5 }]), 9 * DAY_MS)).toMatchObject({
      missingMs: 0,
      part: { windowMs: WINDOW_MS },
    });
  });
});
