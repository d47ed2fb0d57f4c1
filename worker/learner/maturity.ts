import { DelayEstimate } from "afterclick";
import { bucketAt } from "../domain/bucket.ts";
import { shownAtOf } from "../domain/token.ts";
import type { Bar } from "./metrics.ts";
import type { ShownImpression } from "./store/impression-store.ts";
import type { LearnerStore } from "./store/learner-store.ts";

/** How many of the conversions that come at all have come after some time, and who else still converts then. */
export interface DelayPoint {
  readonly delayMs: number;
  /** P(delay < delayMs), and its band: each of its points is right in 95 % of cases. */
  readonly probability: number;
  readonly low: number;
  readonly high: number;
  /** Chance that an impression of this age that has not converted still does. */
  readonly stillConverts: number;
}

/** How late conversions come, as `DelayEstimate` estimates it. Of a conversion that comes after the window nothing can be known. */
export interface DelayMetrics {
  /** What it is estimated from: what the log holds, of all arms. */
  readonly impressions: number;
  readonly conversions: number;
  /** Share of impressions that have converted, and share that will have, once all have had their time. */
  readonly rateSoFar: number;
  readonly rate: number;
  /** Conversions still to come, of all that was shown. */
  readonly toCome: number;
  /** The window that would catch 95 % of the conversions that this one catches. */
  readonly window95Ms: number;
  /** Delays that grow, the last one the window; at most forty. */
  readonly distribution: readonly DelayPoint[];
  /** Whether conversions have stopped coming. */
  readonly silence: {
    /** When the last one arrived, whenever it happened; ms since 1970. */
    readonly since: number;
    /** Conversions that should have come since, and the chance that none of them did, if all is well. */
    readonly expected: number;
    readonly chance: number;
    /** Whether that is too small to believe: conversions no longer get through. */
    readonly alarm: boolean;
  };
}

/** What has come of impressions by now, and what may still come. */
export interface Maturity {
  /** Pending impressions by age, over the window. */
  readonly pendingByAge: readonly Bar[];
  /** How late conversions come; null before the first. */
  readonly delay: DelayMetrics | null;
}

const AGES = 24;
/** What a page can draw. */
const POINTS = 40;
/** After so many windows an impression counts as matured to a `DelayEstimate`, whenever it was shown. */
const SETTLED = 3;

/**
 * Reads what is pending, and estimates how late conversions come.
 *
 * Nothing is kept for it but when a conversion arrived last: it is made from the rows whenever it is asked for. So it is right after
 * a restart, a rollback, an erasure or a repeated delivery as a matter of course, it forgets what the log forgets, and it costs those
 * who register and convert nothing. Delays are by the time that events state. The silence is by the learner's clock: an old
 * conversion that gets through ends it, and of what isolates have not registered yet nothing is expected.
 *
 * **Cost:** linear in open impressions and in the conversions that the log holds. Of older buckets, whose windows had passed when
 * the latest conversion happened, sums are enough: all had come of them.
 */
export function maturity(store: LearnerStore, windowMs: number, now: number): Maturity {
  const conversions = conversionsOf(store);
  const last = conversions.reduce((latest, { at }) => Math.max(latest, at), 0);
  const from = Math.min(store.watermark, bucketAt(Math.max(last, now - (SETTLED - 1) * windowMs) - windowMs, windowMs));
  const shown = store.impressions.shownSince(from);
  return {
    pendingByAge: pendingByAge(shown, windowMs, now),
    delay: conversions.length === 0 ? null : delayOf(store, { from, shown, conversions }, windowMs, now),
  };
}

function pendingByAge(shown: readonly ShownImpression[], windowMs: number, now: number): Bar[] {
  const counts = new Array<number>(AGES).fill(0);
  for (const { shownAt, pending } of shown) {
    if (!pending || now - shownAt > windowMs) continue;
    counts[Math.min(AGES - 1, Math.max(0, Math.floor(((now - shownAt) * AGES) / windowMs)))]++;
  }
  return counts.map((count, i) => ({ fromMs: (i * windowMs) / AGES, toMs: ((i + 1) * windowMs) / AGES, count }));
}

/** What was shown from a time on, and everything that has converted. */
interface History {
  readonly from: number;
  readonly shown: readonly ShownImpression[];
  readonly conversions: readonly Conversion[];
}

function delayOf(store: LearnerStore, history: History, windowMs: number, now: number): DelayMetrics {
  const { shown, conversions } = history;
  const estimate = new DelayEstimate({ window: windowMs });
  const impressions = shown.length + showEarlier(estimate, store, history, windowMs);
  for (const { shownAt } of shown) estimate.show(shownAt);
  for (const conversion of conversions) estimate.convert(conversion);
  const toCome = estimate.toCome(now);
  const since = store.heardAt ?? now;
  return {
    impressions,
    conversions: conversions.length,
    rateSoFar: conversions.length / impressions,
    rate: estimate.rate(),
    toCome,
    window95Ms: estimate.quantile(),
    distribution: pointsOf(estimate, windowMs),
    silence: { since, ...estimate.silence(now, since) },
  };
}

/** The first of an impression. */
interface Conversion {
  readonly shownAt: number;
  readonly at: number;
}

/** Of each impression that has converted, and not taken all back, when it did first. */
function conversionsOf(store: LearnerStore): Conversion[] {
  const rows = store.sql.exec<{ id: string; at: number }>(
    `SELECT i.id, min(c.at) AS at FROM conversions c JOIN impressions i ON i.id = c.impression
     WHERE c.status IN ('applied', 'conflict') AND c.reward IS NOT NULL AND i.converted = 1
     GROUP BY c.impression ORDER BY c.impression`,
  );
  return Array.from(rows, ({ id, at }) => {
    const shownAt = shownAtOf(id);
    // The sender's clock may be behind.
    return { shownAt, at: Math.max(shownAt, at) };
  });
}

/** Counts what was shown before by buckets, what has converted at its own time; returns how many. */
function showEarlier(estimate: DelayEstimate, store: LearnerStore, { from, conversions }: History, windowMs: number): number {
  const converted = new Map<number, number>();
  for (const { shownAt } of conversions) {
    if (shownAt >= from) continue;
    const bucket = bucketAt(shownAt, windowMs);
    converted.set(bucket, (converted.get(bucket) ?? 0) + 1);
    estimate.show(shownAt);
  }
  let impressions = 0;
  // What the log has forgotten is no part of it, though its sums are kept.
  const sums = "SELECT bucket, sum(impressions) AS count FROM closed WHERE bucket >= ? AND bucket < ? GROUP BY bucket";
  for (const { bucket, count } of store.query<{ bucket: number; count: number }>(sums, bucketAt(store.horizon, windowMs), from)) {
    const rest = count - (converted.get(bucket) ?? 0);
    if (rest > 0) estimate.show(bucket, rest);
    impressions += count;
  }
  return impressions;
}

/** Evenly thinned from the window down, without the delays that are shorter than any. */
function pointsOf(estimate: DelayEstimate, windowMs: number): DelayPoint[] {
  const { delays, probability, low, high } = estimate.distribution();
  const last = delays.findIndex((delay) => delay >= windowMs);
  const first = Math.max(probability.findIndex((each) => each > probability[0]) - 1, 0);
  const step = Math.ceil((last - first + 1) / POINTS);
  const points: DelayPoint[] = [];
  for (let i = last; i >= first; i -= step) {
    const delayMs = delays[i];
    points.unshift({ delayMs, probability: probability[i], low: low[i], high: high[i], stillConverts: estimate.stillConverts(delayMs) });
  }
  return points;
}
