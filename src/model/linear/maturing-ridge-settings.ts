import { finiteNumber, oneOf, onlyKeys, outOfRange, positiveNumber, wholeNumber, wrongType } from "../../values/argument.ts";
import { type ForgettingSettings, parseForgetting } from "../delay/forgetting.ts";

/** Options of a delay-aware linear policy. */
export interface MaturingRidgeSettings {
  /** Features per candidate (d). */
  readonly dimension: number;
  /** Ridge of main effects in the variance, and the least ridge of the mean, default 0.1. */
  readonly ridge?: number;
  /**
   * Factor on the standard deviation of the samples, or on the bonus. It is multiplied by the root of log(2 + n / d) after n impressions
   * that had d features, and by the fourth root of 16 / d if that is less than 1.
   * Default 0.22.
   */
  readonly exploration?: number;
  /**
   * "evidence": the data choose the ridges, again whenever impressions have grown by a fifth. "fixed": `ridge`. Default
   * "evidence"; with "bernoulli" rewards "fixed".
   */
  readonly shrinkage?: "evidence" | "fixed";
  /** Variance of a reward before there are any rewards, default 0.25: the variance of a fair coin. */
  readonly rewardVariance?: number;
  /**
   * For changing worlds. "changes": impressions from before a change of rates lose their weight, as far as rewards show the change.
   * With `halfLife`, everything learnt so far counts half after every `halfLife` impressions. Null: nothing is forgotten. The
   * distribution of delays is never forgotten.
   *
   * "changes" keeps sums of O(d^2) for each of about 1.5 intervals of time per doubling of the age. It is the default for up to
   * 256 features, unless `shrinkage` is "fixed" and `rewards` are "linear": the order of events then changes no decision.
   */
  readonly forgetting?: ForgettingSettings | "changes" | null;
  /**
   * "linear" (default): the expected reward is linear in the features. "bernoulli": rewards are between 0 and 1, and the log-odds of
   * the expected reward are linear in the features, about those of the mean rate.
   *
   * With "bernoulli", means are inside 0 .. 1, and accurate where rates differ widely. A score of `delayLinUcb` is a probability; a
   * score of `delayLinTs` is the log-odds of a draw. Each impression is expanded once, about the estimate of its time: add
   * `forgetting` where rates change.
   */
  readonly rewards?: "linear" | "bernoulli";
  /**
   * The first component that tells whose delays differ, default 0. Impressions whose first nonzero feature from it on is the same
   * share a distribution of delays. With "bernoulli" rewards, delays have one distribution for all.
   */
  readonly delayComponents?: number;
  /**
   * The block of each feature, as `Encoder.blocks` has it: 0 for a constant, 1 for main effects of actions, 2 for those of contexts, and 3 to
   * 255 for interactions. With `shrinkage: "evidence"` each block has a ridge of its own, so that useless interactions shrink to nothing.
   * Products are then shrunk towards the rate that they have in common: that of the constant, or without one the rate that the policy finds.
   * Default: one block, shrunk towards the average visitor's product. **Shapes:** d.
   */
  readonly blocks?: readonly number[];
}

export type ParsedMaturingRidge = Required<MaturingRidgeSettings>;

/** @throws {TypeError | RangeError} unless there is a block for each feature, or none at all. */
export function parseBlocks(blocks: ArrayLike<number>, dimension: number): readonly number[] {
  if (typeof blocks?.length !== "number")
    throw wrongType("blocks", `an array of ${dimension} numbers, such as an encoder's blocks`, blocks);
  if (blocks.length > 0 && blocks.length !== dimension)
    throw outOfRange("blocks", `${dimension} numbers, one for each feature, or none`, `${blocks.length}`);
  return Array.from(blocks, (each, i) => wholeNumber(`blocks[${i}]`, each, 0, 255));
}

/** Most features with "changes" by default. With more, a year of intervals would take more than 10 MB. */
const MOST_BY_CHANGES = 256;

/** Checks the options, refuses unknown ones, and fills in defaults. */
export function parseMaturingRidge(options: MaturingRidgeSettings): ParsedMaturingRidge {
  const rewards = oneOf("rewards", options.rewards ?? "linear", ["linear", "bernoulli"]);
  onlyKeys("options", options, [
    "dimension",
    "ridge",
    "exploration",
    "shrinkage",
    "rewardVariance",
    "forgetting",
    "rewards",
    "delayComponents",
    "blocks",
  ]);
  const dimension = wholeNumber("dimension", options.dimension, 1, 4096);
  const shrinkage = oneOf("shrinkage", options.shrinkage ?? (rewards === "bernoulli" ? "fixed" : "evidence"), ["evidence", "fixed"]);
  const invariant = shrinkage === "fixed" && rewards === "linear";
  const { forgetting = invariant || dimension > MOST_BY_CHANGES ? null : "changes" } = options;
  return {
    dimension,
    ridge: positiveNumber("ridge", options.ridge ?? 0.1),
    exploration: finiteNumber("exploration", options.exploration ?? 0.22, 0),
    shrinkage,
    rewardVariance: positiveNumber("rewardVariance", options.rewardVariance ?? 0.25),
    forgetting: forgetting === "changes" ? forgetting : parseForgetting(forgetting),
    rewards,
    delayComponents: wholeNumber("delayComponents", options.delayComponents ?? 0, 0, 4096),
    blocks: parseBlocks(options.blocks ?? [], dimension),
  };
}
