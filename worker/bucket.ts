// Impressions are closed in buckets of the time they were shown. All times are milliseconds since 1970.

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export interface Timing {
  readonly windowMs: number;
  /** How long after its window a conversion may still be delivered. */
  readonly graceMs: number;
}

/** Length of a bucket: a quarter of the window, within a minute and an hour. */
export function bucketMs(windowMs: number): number {
  return Math.min(HOUR_MS, Math.max(MINUTE_MS, Math.floor(windowMs / 4)));
}

/** Start of the bucket that holds a time. */
export function bucketAt(shownAt: number, windowMs: number): number {
  return shownAt - (shownAt % bucketMs(windowMs));
}

/** End of the bucket that holds a time. */
export function bucketEnd(shownAt: number, windowMs: number): number {
  return bucketAt(shownAt, windowMs) + bucketMs(windowMs);
}

/** When the bucket that holds a time closes: what is delivered after that does not count. */
export function closesAt(shownAt: number, { windowMs, graceMs }: Timing): number {
  return bucketEnd(shownAt, windowMs) + windowMs + graceMs;
}

/** When what was shown at a time is forgotten: a day after its bucket closes. */
export function forgottenAt(shownAt: number, timing: Timing): number {
  return closesAt(shownAt, timing) + DAY_MS;
}

/** What was shown before it is forgotten by now. */
export function forgottenBefore(now: number, { windowMs, graceMs }: Timing): number {
  return bucketAt(Math.max(0, now - windowMs - graceMs - DAY_MS), windowMs);
}
