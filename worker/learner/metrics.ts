import { bucketMs } from "../domain/bucket.ts";
import { QUANTILE } from "../domain/interval.ts";
import type { ModelConfig } from "../domain/model.ts";
import { shownAtOf } from "../domain/uuid.ts";
import type { Bar, Bucket, Lift } from "../protocol/answers.ts";
import type { Description, Measurement } from "../rpc/message.ts";
import { maturity } from "./maturity.ts";
import type { LearnerStore } from "./store/learner-store.ts";

/** Most buckets and most recent impressions that the dashboard gets. */
const BUCKETS = 300;
const RECENT = 20;

/** Metrics of a model, as `GET /v1/models/:model/metrics` returns them. */
export function measure(
  store: LearnerStore,
  config: ModelConfig,
  { counts, encoding }: Pick<Description, "counts" | "encoding">,
  change: Measurement["change"],
  now: number,
): Measurement {
  const windowMs = config.window.ms;
  const { version, at } = store.published;
  return {
    model: store.name,
    generation: store.generation,
    policy: config.policy,
    serving: config.serving,
    now,
    windowMs,
    counts,
    encoding,
    change,
    snapshot: at === null ? null : { version, publishedAt: at, ageMs: Math.max(0, now - at) },
    lagMs: store.lagMs,
    bucketMs: bucketMs(windowMs),
    buckets: bucketCounts(store),
    ...maturity(store, config, now),
    delays: delays(store),
    lift: lift(store),
    recent: recent(store, windowMs, now),
  };
}

function bucketCounts(store: LearnerStore): Bucket[] {
  const { watermark } = store;
  return store.tallies.buckets(BUCKETS).map(({ square: _, ...bucket }) => ({ ...bucket, closed: bucket.start < watermark }));
}

function delays(store: LearnerStore): Bar[] {
  const counts = store.delays();
  const bars = Math.max(-1, ...counts.keys()) + 1;
  return Array.from({ length: bars }, (_, bar) => ({
    fromMs: bar === 0 ? 0 : 1000 * 2 ** (bar - 1),
    toMs: 1000 * 2 ** bar,
    count: counts.get(bar) ?? 0,
  }));
}

function lift(store: LearnerStore): Lift | null {
  const sums = store.tallies.sumsBefore(store.watermark);
  const [policy, holdout] = ["policy", "holdout"].map((name) => sums.find(({ arm }) => arm === name));
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

function recent(store: LearnerStore, windowMs: number, now: number): Measurement["recent"] {
  return store.impressions.recent(RECENT).map(({ id, action, version, sampling, decision, reward, converted }) => {
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
      ...(probability !== undefined && { probability }),
      status,
    };
  });
}
