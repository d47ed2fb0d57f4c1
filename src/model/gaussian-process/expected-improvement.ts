import type { Core } from "../../core/core.ts";
import type { Moments } from "../posterior.ts";
import { type KnownScores, known } from "../ranking.ts";

/** One candidate, and the best known expectation. */
export interface ImprovementRequest {
  readonly mean: number;
  /** Posterior standard deviation. */
  readonly deviation: number;
  /** The value to improve on. */
  readonly best: number;
  /** Multiplier on the deviation. Default 1: the usual expected improvement. */
  readonly beta?: number;
}

/** E max(mean + beta deviation Z - best, 0) for a standard normal Z. **Source:** Calandriello et al. 2022, eq. 2. */
export function expectedImprovement(core: Core, { mean, deviation, best, beta = 1 }: ImprovementRequest): number {
  const scale = beta * deviation;
  return scale > 0 ? scale * core.improvement((mean - best) / scale) : Math.max(mean - best, 0);
}

/** The logarithm of `expectedImprovement`, at least -1.8e308. It distinguishes values below the smallest double. */
export function logExpectedImprovement(core: Core, { mean, deviation, best, beta = 1 }: ImprovementRequest): number {
  const scale = beta * deviation;
  const log = scale > 0 ? core.log(scale) + core.logImprovement((mean - best) / scale) : core.log(Math.max(mean - best, 0));
  return Math.max(log, -Number.MAX_VALUE);
}

/** The evaluations that determine the multiplier of expected improvement. */
export interface Evidence {
  /** t: evaluations so far, including pending ones. */
  readonly evaluations: number;
  /** log det(I + K / noiseVariance) over all evaluations. */
  readonly logDeterminant: number;
}

/**
 * beta = sqrt(G + sqrt(G L) + L), where G is the log-determinant and L = log(t / delta).
 * **Source:** Calandriello et al. 2022, section 4.2.
 */
export function improvementMultiplier(core: Core, { evaluations, logDeterminant: gain }: Evidence, delta: number): number {
  const confidence = core.log(Math.max(1, evaluations) / delta);
  return Math.sqrt(gain + Math.sqrt(gain * confidence) + confidence);
}

/** Scores candidates by the logarithm of the expected improvement over their greatest mean. */
export function improvementScores(core: Core, { mean, deviation }: Moments, beta: number): KnownScores {
  const best = mean.reduce((greatest, each) => Math.max(greatest, each));
  return {
    score: mean.map((each, i) => logExpectedImprovement(core, { mean: each, deviation: deviation[i], best, beta })),
    moments: known(mean, deviation, beta),
  };
}
