import { positiveNumber } from "../src/argument.ts";
import { type DelayCurve, Delays, settingsOf } from "../src/model/delay/delays.ts";

/** Impressions and conversions from which a law is estimated, both arms together. Times have any one unit. */
export interface Observed {
  readonly steps: readonly { readonly shownAt: number; readonly impressions: number }[];
  /** First conversions within the window, several of one cohort and one delay together. */
  readonly conversions: readonly { readonly shownAt: number; readonly delay: number; readonly count: number }[];
}

/** Estimates the law of the delays within a window. **Cost:** O(steps + conversions). */
export function delayLaw({ steps, conversions }: Observed, window: number, now: number): DelayCurve {
  const delays = new Delays(settingsOf(positiveNumber("window", window)));
  delays.advance(now);
  for (const { shownAt, impressions } of steps) if (shownAt <= now && impressions > 0) delays.add(shownAt, impressions);
  delays.advance(now);
  for (const { shownAt, delay, count } of conversions) {
    // The mean time of a step may lie in the cohort beside.
    if (!delays.cohorts.find(shownAt)) delays.add(shownAt);
    delays.convert(shownAt, delay, count);
  }
  delays.advance(now);
  return delays.curve(now);
}
