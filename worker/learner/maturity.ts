import { DelayEstimate } from "afterclick";
import { bucketAt } from "../domain/bucket.ts";
import { shownAtOf } from "../domain/token.ts";
import type { Bar, Delay, Metrics } from "../protocol/answers.ts";
import type { ShownImpression } from "./store/impression-store.ts";
import type { LearnerStore } from "./store/learner-store.ts";

/** Bars of the histogram of pending impressions by age. */
const AGES = 24;
/** Most points of the delay distribution that a page draws. */
const POINTS = 40;
/** A `DelayEstimate` treats impressions older than this many windows as matured. */
const SETTLED = 3;

/**
 * Counts pending impressions by age, and estimates the delay distribution.
 *
 * The estimate is computed from the rows on request. It is therefore right after a restart, a rollback, an erasure or a repeated
 * delivery, it forgets what the log forgets, and it costs nothing on registration. Only the times of arrivals are stored, as quarters of
 * an hour. Delays use the timestamps of the events. The silence uses the learner's clock, so any arriving conversion ends it.
 *
 * **Cost:** linear in open impressions and in the conversions that the log holds. Older buckets, whose windows had closed when the
 * latest conversion happened, enter as sums.
 */
export function maturity(store: LearnerStore, windowMs: number, now: number): Pick<Metrics, "pendingByAge" | "delay"> {
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

/** Impressions shown since `from`, and the first conversions of all impressions. */
interface History {
  readonly from: number;
  readonly shown: readonly ShownImpression[];
  readonly conversions: readonly Conversion[];
}

function delayOf(store: LearnerStore, history: History, windowMs: number, now: number): Delay {
  const { shown, conversions } = history;
  const estimate = new DelayEstimate({ window: windowMs });
  const impressions = shown.length + showEarlier(estimate, store, history, windowMs);
  for (const { shownAt } of shown) estimate.show(shownAt);
  for (const conversion of conversions) estimate.convert({ ...conversion, arrivedAt: null });
  for (const time of store.arrivals()) estimate.arrive(time);
  const toCome = estimate.toCome(now);
  const since = store.lastArrivalAt ?? now;
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

/** First conversion of an impression. */
interface Conversion {
  readonly shownAt: number;
  readonly at: number;
}

/** First conversions of all impressions whose conversions are not all retracted. */
function conversionsOf(store: LearnerStore): Conversion[] {
  const rows = store.database.sql.exec<{ id: string; at: number }>(
    `SELECT i.id, min(c.at) AS at FROM conversions c JOIN impressions i ON i.id = c.impression
     WHERE c.status IN ('applied', 'conflict') AND c.reward IS NOT NULL AND i.converted = 1
     GROUP BY c.impression ORDER BY c.impression`,
  );
  return Array.from(rows, ({ id, at }) => {
    const shownAt = shownAtOf(id);
    // The sender's clock may be slow.
    return { shownAt, at: Math.max(shownAt, at) };
  });
}

/** Adds the impressions shown before `from`: converted ones at their own time, the others by bucket. Returns their number. */
function showEarlier(estimate: DelayEstimate, store: LearnerStore, { from, conversions }: History, windowMs: number): number {
  const converted = new Map<number, number>();
  for (const { shownAt } of conversions) {
    if (shownAt >= from) continue;
    const bucket = bucketAt(shownAt, windowMs);
    converted.set(bucket, (converted.get(bucket) ?? 0) + 1);
    estimate.show(shownAt);
  }
  let impressions = 0;
  // Sums outlive their pruned rows, so older buckets are left out.
  const sums = "SELECT bucket, sum(impressions) AS count FROM closed WHERE bucket >= ? AND bucket < ? GROUP BY bucket";
  for (const { bucket, count } of store.database.query<{ bucket: number; count: number }>(
    sums,
    bucketAt(store.retainedSince, windowMs),
    from,
  )) {
    const rest = count - (converted.get(bucket) ?? 0);
    if (rest > 0) estimate.show(bucket, rest);
    impressions += count;
  }
  return impressions;
}

/** At most `POINTS` points of the distribution, evenly thinned, from just below the shortest observed delay up to the window. */
function pointsOf(estimate: DelayEstimate, windowMs: number): Delay["distribution"] {
  const { delays, probability, low, high } = estimate.distribution();
  const last = delays.findIndex((delay) => delay >= windowMs);
  const first = Math.max(probability.findIndex((each) => each > probability[0]) - 1, 0);
  const step = Math.ceil((last - first + 1) / POINTS);
  const points: Delay["distribution"][number][] = [];
  for (let i = last; i >= first; i -= step) {
    const delayMs = delays[i];
    points.unshift({ delayMs, probability: probability[i], low: low[i], high: high[i], stillConverts: estimate.stillConverts(delayMs) });
  }
  return points;
}
