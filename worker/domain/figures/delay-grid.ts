import { DelayEstimate, type DelayGrid } from "afterclick/research";
import { type Windows, windowOf } from "../model/goals.ts";

/** The cells in which first conversions of a goal are counted. The empty goal has the first of whichever goal. */
export function gridOf(windows: Windows, goal: string): DelayGrid {
  return DelayEstimate.grid(windowOf(windows, goal));
}

/** Cohorts of a grid that are counted together: a power of two, at a multiple of it. */
export interface Interval {
  readonly cohort: number;
  readonly length: number;
}

/** The interval that an interval has grown to when a cohort is the newest: twice as old as long, as the cohorts of a `DelayEstimate`. */
export function grownAt(newest: number, { cohort, length }: Interval): Interval {
  let own = length;
  const start = (of: number) => Math.floor(cohort / of) * of;
  while (newest >= start(2 * own) + 6 * own) own *= 2;
  return { cohort: start(own), length: own };
}
