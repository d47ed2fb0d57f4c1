import { bucketMs } from "../domain/bucket.ts";
import { currencyOf } from "../domain/goals.ts";
import { QUANTILE } from "../domain/interval.ts";
import type { ModelConfig } from "../domain/model.ts";
import type { Bar, Lift } from "../protocol/answers.ts";
import type { Description, Measurement } from "../rpc/message.ts";
import type { ArmSums, ModelCounts } from "../rpc/model-counts.ts";
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
    ...maturity(counts, config, now),
    reached: description.reached,
    currency: currencyOf(config.goals),
    delays: barsOf(counts.bars),
    lift: lift(counts.closed),
    recent: counts.recent,
  };
}

function barsOf(counts: ModelCounts["bars"]): Bar[] {
  const bars = Math.max(-1, ...Object.keys(counts).map(Number)) + 1;
  return Array.from({ length: bars }, (_, bar) => ({
    fromMs: bar === 0 ? 0 : 1000 * 2 ** (bar - 1),
    toMs: 1000 * 2 ** bar,
    count: counts[bar] ?? 0,
  }));
}

function lift(closed: readonly ArmSums[]): Lift | null {
  const [policy, holdout] = ["policy", "holdout"].map((name) => closed.find(({ arm }) => arm === name));
  return policy && holdout ? liftOf(policy, holdout) : null;
}

/** Number of impressions of an assignment, and the sums of their rewards and of the squared rewards. */
export type Sums = { readonly impressions: number; readonly reward: number; readonly square: number };

export function liftOf(policy: Sums, holdout: Sums): Lift {
  const [a, b] = [policy, holdout].map(({ impressions, reward, square }) => {
    const mean = reward / impressions;
    return { impressions, mean, error: Math.max(0, square / impressions - mean * mean) / impressions };
  });
  const difference = a.mean - b.mean;
  const margin = QUANTILE * Math.sqrt(a.error + b.error);
  return {
    policy: { impressions: a.impressions, mean: a.mean },
    holdout: { impressions: b.impressions, mean: b.mean },
    difference,
    interval: [difference - margin, difference + margin],
    relative: b.mean === 0 ? null : difference / b.mean,
  };
}
