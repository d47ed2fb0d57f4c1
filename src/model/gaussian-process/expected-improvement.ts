import type { Core } from "../../core/core.ts";
import type { Moments } from "../posterior.ts";
import { type KnownScores, known } from "../ranking.ts";

/** What a candidate promises beyond the best known expectation. */
export interface ImprovementRequest {
  readonly mean: number;
  /** Posterior standard deviation. */
  readonly deviation: number;
  /** The value to improve on. */
  readonly best: number;
  /** Multiplier on the deviation, default 1: the usual expected improvement. */
  readonly beta?: number;
}

/** E max(mean + beta deviation Z - best, 0) of a standard normal Z. **Source:** Calandriello et al. 2022, eq. 2. */
export function expectedImprovement(core: Core, { mean, deviation, best, beta = 1 }: ImprovementRequest): number {
  const scale = beta * deviation;
  return scale > 0 ? scale * core.improvement((mean - best) / scale) : Math.max(mean - best, 0);
}

/** Its logarithm, which keeps apart what differs below the smallest number; at least -1.8e308. */
export function logExpectedImprovement(core: Core, { mean, deviation, best, beta = 1 }: ImprovementRequest): number {
  const scale = beta * deviation;
  const log = scale > 0 ? core.log(scale) + core.logImprovement((mean - best) / scale) : core.log(Math.max(mean - best, 0));
  return Math.max(log, -Number.MAX_VALUE);
}

/** What the multiplier of expected improvement goes by. */
export interface Evidence {
  /** t: evaluations made so far, pending ones included. */
  readonly evaluations: number;
  /** log det(I + K / noiseVariance) over all of them. */
  readonly logDeterminant: number;
}

/** beta = sqrt(G + sqrt(G L) + L), G the log-determinant and L = log(t / delta). **Source:** Calandriello et al. 2022, section 4.2. */
export function improvementMultiplier(core: Core, { evaluations, logDeterminant: gain }: Evidence, delta: number): number {
  const confidence = core.log(Math.max(1, evaluations) / delta);
  return Math.sqrt(gain + Math.sqrt(gain * confidence) + confidence);
}

/** Scores candidates by the logarithm of their expected improvement on the greatest mean among them. */
export function improvementScores(core: Core, { mean, deviation }: Moments, beta: number): KnownScores {
  const best = mean.reduce((greatest, each) => Math.max(greatest, each));
  return {
    score: mean.map((each, i) => logExpectedImprovement(core, { mean: each, deviation: deviation[i], best, beta })),
    moments: known(mean, deviation, beta),
  };
}
