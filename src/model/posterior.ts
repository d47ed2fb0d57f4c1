// The contract between policies and posteriors. The posteriors themselves lie in the folders beside this file.

import type { SnapshotReader, SnapshotWriter } from "../values/snapshot.ts";
import type { SampleRequest } from "./candidates.ts";
import type { Moment } from "./delay/window.ts";
import { type KnownScores, known, type Scores, sampled } from "./ranking.ts";

/** Posterior of the expected reward at k points, k entries each. */
export interface Moments {
  readonly mean: Float64Array;
  /** Standard deviation, without the noise of a single reward. */
  readonly deviation: Float64Array;
}

/** Draws of the expected reward at k points, and the moments there. */
export interface Draws extends Moments {
  /** samples x k, row-major. */
  readonly sample: Float64Array;
}

/** A point that a posterior or a policy has counted. */
export interface AppendedPoint {
  readonly features: Float64Array;
  /** The return value of `append`, which identifies the impression for its posterior or policy. */
  readonly slot: number;
}

/** An impression that a policy has counted. The caller passes it again with each of its rewards. */
export interface AppendedImpression extends AppendedPoint, Moment {}

/** Time from the impression to its first conversion that counts, before and after an event. In the unit of the window. */
export interface ReportedDelay {
  readonly before?: number;
  readonly after?: number;
}

/** A posterior of the expected reward, given impressions and rewards. Points are k x d, row-major. */
export interface Posterior {
  readonly dimension: number;
  /** The caller must not change the result, nor keep it beyond the next call. */
  moments(points: Float64Array): Moments;
  /** The deviation of `moments` at one point. */
  deviation(features: Float64Array): number;
  /** Counts an impression and returns its slot. */
  append(features: Float64Array): number;
  /** Replaces the reward `previous` of an impression by `reward`. */
  reward(point: AppendedPoint, reward: number, previous: number): void;
  /**
   * Removes a point. What was learnt there moves to the nearest other point, or is dropped if there is none. Returns whether the point
   * was kept. Absent if the state has no points.
   */
  forget?(features: Float64Array): boolean;
  /** The kept point nearest to these features. Undefined if there is none. */
  nearest?(features: Float64Array): Float64Array | undefined;
  /** Adds the sums of another posterior with the same options. Absent if the state is not a sum. */
  merge?(other: Posterior): void;
  save(writer: SnapshotWriter): void;
  load(reader: SnapshotReader): void;
  statistics(): Float64Array;
  /** Derives everything again from the sums, in a canonical order. This changes predictions by rounding at most. */
  refactor(): void;
}

/** The methods of a policy's state that are those of its posterior. */
export function stateOf(posterior: Posterior) {
  return {
    predict: (points: Float64Array) => posterior.moments(points),
    refactor: () => posterior.refactor(),
    forget: (features: Float64Array) => posterior.forget?.(features) ?? false,
    save: (writer: SnapshotWriter) => posterior.save(writer),
    load: (reader: SnapshotReader) => posterior.load(reader),
    statistics: () => posterior.statistics(),
  };
}

/** A posterior that draws the function at k points jointly. */
export interface JointPosterior {
  /** Draws `samples` times: mean + scale L z and mean - scale L z in turn, for each row z of `normals` (samples / 2 x k). */
  sample(points: Float64Array, normals: Float64Array, scale: number, samples: number): Draws;
}

/** A posterior that draws the function at the k points of its fixed domain, without a factor of their covariance for each draw. */
export interface PathwisePosterior {
  /** `normals`: samples / 2 x 2 k. */
  samplePathwise(normals: Float64Array, scale: number, samples: number): Draws;
}

/** The upper confidence rule: the score is `mean` plus the width, which is `multiplier` standard deviations. */
export function upperConfidence({ mean, deviation }: Moments, multiplier: number): KnownScores {
  const score = new Float64Array(mean.length);
  for (let i = 0; i < mean.length; i++) score[i] = mean[i] + multiplier * deviation[i];
  return { score, moments: known(mean, deviation, multiplier) };
}

/** The draws of a Thompson rule use a factor of the candidates' covariance or, in a fixed domain, draws of the prior. */
export type Sampler = "joint" | "pathwise";

/** `thompson` in a fixed domain, with `samplePathwise`. The distribution is the same. */
export function thompsonPathwise(posterior: PathwisePosterior, request: SampleRequest, multiplier: number): Scores {
  const samples = Math.max(1, request.draws);
  const normals = request.normals(Math.ceil(samples / 2) * 2 * request.count);
  const { mean, deviation, sample } = posterior.samplePathwise(normals, multiplier, samples);
  return { ...sampled(sample, request), moments: known(mean, deviation, multiplier) };
}

/** The Thompson rule: scores are a joint draw, with deviations times `multiplier`. The width is `multiplier` standard deviations. */
export function thompson(posterior: JointPosterior, request: SampleRequest, multiplier: number): Scores {
  const { points, count, draws, normals } = request;
  const samples = Math.max(1, draws);
  const { mean, deviation, sample } = posterior.sample(points, normals(Math.ceil(samples / 2) * count), multiplier, samples);
  return { ...sampled(sample, request), moments: known(mean, deviation, multiplier) };
}
