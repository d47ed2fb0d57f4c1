import { bucketMs } from "../domain/bucket.ts";
import type { ModelConfig } from "../domain/model.ts";
import { firstIdAt, shownAtOf } from "../domain/token.ts";
import type { Description } from "../rpc/message.ts";
import { type Maturity, maturity } from "./maturity.ts";
import type { LearnerStore } from "./store/learner-store.ts";

// What a model's dashboard shows: `GET /v1/models/:model/metrics`. Times and ages are milliseconds.

/** How an action was chosen: by the policy, as uniform control, or because nothing else was left. */
export type Arm = "policy" | "holdout" | "default";

/** Impressions that were shown in one bucket of time, under one arm. */
export interface BucketCount {
  /** Start of the bucket, ms since 1970. */
  readonly start: number;
  readonly arm: Arm;
  readonly impressions: number;
  readonly converted: number;
  /** Sum of the rewards that count so far. */
  readonly reward: number;
  /** Whether its books are closed: nothing changes any more. */
  readonly closed: boolean;
}

/** A bar of a histogram: counts of [from, to); the last one is open-ended (null). */
export interface Bar {
  readonly fromMs: number;
  readonly toMs: number | null;
  readonly count: number;
}

/** Mean reward per impression, of impressions whose books are closed. */
export interface ArmMean {
  readonly impressions: number;
  readonly mean: number;
}

/** How much better the policy does than the uniform control. */
export interface Lift {
  readonly policy: ArmMean;
  readonly holdout: ArmMean;
  /** Difference of the means, policy less holdout, with a 95 % interval of the normal approximation. */
  readonly difference: number;
  readonly interval: readonly [number, number];
  /** The difference as a share of the holdout's mean; null where that is 0. */
  readonly relative: number | null;
}

export interface RecentImpression {
  readonly impressionId: string;
  readonly action: string;
  readonly shownAt: number;
  readonly modelVersion: number;
  readonly probability?: number;
  readonly status: "pending" | "converted" | "retracted" | "expired";
}

export interface Metrics extends Maturity {
  readonly model: string;
  readonly policy: string;
  readonly serving: "edge" | "learner";
  /** The learner's clock, ms since 1970. */
  readonly now: number;
  readonly windowMs: number;
  readonly counts: Description["counts"];
  /** The newest published snapshot; null before the first. */
  readonly snapshot: { readonly version: number; readonly publishedAt: number; readonly ageMs: number } | null;
  /** From being shown to being registered, of the newest impression; null before the first. */
  readonly lagMs: number | null;
  readonly bucketMs: number;
  /** Oldest first; at most some hundred buckets. */
  readonly buckets: readonly BucketCount[];
  /** Delays of the conversions that came within their windows, in bars that grow by powers of two. */
  readonly delays: readonly Bar[];
  /** Null without a holdout, or before both arms have closed impressions. */
  readonly lift: Lift | null;
  /** Newest impressions, newest first, to explain one of them by its id. */
  readonly recent: readonly RecentImpression[];
}

const BUCKETS = 300;
const RECENT = 20;
/** Of the standard normal, for 95 %. */
const QUANTILE = 1.959963984540054;

/** Reads from a learner's store what its dashboard shows. `describe` has counted already. */
export function measure(store: LearnerStore, config: ModelConfig, counts: Description["counts"], now: number): Metrics {
  const windowMs = config.window.ms;
  const { version, at } = store.published;
  return {
    model: store.name,
    policy: config.policy,
    serving: config.serving,
    now,
    windowMs,
    counts,
    snapshot: at === null ? null : { version, publishedAt: at, ageMs: Math.max(0, now - at) },
    lagMs: store.lagMs,
    bucketMs: bucketMs(windowMs),
    buckets: bucketCounts(store),
    ...maturity(store, windowMs, now),
    delays: delays(store),
    lift: lift(store),
    recent: recent(store, windowMs, now),
  };
}

/** Of closed buckets what was summed up when they closed, of open ones what is there by now. */
function bucketCounts(store: LearnerStore): BucketCount[] {
  return store
    .query<{ start: number; arm: Arm; impressions: number; converted: number; reward: number; closed: number }>(
      `SELECT * FROM (
         SELECT bucket AS start, arm, impressions, converted, reward, 1 AS closed FROM closed
         UNION ALL
         SELECT bucket, arm, count(*), sum(converted), total(reward), 0 FROM impressions WHERE id >= ?1 AND state = 'live' GROUP BY bucket, arm
         ORDER BY start DESC, arm LIMIT ?2)
       ORDER BY start, arm`,
      firstIdAt(store.watermark),
      BUCKETS,
    )
    .map(({ closed, ...bucket }) => ({ ...bucket, closed: closed === 1 }));
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
  const sums = store.query<ArmSums & { arm: Arm }>(
    "SELECT arm, sum(impressions) AS impressions, sum(reward) AS reward, sum(square) AS square FROM closed GROUP BY arm",
  );
  const [policy, holdout] = ["policy", "holdout"].map((name) => sums.find(({ arm }) => arm === name));
  return policy && holdout ? liftOf(policy, holdout) : null;
}

/** Of impressions under one arm: how many, and the sums of their rewards and of the squares of these. */
export type ArmSums = { readonly impressions: number; readonly reward: number; readonly square: number };

export function liftOf(policy: ArmSums, holdout: ArmSums): Lift {
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

function recent(store: LearnerStore, windowMs: number, now: number): RecentImpression[] {
  type Row = { id: string; action: string; version: number; probability: number | null; reward: number | null; converted: number };
  return store
    .query<Row>(
      `SELECT id, action, version, json_extract(decision, '$.probability') AS probability, reward, converted
       FROM impressions WHERE state = 'live' ORDER BY id DESC LIMIT ?`,
      RECENT,
    )
    .map(({ id, action, version, probability, reward, converted }) => {
      const shownAt = shownAtOf(id);
      const unconverted = reward !== null ? "retracted" : now > shownAt + windowMs ? "expired" : "pending";
      const status = converted ? "converted" : unconverted;
      return { impressionId: id, action, shownAt, modelVersion: version, ...(probability !== null && { probability }), status };
    });
}
