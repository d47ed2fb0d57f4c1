import type { Core } from "../../core/core.ts";
import { finiteNumber, outOfRange, positiveNumber, wholeNumber } from "../../values/argument.ts";

/** The parameters of a confidence interval around a mean reward. */
export interface ConfidenceSettings {
  /** The number of rounds that will be played (T). */
  readonly horizon: number;
  /** Sub-Gaussian parameter of the noise of a reward. Default 0.5, which holds for any reward between 0 and 1. */
  readonly sigma?: number;
  /** Probability that an interval fails, above 0 and below 1, default 0.01. */
  readonly delta?: number;
}

export const confidenceOptions = ["horizon", "sigma", "delta"] as const;

/** @throws {TypeError | RangeError} naming the option. */
export function parseConfidence({ horizon, sigma = 0.5, delta = 0.01 }: ConfidenceSettings): Required<ConfidenceSettings> {
  if (finiteNumber("delta", delta, 0, 1) === 0 || delta === 1) throw outOfRange("delta", "a number above 0 and below 1", delta);
  return { horizon: wholeNumber("horizon", horizon, 1), sigma: positiveNumber("sigma", sigma), delta };
}

/** 4 log T + 2 log(2 / delta). The radius for n rewards is sigma sqrt(this / (1 + n)). */
export function confidenceTerm(core: Core, { horizon, delta }: Required<ConfidenceSettings>): number {
  // A difference of logarithms, because 2 / delta overflows for the smallest delta.
  return 4 * core.log(horizon) + 2 * (core.log(2) - core.log(delta));
}
