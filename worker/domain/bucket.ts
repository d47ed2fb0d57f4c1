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

/** When the journal of the bucket that holds a time is audited: a day after it closes. */
export function auditedAt(shownAt: number, timing: Timing): number {
  return closesAt(shownAt, timing) + DAY_MS;
}

/** Until when the journal keeps an event: an hour beyond its audit. */
export function journalledUntil(shownAt: number, timing: Timing): number {
  return auditedAt(shownAt, timing) + HOUR_MS;
}

/** When what was shown at a time is forgotten, if that much is kept after its bucket closes. */
export function forgottenAt(shownAt: number, timing: Timing, retentionMs: number): number {
  return closesAt(shownAt, timing) + retentionMs;
}

/** What was shown before it is forgotten by now. */
export function forgottenBefore(now: number, { windowMs, graceMs }: Timing, retentionMs: number): number {
  return bucketAt(Math.max(0, now - windowMs - graceMs - retentionMs), windowMs);
}
