// Collects the counts of a model. Figures are made of counts elsewhere, so that counts of several shards can be added first.

import { completeUntil } from "../../domain/figures/reports.ts";
import { shownAtOf } from "../../domain/ids/uuid.ts";
import { bucketAt } from "../../domain/impression/bucket.ts";
import { isRetracted } from "../../domain/impression/outcome.ts";
import type { Windows } from "../../domain/model/goals.ts";
import {
  type GoalCounts,
  MOST_BUCKETS,
  MOST_RECENT,
  type ModelCounts,
  meanTime,
  REACH,
  type Recent,
  SETTLED,
  type Totals,
} from "../../rpc/model-counts.ts";
import type { Relearning } from "../model/relearning.ts";
import type { LearnerStore } from "../store/learner-store.ts";

/** Collects what a description counts. */
export function totalsOf(store: LearnerStore, { window }: Windows, relearning: Relearning, now: number): Totals {
  const since = now - window.ms;
  const steps = store.tallies.sumsSince(bucketAt(Math.max(0, since), window.ms));
  const open = { impressions: 0, observed: 0, converted: 0 };
  for (const counts of steps) {
    if (meanTime(counts) < since) continue;
    open.impressions += counts.impressions;
    open.observed += counts.observed;
    open.converted += counts.converted;
  }
  return {
    counters: store.counters.all(),
    figures: store.counters.goalFigures(store.model.config.goals),
    open,
    bytes: store.bytes,
    lagMs: store.database.progress.lag,
    relearning: relearning.progress(now),
  };
}

/** Collects the counts of a model from its tables. */
export function countsOf(store: LearnerStore, config: Windows, relearning: Relearning, now: number): ModelCounts {
  const { ms: windowMs } = config.window;
  const { tallies } = store;
  const { watermark, horizon } = store.model;
  const first = goalCounts(store);
  const goals = Object.keys(config.goals ?? {}).map((goal) => [goal, goalCounts(store, goal)] as const);
  // Figures may be as of the last report of each goal.
  const last = [first, ...goals.map(([, counts]) => counts)].flatMap(({ reports }) =>
    reports.map((each) => completeUntil(each, now, () => true)),
  );
  const asOf = Math.max(now - REACH * windowMs, Math.min(now, ...last));
  // Sums outlive their pruned rows, so older buckets are left out.
  const [held, from] = [horizon, asOf - SETTLED * windowMs].map((time) => bucketAt(Math.max(0, time), windowMs));
  return {
    ...totalsOf(store, config, relearning, now),
    watermark,
    steps: tallies.stepsSince(Math.max(held, from)),
    earlier: tallies.groupsBetween(held, from),
    first,
    goals: Object.fromEntries(goals),
    bars: Object.fromEntries(store.counters.bars()),
    buckets: tallies.buckets(MOST_BUCKETS),
    ...store.arms.counts(config, asOf),
    recent: recent(store, windowMs, now),
  };
}

function goalCounts(store: LearnerStore, goal?: string): GoalCounts {
  return {
    delays: store.delays.of(goal ?? ""),
    latestAt: store.delays.latestAt(goal ?? ""),
    arrivedAt: store.database.lastArrivalAt(goal),
    arrivals: store.database.arrivals(goal),
    reports: store.database.reports(goal ?? ""),
    quarters: store.delays.quarters(goal ?? ""),
  };
}

function recent(store: LearnerStore, windowMs: number, now: number): Recent[] {
  return store.impressions.recent(MOST_RECENT).map((impression) => {
    const { id, action, version, sampling, decision, converted } = impression;
    const shownAt = shownAtOf(id);
    const unconverted = isRetracted(impression) ? "retracted" : now > shownAt + windowMs ? "expired" : "pending";
    const status = converted ? "converted" : unconverted;
    const probability = decision?.probability;
    return {
      impressionId: id,
      action,
      shownAt,
      modelVersion: version,
      sampling,
      shard: store.model.shard,
      ...(probability !== undefined && { probability }),
      status,
    };
  });
}
