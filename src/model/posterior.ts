import type { SnapshotReader, SnapshotWriter } from "../snapshot.ts";
import type { Moment } from "./window.ts";

/** Posterior of the expected reward at k points, k entries each. */
export interface Moments {
  readonly mean: Float64Array;
  /** Standard deviation, without the noise of a single reward. */
  readonly deviation: Float64Array;
}

/** A point as a posterior or a policy counted it. */
export interface AppendedPoint {
  readonly features: Float64Array;
  /** What `append` returned: the counter's own mark on it. */
  readonly slot: number;
}

export interface AppendedImpression extends AppendedPoint, Moment {}

/** What can be learnt from impressions and rewards, whatever policy asks. Points are k x d, row-major. */
export interface Posterior {
  readonly dimension: number;
  moments(points: Float64Array): Moments;
  /** Counts an impression and returns its slot. */
  append(features: Float64Array): number;
  /** Replaces the reward `previous` of an impression by `reward`. */
  reward(point: AppendedPoint, reward: number, previous: number): void;
  save(writer: SnapshotWriter): void;
  load(reader: SnapshotReader): void;
  statistics(): Float64Array;
}

/** The upper confidence rule: `mean` plus a bonus of `multiplier` standard deviations, which is the `width`. */
export function upperConfidence(
  { mean, deviation }: Moments,
  multiplier: number,
): { score: Float64Array; mean: Float64Array; width: Float64Array } {
  const width = deviation.map((each) => multiplier * each);
  return { score: mean.map((each, i) => each + width[i]), mean, width };
}
