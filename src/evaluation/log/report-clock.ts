// Ages and delays of a log. Where events become known at one time of the day, both are numbers of reports.

import { reportTimeOf } from "../../values/report-time.ts";

const QUARTER_MS = 900_000;
const DAY_MS = 86_400_000;

/** Measures ages and delays, in ms. */
export interface Clock {
  /** For how long an impression has been followed. */
  age(shownAt: number): number;
  /** The delay of an event of an impression, from the time until it was known. */
  delay(shownAt: number, knownAfter: number): number;
}

/**
 * The clock of the events of a goal.
 *
 * With a report a day, delays depend on the hour of the impression, and no law by age tells what is still to come. Impressions between two
 * reports have all been followed for the same number of reports. Their law by this number is the same each day, so right truncation is exact.
 *
 * @param knownAt when each event became known.
 * @param shown when each impression was shown.
 */
export function clockOf(knownAt: readonly number[], shown: Float64Array, asOf: number): Clock {
  const quarters: Record<number, number> = {};
  for (const time of knownAt) {
    const quarter = Math.floor(time / QUARTER_MS);
    quarters[quarter] = (quarters[quarter] ?? 0) + 1;
  }
  const reportTime = reportTimeOf(quarters, each(shown));
  if (reportTime === null) return { age: (shownAt) => asOf - shownAt, delay: (_, knownAfter) => knownAfter };
  // Reports may come a little before and after a full quarter.
  const reports = (time: number): number => Math.floor((time - reportTime + QUARTER_MS) / DAY_MS);
  const last = knownAt.reduce((most, time) => Math.max(most, reports(time)), 0);
  return {
    age: (shownAt) => Math.max(last - reports(shownAt), 0) * DAY_MS,
    delay: (shownAt, knownAfter) => (reports(shownAt + knownAfter) - reports(shownAt)) * DAY_MS,
  };
}

/** Made one by one: a log may have millions. */
function* each(shown: Float64Array): Generator<{ readonly shownAt: number; readonly impressions: number }> {
  for (const shownAt of shown) yield { shownAt, impressions: 1 };
}
