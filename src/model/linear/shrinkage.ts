import type { Core } from "../../core/core.ts";

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
}

export interface Shrinkage {
  /** Of the level, which is not shrunk, and the least of the rest. */
  readonly leastRidge: number;
  /** What the variance of a reward is thought to be before there are any. */
  readonly rewardVariance: number;
  /** Variance of the noise, if it need not be estimated. */
  readonly noiseVariance?: number;
}

/** Steps of the fixed-point iteration, which goes on from the last choice. */
const STEPS = 3;
/** The ridge is at most this share of what the data say of a parameter on average: with few data it is not believed. */
const MOST_SHARE = 0.3;
/** Degrees of freedom, and impressions, that the guesses of the two variances count for. */
const GUESSED_FREEDOM = 0.03;
const GUESSED = 10;

/**
 * gram + extra (I - e e^T), e the direction of the level: with a ridge of its own it shrinks what tells actions apart, and
 * leaves alone what they have in common.
 */
export function shrunk({ gram, level }: MaturedSums, extra: number): Float64Array {
  const sum = gram.slice();
  const square = product(level, level);
  if (square === 0) return sum;
  for (let i = 0, at = 0; i < level.length; i++) {
    const own = (extra * level[i]) / square;
    for (let j = 0; j <= i; j++, at++) sum[at] -= own * level[j];
    sum[at - 1] += extra;
  }
  return sum;
}

/**
 * The ridge under which the data are most likely: the variance of noise over that of the parameters, both estimated.
 *
 * **Cost:** O(d^3).
 * **Source:** MacKay 1992, Bayesian interpolation, the fixed point of the evidence; a weak guess keeps it finite without data.
 */
export function evidenceRidge(core: Core, sums: MaturedSums, shrinkage: Shrinkage, from: number): number {
  const { leastRidge, rewardVariance, noiseVariance } = shrinkage;
  const { gram, moment, level, count, squares } = sums;
  const d = moment.length;
  const length = Math.sqrt(product(level, level));
  if (length === 0) return from;
  const e = level.map((each) => each / length);
  const both = new Float64Array(2 * d);
  both.set(moment);
  both.set(e, d);
  let information = 0;
  for (let i = 0, at = 0; i < d; at += ++i + 1) information += gram[at];
  const most = Math.max(leastRidge, (MOST_SHARE * information) / d);
  let ridge = from;
  for (let step = 0; step < STEPS; step++) {
    const { solved, trace } = core.shrunkSolve(shrunk(sums, ridge - leastRidge), leastRidge, both, 2);
    const mean = solved.subarray(0, d);
    const onLevel = product(e, mean);
    const rest = Math.max(product(mean, mean) - onLevel * onLevel, 0);
    // Parameters that the data determine, of those that are shrunk.
    const freedom = Math.max(d - 1 - ridge * (trace - product(e, solved.subarray(d))), 0);
    const residual = Math.max(squares - product(mean, moment) - ridge * rest - leastRidge * onLevel * onLevel, 0);
    const noise = noiseVariance ?? (residual + GUESSED * rewardVariance) / (Math.max(count - freedom, 0) + GUESSED);
    const proposed = ((freedom + GUESSED_FREEDOM) * noise) / (rest + GUESSED_FREEDOM * rewardVariance);
    ridge = Math.min(Math.max(proposed, leastRidge), most);
  }
  return ridge;
}

/** <a, b>. */
export function product(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}
