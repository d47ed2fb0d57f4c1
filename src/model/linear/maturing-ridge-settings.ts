import { finiteNumber, oneOf, onlyKeys, positiveNumber, wholeNumber } from "../../argument.ts";
import { type ForgettingSettings, parseForgetting } from "../delay/forgetting.ts";

/** Options of a delay-aware linear policy. */
export interface MaturingRidgeSettings {
  /** Features per candidate (d). */
  readonly dimension: number;
  /** Ridge of the variance, and the least of the mean, default 0.1. */
  readonly ridge?: number;
  /** Multiplier on the standard deviation of what is sampled, or on the bonus, default 0.35, of log-odds 0.2. */
  readonly exploration?: number;
  /** The ridge of the mean by the evidence of the data (default), chosen anew as impressions grow by a fifth; or `ridge`. */
  readonly shrinkage?: "evidence" | "fixed";
  /** What the variance of a reward is thought to be before there are any, default 0.25: that of a fair coin. */
  readonly rewardVariance?: number;
  /**
   * For worlds that change: after every `halfLife` impressions, all that was learnt before counts for half as much. The law of
   * delays is not forgotten. Default: null, nothing is.
   */
  readonly forgetting?: ForgettingSettings | null;
  /**
   * What is linear in the features: the expected reward (default), or, with "bernoulli", the log-odds of a reward of 1, the others
   * being 0. Means are chances then, and right ones where rates differ widely; a score is a chance of `delayLinUcb`, and of
   * `delayLinTs` the log-odds of a draw. The regret is about the same. Each impression is looked at once, by what was known then:
   * where rates change, it takes `forgetting`.
   */
  readonly rewards?: "linear" | "bernoulli";
}

export type ParsedMaturingRidge = Required<MaturingRidgeSettings>;

/** Checks them, unknown ones too, and fills in defaults. */
export function parseMaturingRidge(options: MaturingRidgeSettings): ParsedMaturingRidge {
  const rewards = oneOf("rewards", options.rewards ?? "linear", ["linear", "bernoulli"]);
  onlyKeys("options", options, ["dimension", "ridge", "exploration", "shrinkage", "rewardVariance", "forgetting", "rewards"]);
  return {
    dimension: wholeNumber("dimension", options.dimension, 1, 4096),
    ridge: positiveNumber("ridge", options.ridge ?? 0.1),
    exploration: finiteNumber("exploration", options.exploration ?? (rewards === "bernoulli" ? 0.2 : 0.35), 0),
    shrinkage: oneOf("shrinkage", options.shrinkage ?? "evidence", ["evidence", "fixed"]),
    rewardVariance: positiveNumber("rewardVariance", options.rewardVariance ?? 0.25),
    forgetting: parseForgetting(options.forgetting),
    rewards,
  };
}
