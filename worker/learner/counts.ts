import { DelayEstimate } from "afterclick";
import { bucketAt } from "../domain/bucket.ts";
import { type Windows, windowOf } from "../domain/goals.ts";
import { counting, resolved } from "../domain/reward.ts";
import { shownAtOf } from "../domain/uuid.ts";
import {
  type DelayCounts,
  type GoalCounts,
  MOST_BUCKETS,
  MOST_RECENT,
  type ModelCounts,
  meanTime,
  type Recent,
  type Totals,
} from "../rpc/model-counts.ts";
import type { LearnerStore } from "./store/learner-store.ts";

/** A `DelayEstimate` treats impressions older than this many windows as matured. */
export const SETTLED = 3;

/** Collects what a description counts. */
export function totalsOf(store: LearnerStore, { window }: Windows, now: number): Totals {
  const since = now - window.ms;
  const steps = store.tallies.stepsSince(bucketAt(Math.max(0, since), window.ms));
  const open = { impressions: 0, observed: 0, converted: 0 };
  for (const counts of steps) {
    if (meanTime(counts) < since) continue;
    open.impressions += counts.impressions;
    open.observed += counts.observed;
    open.converted += counts.converted;
  }
  return { counters: store.counters(), open, bytes: store.bytes, lagMs: store.lagMs };
}

/** Collects the counts of a model from its tables. */
export function countsOf(store: LearnerStore, config: Windows, now: number): ModelCounts {
  const { ms: windowMs } = config.window;
  const { tallies, watermark } = store;
  // Sums outlive their pruned rows, so older buckets are left out.
  const [held, from] = [store.retainedSince, now - SETTLED * windowMs].map((time) => bucketAt(Math.max(0, time), windowMs));
  const conversions = conversionsOf(store);
  const goals = Object.keys(config.goals ?? {}).map((goal) => {
    const own = conversions.filter((each) => each.goal === goal);
    return [goal, goalCounts(store, own, windowOf(config, goal), goal)] as const;
  });
  return {
    ...totalsOf(store, config, now),
    watermark,
    steps: tallies.stepsSince(Math.max(held, from)),
    earlier: tallies.countBetween(held, from),
    first: goalCounts(store, firstOf(conversions), windowMs),
    goals: Object.fromEntries(goals),
    bars: Object.fromEntries(store.delays()),
    buckets: tallies.buckets(MOST_BUCKETS),
    closed: tallies.sumsBefore(watermark),
    recent: recent(store, windowMs, now),
  };
}

function goalCounts(store: LearnerStore, conversions: readonly Conversion[], windowMs: number, goal?: string): GoalCounts {
  return {
    delays: delaysOf(conversions, windowMs),
    latestAt: conversions.reduce<number | null>((latest, { at }) => Math.max(latest ?? at, at), null),
    arrivedAt: store.database.lastArrivalAt(goal),
    arrivals: store.database.arrivals(goal),
  };
}

/** Counts conversions by the cells of the grid of an estimate with their window. */
function delaysOf(conversions: readonly Conversion[], windowMs: number): DelayCounts[] {
  const grid = DelayEstimate.grid(windowMs);
  const cells = Map.groupBy(conversions, ({ shownAt, at }) => `${Math.floor(shownAt / grid.cohort)} ${grid.bin(at - shownAt)}`);
  return Array.from(cells, ([cell, own]) => {
    const [cohort, bin] = cell.split(" ").map(Number);
    return { cohort, length: 1, bin, count: own.length, delay: own.reduce((sum, { shownAt, at }) => sum + at - shownAt, 0) };
  });
}

/** First conversion of an impression, of a goal or of any. */
interface Conversion {
  readonly id: string;
  readonly goal: string;
  readonly shownAt: number;
  readonly at: number;
}

/** First conversion of each goal that counts, of all impressions in order of their ids. */
function conversionsOf(store: LearnerStore): Conversion[] {
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
function firstOf(conversions: readonly Conversion[]): Conversion[] {
  const first = new Map<string, Conversion>();
  for (const conversion of conversions) {
    const other = first.get(conversion.id);
    if (!other || conversion.at < other.at) first.set(conversion.id, conversion);
  }
  return Array.from(first.values());
}

function recent(store: LearnerStore, windowMs: number, now: number): Recent[] {
  return store.impressions.recent(MOST_RECENT).map(({ id, action, version, sampling, decision, reward, converted }) => {
    const shownAt = shownAtOf(id);
    const unconverted = reward !== null ? "retracted" : now > shownAt + windowMs ? "expired" : "pending";
    const status = converted ? "converted" : unconverted;
    const probability = decision?.probability;
    return {
      impressionId: id,
      action,
      shownAt,
      modelVersion: version,
      sampling,
      shard: store.shard,
      ...(probability !== undefined && { probability }),
      status,
    };
  });
}
