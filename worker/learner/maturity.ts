import { DelayEstimate } from "afterclick";
import { bucketAt } from "../domain/bucket.ts";
import { type Windows, windowOf } from "../domain/goals.ts";
import { counting, resolved } from "../domain/reward.ts";
import { shownAtOf } from "../domain/uuid.ts";
import type { Bar, Delay, Metrics } from "../protocol/answers.ts";
import type { LearnerStore } from "./store/learner-store.ts";
import type { Cohort } from "./store/tally-store.ts";

/** Bars of the histogram of pending impressions by age. */
const AGES = 24;
/** Most points of the delay distribution that a page draws. */
const POINTS = 40;
/** Shares of conversions whose delays are stated. */
const QUANTILES = [0.25, 0.5, 0.75, 0.9, 0.95];
/** Windows that are compared with the model's, in ms. */
const ADVISED = [1, 3, 7, 14, 30].map((days) => days * 86_400_000);
/** A `DelayEstimate` treats impressions older than this many windows as matured. */
const SETTLED = 3;

/**
 * Counts pending impressions by age, and estimates the delay distribution: that of the first conversions, and that of each declared goal
 * within its own window.
 *
 * Estimates are computed from tallies and conversions on request. They are therefore right after a restart, a rollback, an erasure or a repeated
 * delivery, they forget what the log forgets, and they cost nothing on registration. Only the times of arrivals are stored, as quarters
 * of an hour. Delays use the timestamps of the events. The silence uses the learner's clock, so any arriving conversion ends it.
 *
 * **Cost:** linear in the conversions that the log holds, for each goal, and in the tallies: some thousands, however many impressions
 * there are.
 */
export function maturity(store: LearnerStore, config: Windows, now: number): Pick<Metrics, "pendingByAge" | "delay" | "goals"> {
  const { ms: windowMs } = config.window;
  const conversions = conversionsOf(store);
  const first: Part = { windowMs, conversions: firstOf(conversions) };
  const parts = Object.keys(config.goals ?? {}).map((goal): Part & { readonly goal: string } => {
    return { goal, windowMs: windowOf(config, goal), conversions: conversions.filter((each) => each.goal === goal) };
  });
  const from = Math.min(store.watermark, ...[first, ...parts].map((part) => bucketAt(needed({ ...part, windowMs }, now), windowMs)));
  const shown = store.tallies.cohortsSince(from, windowMs);
  const history = { from, shown, earlier: earlierBuckets(store, from, windowMs), windowMs };
  return {
    pendingByAge: pendingByAge(shown, windowMs, now),
    delay: delayOf(store, history, first, now),
    goals:
      config.goals &&
      parts.map(({ goal, ...part }) => {
        const currency = config.goals?.[goal].value?.currency ?? null;
        return { goal, windowMs: part.windowMs, currency, delay: delayOf(store, history, { goal, ...part }, now) };
      }),
  };
}

/** Time since which an estimate needs single impressions. */
function needed({ windowMs, conversions }: Part, now: number): number {
  const last = conversions.reduce((latest, { at }) => Math.max(latest, at), 0);
  return Math.max(last, now - (SETTLED - 1) * windowMs) - windowMs;
}

function pendingByAge(shown: readonly Cohort[], windowMs: number, now: number): Bar[] {
  const counts = new Array<number>(AGES).fill(0);
  for (const { shownAt, impressions, observed } of shown) {
    if (now - shownAt > windowMs) continue;
    counts[Math.min(AGES - 1, Math.max(0, Math.floor(((now - shownAt) * AGES) / windowMs)))] += impressions - observed;
  }
  return counts.map((count, i) => ({ fromMs: (i * windowMs) / AGES, toMs: ((i + 1) * windowMs) / AGES, count }));
}

/** The impressions shown since `from`, and the numbers of earlier ones by bucket. */
interface History {
  readonly from: number;
  readonly shown: readonly Cohort[];
  readonly earlier: readonly Earlier[];
  /** The window of the model, by which buckets are cut. */
  readonly windowMs: number;
}

interface Earlier {
  readonly bucket: number;
  readonly count: number;
}

/** The conversions behind one estimate. Without a goal: the first conversion of each impression. */
interface Part {
  readonly goal?: string;
  readonly windowMs: number;
  readonly conversions: readonly Conversion[];
}

function delayOf(store: LearnerStore, history: History, part: Part, now: number): Delay | null {
  const { goal, windowMs, conversions } = part;
  if (conversions.length === 0) return null;
  const { estimate, impressions } = estimateOf(store, history, part, now);
  // A silence may last many windows of a goal. An estimate keeps impressions for two, so it gets the model's window.
  const patient =
    windowMs === history.windowMs ? estimate : estimateOf(store, history, { ...part, windowMs: history.windowMs }, now).estimate;
  const toCome = estimate.toCome(now);
  const since = store.database.lastArrivalAt(goal) ?? now;
  return {
    impressions,
    conversions: conversions.length,
    rateSoFar: conversions.length / impressions,
    rate: estimate.rate(),
    toCome,
    window95Ms: estimate.quantile(),
    quantiles: QUANTILES.map((share) => ({ share, delayMs: estimate.quantile(share) })),
    windows: windowsOf(estimate, windowMs),
    distribution: pointsOf(estimate, windowMs),
    silence: { since, ...patient.silence(now, since) },
  };
}

/** The estimate of a part, within the part's window, and the number of its impressions. */
function estimateOf(store: LearnerStore, history: History, part: Part, now: number) {
  const { goal, windowMs, conversions } = part;
  const estimate = new DelayEstimate({ window: windowMs });
  const recent = history.shown.reduce((sum, cohort) => sum + cohort.impressions, 0);
  const impressions = recent + showEarlier(estimate, history, conversions);
  showRecent(estimate, history.shown, needed(part, now));
  for (const { shownAt, at } of conversions) estimate.convert({ shownAt, at, arrivedAt: null });
  for (const time of store.database.arrivals(goal)) estimate.arrive(time);
  return { estimate, impressions };
}

/** Adds cohorts in order of time. Those before `matured` count as one, at their mean time. */
function showRecent(estimate: DelayEstimate, cohorts: readonly Cohort[], matured: number): void {
  const settled = cohorts.filter(({ shownAt }) => shownAt < matured);
  if (settled.length > 0) {
    const [{ shownAt: first }] = settled;
    const count = settled.reduce((sum, { impressions }) => sum + impressions, 0);
    const elapsed = settled.reduce((sum, { impressions, shownAt }) => sum + impressions * (shownAt - first), 0);
    estimate.show(first + elapsed / count, count);
  }
  for (const { shownAt, impressions } of cohorts.slice(settled.length)) estimate.show(shownAt, impressions);
}

/** First conversion of an impression, of a goal or of any. */
interface Conversion {
  readonly goal: string;
  readonly shownAt: number;
  readonly at: number;
}

/** First conversion of each goal that counts, of all impressions in order of their ids. The impression's id comes first. */
function conversionsOf(store: LearnerStore): (Conversion & { readonly id: string })[] {
  const rows = store.database.query<{ id: string; goal: string; at: number; retracted: number }>(
    `SELECT i.id, c.goal, min(CASE WHEN c.reward IS NOT NULL THEN c.at END) AS at, max(c.reward IS NULL) AS retracted
     FROM outcomes i JOIN conversions c ON c.impression = i.id
     WHERE c.status IN ('applied', 'conflict') AND i.converted = 1 GROUP BY i.id, c.goal ORDER BY i.id`,
  );
  return rows.flatMap(({ id, goal, at, retracted }) => {
    const shownAt = shownAtOf(id);
    if (retracted && !countsStill(store, id, goal)) return [];
    // The sender's clock may be slow.
    return [{ id, goal, shownAt, at: Math.max(shownAt, at) }];
  });
}

/** Whether a goal counts although an event retracted it. */
function countsStill(store: LearnerStore, id: string, goal: string): boolean {
  const events = counting(store.conversions.of(id)).filter((event) => event.goal === goal);
  return resolved(events, null, 0)?.delay !== undefined;
}

/** The first of the conversions of each impression, whatever its goal. */
function firstOf(conversions: readonly (Conversion & { readonly id: string })[]): Conversion[] {
  const first = new Map<string, Conversion>();
  for (const conversion of conversions) {
    const other = first.get(conversion.id);
    if (!other || conversion.at < other.at) first.set(conversion.id, conversion);
  }
  return Array.from(first.values());
}

/** Numbers of impressions in the buckets before a time. Sums outlive their pruned rows, so older buckets are left out. */
function earlierBuckets(store: LearnerStore, from: number, windowMs: number): readonly Earlier[] {
  return store.tallies.countsBetween(bucketAt(store.retainedSince, windowMs), from);
}

/** Adds the impressions shown before `from`: converted ones at their own time, the others by bucket. Returns their number. */
function showEarlier(estimate: DelayEstimate, { from, earlier, windowMs }: History, conversions: readonly Conversion[]): number {
  const converted = new Map<number, number>();
  for (const { shownAt } of conversions) {
    if (shownAt >= from) continue;
    const bucket = bucketAt(shownAt, windowMs);
    converted.set(bucket, (converted.get(bucket) ?? 0) + 1);
    estimate.show(shownAt);
  }
  let impressions = 0;
  for (const { bucket, count } of earlier) {
    const rest = count - (converted.get(bucket) ?? 0);
    if (rest > 0) estimate.show(bucket, rest);
    impressions += count;
  }
  return impressions;
}

/** What shorter windows would have caught of the conversions that this one catches, and the share of impressions that convert in them. */
function windowsOf(estimate: DelayEstimate, windowMs: number): Delay["windows"] {
  const { delays, probability, low, high } = estimate.distribution();
  return ADVISED.filter((ms) => ms <= windowMs).map((ms) => {
    const bin = delays.findIndex((end) => end >= ms);
    const caught = estimate.below(ms);
    return {
      windowMs: ms,
      caught,
      low: Math.max(caught - (probability[bin] - low[bin]), 0),
      high: Math.min(caught + (high[bin] - probability[bin]), 1),
      rate: caught * estimate.rate(),
    };
  });
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
