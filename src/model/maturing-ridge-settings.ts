import { finiteNumber, oneOf, onlyKeys, positiveNumber, wholeNumber } from "../argument.ts";

/** Options of a delay-aware linear policy. */
export interface MaturingRidgeSettings {
  /** Features per candidate (d). */
  readonly dimension: number;
  /** Ridge of the variance, and the least of the mean, default 0.1. */
  readonly ridge?: number;
  /** Multiplier on the standard deviation of what is sampled, or on the bonus, default 0.35. */
  readonly exploration?: number;
  /** The ridge of the mean by the evidence of the data (default), chosen anew as impressions grow by a fifth; or `ridge`. */
  readonly shrinkage?: "evidence" | "fixed";
  /** What the variance of a reward is thought to be before there are any, default 0.25: that of a fair coin. */
  readonly rewardVariance?: number;
}

export type ParsedMaturingRidge = Required<MaturingRidgeSettings>;

/** Checks them, unknown ones too, and fills in defaults. */
export function parseMaturingRidge(options: MaturingRidgeSettings): ParsedMaturingRidge {
  onlyKeys("options", options, ["dimension", "ridge", "exploration", "shrinkage", "rewardVariance"]);
  return {
    dimension: wholeNumber("dimension", options.dimension, 1, 4096),
    ridge: positiveNumber("ridge", options.ridge ?? 0.1),
    exploration: finiteNumber("exploration", options.exploration ?? 0.35, 0),
    shrinkage: oneOf("shrinkage", options.shrinkage ?? "evidence", ["evidence", "fixed"]),
    rewardVariance: positiveNumber("rewardVariance", options.rewardVariance ?? 0.25),
  };
}
