import type { SnapshotReader, SnapshotWriter } from "../snapshot.ts";
import type { Moment } from "./delay/window.ts";
import type { GaussianProcess } from "./gaussian-process/gaussian-process.ts";
import { type KnownScores, known, type SampleRequest, type Scores, sampled } from "./ranking.ts";

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

/** An impression as a policy counted it, which is handed back with its rewards. */
export interface AppendedImpression extends AppendedPoint, Moment {}

/** How long after its impression a conversion came, in the unit of times: what counted before, and what counts now. */
export interface ReportedDelay {
  readonly before?: number;
  readonly after?: number;
}

/** What can be learnt from impressions and rewards, whatever policy asks. Points are k x d, row-major. */
export interface Posterior {
  readonly dimension: number;
  /** Not to be changed by whoever asks, nor to be kept beyond the next call. */
  moments(points: Float64Array): Moments;
  /** The deviation of `moments` at one point. */
  deviation(features: Float64Array): number;
  /** Counts an impression and returns its slot. */
  append(features: Float64Array): number;
  /** Replaces the reward `previous` of an impression by `reward`. */
  reward(point: AppendedPoint, reward: number, previous: number): void;
  save(writer: SnapshotWriter): void;
  load(reader: SnapshotReader): void;
  statistics(): Float64Array;
  /** Derives from the sums what is derived from them, in an order of their own. Changes what it says by rounding at most. */
  refactor(): void;
}

/** A posterior that draws the function at k points jointly. */
export interface JointPosterior {
  /** Draws `samples` times: mean + scale L z and mean - scale L z in turn, of each row z of `normals` (samples / 2 x k). */
  sample(points: Float64Array, normals: Float64Array, scale: number, samples: number): Moments & { readonly sample: Float64Array };
}

/** The upper confidence rule: `mean` plus a bonus of `multiplier` standard deviations, which is the `width`. */
export function upperConfidence({ mean, deviation }: Moments, multiplier: number): KnownScores {
  const score = new Float64Array(mean.length);
  for (let i = 0; i < mean.length; i++) score[i] = mean[i] + multiplier * deviation[i];
  return { score, moments: known(mean, deviation, multiplier) };
}

/** How a Thompson rule draws: by the factor of the candidates' covariance, or, in a fixed domain, from draws of the prior. */
export type Sampler = "joint" | "pathwise";

/** `thompson` in a fixed domain, from draws of the prior: the same in distribution, without a factor for each decision. */
export function thompsonPathwise(posterior: GaussianProcess, request: SampleRequest, multiplier: number): Scores {
  const samples = Math.max(1, request.draws);
  const normals = request.normals(Math.ceil(samples / 2) * 2 * request.count);
  const { mean, deviation, sample } = posterior.samplePathwise(normals, multiplier, samples);
  return {
    ...sampled(sample, request),
    moments: known(mean, deviation, multiplier),
  };
}

/** The Thompson rule: a joint draw of the candidates' rewards, with `multiplier` standard deviations, which are the `width`. */
export function thompson(posterior: JointPosterior, request: SampleRequest, multiplier: number): Scores {
  const { points, count, draws, normals } = request;
  const samples = Math.max(1, draws);
  const { mean, deviation, sample } = posterior.sample(points, normals(Math.ceil(samples / 2) * count), multiplier, samples);
  return { ...sampled(sample, request), moments: known(mean, deviation, multiplier) };
}
