// Inputs that afterclick and its peers share.

/** A ridge posterior that holds its feature vectors. Callers name a vector by its row. */
export interface RidgePosterior {
  /** Means of the rows scored last. */
  readonly means: Float64Array;
  /** Norms in V^-1 of the rows scored last. */
  readonly norms: Float64Array;
  append(row: number): void;
  reward(row: number, reward: number): void;
  /** Writes means and norms of `count` rows from `first` on. */
  score(first: number, count: number): void;
}

export interface ScoringInputs {
  readonly d: number;
  readonly k: number;
  /** Number of impressions. */
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
  /** Attribution window, in rounds. */
  readonly window: number;
  /** Delay of every conversion, in rounds. */
  readonly delay: number;
  readonly lengthscale: number;
  readonly noiseVariance: number;
  readonly beta: number;
}
