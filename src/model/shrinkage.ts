import type { Core } from "../core/core.ts";

/** What a ridge regression and the evidence for its ridge are computed from. */
export interface MaturedSums {
  /** sum w x x^T: packed lower triangle of d x d, w what an impression counts for. */
  readonly gram: Float64Array;
  /** sum reward x: d. */
  readonly moment: Float64Array;
  /** sum w x: d. */
  readonly level: Float64Array;
  /** sum w. */
  readonly count: number;
  /** Sum of squared rewards. */
  readonly squares: number;
  readonly leastRidge: number;
  /** Variance of a reward by these sums, and as guessed without any. */
  readonly variance: number;
  readonly rewardVariance: number;
}

/** Steps of the fixed-point iteration, which goes on from the last choice. */
const STEPS = 3;
const MOST_RIDGE = 1e6;
/** Degrees of freedom, and impressions, that the guesses of the two variances count for. */
const GUESSED_FREEDOM = 0.03;
const GUESSED = 10;

export interface ShrunkMean {
  /** theta: d. */
  readonly mean: Float64Array;
  /** Parameters that the data determine, of those that the ridge shrinks. */
  readonly freedom: number;
  /** Squared length of what the ridge shrinks, and of the rest. */
  readonly shrunk: number;
  readonly free: number;
}

/**
 * theta = A^-1 moment, A = gram + ridge (I - e e^T) + leastRidge e e^T with e the direction of the level: what all actions have
 * in common is not shrunk, only what tells them apart.
 *
 * **Cost:** O(d^3), and about twice as much for the freedom.
 */
export function shrunkMean(core: Core, { gram, moment, level, leastRidge }: MaturedSums, ridge: number, traced = false): ShrunkMean {
  const d = moment.length;
  const length = Math.sqrt(product(level, level));
  const both = new Float64Array(2 * d);
  both.set(moment);
  if (length > 0) for (let i = 0; i < d; i++) both[d + i] = level[i] / length;
  const e = both.slice(d);
  const { solved, trace } = core.shrunkSolve(gram, ridge, both, 2, traced);
  const mean = solved.slice(0, d);
  const q = solved.subarray(d);
  const lowered = length > 0 && ridge > leastRidge;
  if (!lowered) return { mean, freedom: d - ridge * trace, shrunk: product(mean, mean), free: 0 };
  // Sherman and Morrison, for the e e^T that is taken away.
  const along = product(e, q);
  const rest = 1 / (ridge - leastRidge) - along;
  const gain = product(e, mean) / rest;
  for (let i = 0; i < d; i++) mean[i] += gain * q[i];
  const onLevel = product(e, mean);
  const outside = trace + product(q, q) / rest - (along + (along * along) / rest);
  return { mean, freedom: d - 1 - ridge * outside, shrunk: product(mean, mean) - onLevel * onLevel, free: onLevel * onLevel };
}

/**
 * The ridge under which the data are most likely: the variance of noise over that of the parameters, both estimated.
 * **Source:** MacKay 1992, Bayesian interpolation, the fixed point of the evidence; a weak guess keeps it finite without data.
 */
export function evidenceRidge(core: Core, sums: MaturedSums, from: number): number {
  const { moment, count, squares, leastRidge, rewardVariance } = sums;
  let ridge = from;
  for (let step = 0; step < STEPS; step++) {
    const { mean, freedom, shrunk, free } = shrunkMean(core, sums, ridge, true);
    const own = Math.max(freedom, 0);
    const residual = Math.max(squares - product(mean, moment) - ridge * Math.max(shrunk, 0) - leastRidge * free, 0);
    const noise = (residual + GUESSED * rewardVariance) / (Math.max(count - own, 0) + GUESSED);
    const proposed = ((own + GUESSED_FREEDOM) * noise) / (Math.max(shrunk, 0) + GUESSED_FREEDOM * rewardVariance);
    ridge = Math.min(Math.max(proposed, leastRidge), MOST_RIDGE);
  }
  return ridge;
}

function product(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}
