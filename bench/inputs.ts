// The work that afterclick and its peers are given.

/** A ridge posterior over feature vectors that it holds, and that are named by their rows. */
export interface RidgePosterior {
  /** Of the rows scored last. */
  readonly means: Float64Array;
  /** Norms in V^-1. */
  readonly norms: Float64Array;
  append(row: number): void;
  reward(row: number, reward: number): void;
  /** Writes means and norms of `count` rows from `first` on. */
  score(first: number, count: number): void;
}

export interface ScoringInputs {
  readonly d: number;
  readonly k: number;
  /** Impressions seen. */
  readonly n: number;
  /** n x d, row-major. */
  readonly shown: Float64Array;
  readonly rewards: Float64Array;
  /** k x d, row-major. */
  readonly candidates: Float64Array;
}

export interface GridInputs {
  readonly dimension: number;
  /** Row-major. */
  readonly points: Float64Array;
  /** The reward at each point. */
  readonly values: Float64Array;
  readonly rounds: number;
  /** Rounds in which a conversion counts, and after which each comes. */
  readonly window: number;
  readonly delay: number;
  readonly lengthscale: number;
  readonly noiseVariance: number;
  readonly beta: number;
}
