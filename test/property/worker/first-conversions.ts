import { DelayEstimate } from "afterclick/research";
import { expect } from "vitest";
import { productGroup } from "../../../worker/domain/figures/product-group.ts";
import { type Windows, windowOf } from "../../../worker/domain/model/goals.ts";
import type { LearnerStore } from "../../../worker/learner/store/learner-store.ts";
import type { DelayCounts } from "../../../worker/rpc/model-counts.ts";

/** An impression with the delays of its goals, as a test knows it. */
export interface Converted {
  readonly shownAt: number;
  readonly action: string;
  readonly arm: DelayCounts["arm"];
  readonly delays: Readonly<Record<string, number>>;
}

/** Delays of a goal of impressions, by impression. The empty goal has the first of those with a weight. */
function firstOf(converted: readonly Converted[], goal: string, { goals }: Windows): (Omit<Converted, "delays"> & { delay: number })[] {
  return converted.flatMap(({ delays, ...impression }) => {
    const weighted = Object.entries(delays).flatMap(([name, delay]) => (goals?.[name]?.weight === 0 ? [] : [delay]));
    const own = goal === "" ? weighted : Object.hasOwn(delays, goal) ? [delays[goal]] : [];
    return own.length > 0 ? [{ ...impression, delay: Math.min(...own) }] : [];
  });
}

/** Checks that a learner has counted these first conversions, in cells that are as old as they may be. */
export function expectCounted(store: LearnerStore, converted: readonly Converted[], windows: Windows): void {
  for (const goal of ["", ...Object.keys(windows.goals ?? {})]) {
    const counted = store.delays.of(goal);
    const first = firstOf(converted, goal, windows);
    const grid = DelayEstimate.grid(windowOf(windows, goal));
    checkIntervals(counted, Math.floor(Date.now() / grid.cohort));
    const cells = new Map<string, DelayCounts>();
    for (const { shownAt, action, arm, delay } of first) {
      const place = Math.floor(shownAt / grid.cohort);
      const holding = counted.find(({ cohort, length }) => cohort <= place && place < cohort + length);
      if (!holding) throw new Error(`expected a cell of ${goal || "goals with a weight"} for an impression of ${shownAt}`);
      const { cohort, length } = holding;
      const [bin, group] = [grid.bin(delay), productGroup(action)];
      const key = `${cohort} ${bin} ${arm}`;
      const before = cells.get(key) ?? { cohort, length, bin, arm, count: 0, delay: 0, groups: {} };
      const groups = { ...before.groups, [group]: (before.groups[group] ?? 0) + 1 };
      cells.set(key, { ...before, count: before.count + 1, delay: before.delay + delay, groups });
    }
    const order = (a: DelayCounts, b: DelayCounts) => a.cohort - b.cohort || a.bin - b.bin || (a.arm < b.arm ? -1 : 1);
    expect(counted).toEqual(Array.from(cells.values()).sort(order));
    expect(store.delays.latestAt(goal)).toBe(first.length > 0 ? Math.max(...first.map(({ shownAt, delay }) => shownAt + delay)) : null);
  }
}

/** Cohorts are joined to powers of two, and no more than an estimate of the newest cohort joins them. */
function checkIntervals(counted: readonly DelayCounts[], newest: number): void {
  const intervals = Array.from(Map.groupBy(counted, ({ cohort }) => cohort).values());
  for (const [i, cells] of intervals.entries()) {
    const [{ cohort, length }] = cells;
    expect(new Set(cells.map((each) => each.length)).size).toBe(1);
    expect(Math.log2(length) % 1).toBe(0);
    expect(cohort % length).toBe(0);
    if (i > 0) expect(cohort).toBeGreaterThanOrEqual(intervals[i - 1][0].cohort + intervals[i - 1][0].length);
    if (length > 1) expect(newest - cohort - length).toBeGreaterThanOrEqual(2 * length);
  }
}
