import type { Windows } from "../model/goals.ts";
import { bucketAt, bucketMs } from "./bucket.ts";

/** Steps of a window in which impressions are counted together. A multiple of the cohorts of a `DelayEstimate`. */
export const STEPS = 1024;
/** A comparison counts impressions as finely as the shortest window asks for, until so many of these windows have passed. */
const FINE_WINDOWS = 2;

/** Lengths of steps, in ms: for the shortest window of a goal, and for the model's. A coarse step has a whole number of fine ones. */
export function widthsOf({ window, goals }: Windows): { readonly fine: number; readonly coarse: number } {
  const shortest = Math.min(window.ms, ...Object.values(goals ?? {}).map((goal) => goal.window?.ms ?? window.ms));
  const fine = Math.max(1, Math.floor(shortest / STEPS));
  return { fine, coarse: fine * 2 ** Math.max(0, Math.floor(Math.log2(window.ms / STEPS / fine))) };
}

/** Start of the step of a bucket that holds a time. */
export function stepAt(time: number, bucket: number, width: number): number {
  return time - ((time - bucket) % width);
}

/**
 * The steps in which a comparison at a time counts impressions, however they are stored. All impressions whose windows have closed are in
 * the step 0, because their age has no meaning any more.
 */
export function comparedSteps(windows: Windows, now: number): (shownAt: number) => number {
  const { ms } = windows.window;
  const { fine, coarse } = widthsOf(windows);
  const isFineFrom = bucketAt(Math.max(0, now - FINE_WINDOWS * STEPS * fine), ms);
  return (shownAt) => {
    const bucket = bucketAt(shownAt, ms);
    if (bucket + bucketMs(ms) <= now - ms) return 0;
    return stepAt(shownAt, bucket, bucket >= isFineFrom ? fine : coarse);
  };
}
