// The metrics of a model by its counts. It reads no table.

import { UNASSIGNED } from "../../domain/figures/holdout-share.ts";
import { ALPHA, ANY_GOAL, liftOf } from "../../domain/figures/lift.ts";
import { bucketMs } from "../../domain/impression/bucket.ts";
import { currencyOf } from "../../domain/model/goals.ts";
import type { ModelConfig } from "../../domain/model/model.ts";
import type { Bar, Lift } from "../../protocol/metrics-answer.ts";
import type { Description, Measurement } from "../../rpc/message.ts";
import type { ModelCounts } from "../../rpc/model-counts.ts";
import { maturity } from "./maturity.ts";

/** The parts of a model that metrics take beside its counts. */
export interface Measuring {
  readonly description: Pick<Description, "model" | "generation" | "counts" | "reached" | "encoding" | "published">;
  readonly change: Measurement["change"];
}

/** Computes the metrics of a model from its counts, as `GET /v1/models/:model/metrics` returns them. */
export function measure(counts: ModelCounts, config: ModelConfig, { description, change }: Measuring, now: number): Measurement {
  const windowMs = config.window.ms;
  const { model, generation, encoding, published } = description;
  const figures = maturity(counts, config, now);
  return {
    model,
    generation,
    policy: config.policy,
    serving: config.serving,
    now,
    windowMs,
    counts: description.counts,
    encoding,
    change,
    snapshot: published && { version: published.version, publishedAt: published.at, ageMs: Math.max(0, now - published.at) },
    lagMs: counts.lagMs,
    bucketMs: bucketMs(windowMs),
    buckets: counts.buckets.map(({ square: _, ...bucket }) => ({ ...bucket, closed: bucket.start < counts.watermark })),
    ...figures,
    reached: description.reached,
    currency: currencyOf(config.goals),
    delays: barsOf(counts.bars),
    lift: liftsOf(counts, config, figures, now),
    recent: counts.recent,
  };
}

type Delays = ReturnType<typeof maturity>;

function barsOf(counts: ModelCounts["bars"]): Bar[] {
  const bars = Math.max(-1, ...Object.keys(counts).map(Number)) + 1;
  return Array.from({ length: bars }, (_, bar) => ({
    fromMs: bar === 0 ? 0 : 1000 * 2 ** (bar - 1),
    toMs: 1000 * 2 ** bar,
    count: counts[bar] ?? 0,
  }));
}

/** Null if the model has never had a holdout. Each goal is compared by itself; without declared goals, any. As of the moments of the delays. */
function liftsOf(counts: ModelCounts, config: ModelConfig, { delay, goals: laws }: Delays, now: number): Lift | null {
  const isHeld = config.holdout > 0 || counts.arms.some(({ arm, share }) => arm === "holdout" && share !== UNASSIGNED);
  if (!isHeld) return null;
  const goals = config.goals ? Object.keys(config.goals) : [ANY_GOAL];
  const delays = new Map(goals.map((goal) => [goal, (goal === ANY_GOAL ? counts.first : counts.goals[goal]).delays]));
  const momentOf = (name: string): number => {
    const law = name === ANY_GOAL ? delay : laws?.find(({ goal }) => goal === name)?.delay;
    return law?.completeUntil ?? now;
  };
  const unassigned = counts.arms.filter(({ share }) => share === UNASSIGNED);
  return {
    unassigned: unassigned.reduce((sum, { impressions }) => sum + impressions, 0),
    goals: goals.map((goal) => {
      const options = { alpha: ALPHA, now: momentOf(goal) };
      return { ...liftOf({ ...counts, delays }, goal, config, options), goal: goal === ANY_GOAL ? "conversion" : goal };
    }),
  };
}
