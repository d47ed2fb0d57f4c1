// Buckets of impressions by the time they were shown. A bucket closes as a whole. All times are milliseconds since 1970.

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export interface Timing {
  readonly windowMs: number;
  /** Time after the window in which a conversion may still be delivered. */
  readonly graceMs: number;
}

/** Length of a bucket: a quarter of the window, but at least a minute and at most an hour. */
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

/** When the bucket that holds a time closes. Conversions delivered later do not count. */
export function closesAt(shownAt: number, { windowMs, graceMs }: Timing): number {
  return bucketEnd(shownAt, windowMs) + windowMs + graceMs;
}

/** When the journal of the bucket that holds a time is audited: a day after it closes. */
export function auditedAt(shownAt: number, timing: Timing): number {
  return closesAt(shownAt, timing) + DAY_MS;
}

/** When the journal's events of the bucket expire: an hour after the audit. */
export function journalledUntil(shownAt: number, timing: Timing): number {
  return auditedAt(shownAt, timing) + HOUR_MS;
}

/** When rows of a time shown are pruned: `retentionMs` after their bucket closes. */
export function forgottenAt(shownAt: number, timing: Timing, retentionMs: number): number {
  return closesAt(shownAt, timing) + retentionMs;
}

/** Rows of impressions shown before this time are due for pruning. */
export function forgottenBefore(now: number, { windowMs, graceMs }: Timing, retentionMs: number): number {
  return bucketAt(Math.max(0, now - windowMs - graceMs - retentionMs), windowMs);
}

/** The earliest of some times. Undefined if there is none. */
export function earliest(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}
