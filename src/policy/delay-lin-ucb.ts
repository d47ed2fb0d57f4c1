// Paper: none; regression on censored labels as Vernade et al. (ICML 2020) have it, corrected by the delays so far.
// Assumes: linear expected reward; a conversion comes after a random delay, whose law is nobody's choice, or never.
// Model: ridge regression in which an impression of age s counts for F(s) in the mean and wholly in the variance (maturing-ridge).
// Expired means: a zero.
// Cost: O(d^3 + c d^2 + k d) to choose after a change, c cohorts of age; O(d^2) per impression, O(d) per conversion.
import { finiteNumber, oneOf, onlyKeys, positiveNumber, wholeNumber } from "../argument.ts";
import { MaturingRidge } from "../model/maturing-ridge.ts";
import { upperConfidence } from "../model/posterior.ts";
import { definePolicy, type PolicyFactory } from "./rule.ts";

/** Options of `delayLinUcb`. */
export interface DelayLinUcbOptions {
  /** Features per candidate (d). */
  readonly dimension: number;
  /** Ridge of the variance, and the least of the mean, default 0.1. */
  readonly ridge?: number;
  /** Multiplier on the bonus, default 0.35. */
  readonly exploration?: number;
  /** The ridge of the mean by the evidence of the data (default), chosen anew as impressions grow by a fifth; or `ridge`. */
  readonly shrinkage?: "evidence" | "fixed";
  /** What the variance of a reward is thought to be before there are any, default 0.25: that of a fair coin. */
  readonly rewardVariance?: number;
}

/** Optimism for linear rewards that come late, which learns how late, and how much there is to tell apart. */
export const delayLinUcb: PolicyFactory<DelayLinUcbOptions> = /* @__PURE__ */ definePolicy({
  id: "delay-lin-ucb",
  stateVersion: 1,

  parse(options: DelayLinUcbOptions) {
    onlyKeys("options", options, ["dimension", "ridge", "exploration", "shrinkage", "rewardVariance"]);
    return {
      dimension: wholeNumber("dimension", options.dimension, 1, 4096),
      ridge: positiveNumber("ridge", options.ridge ?? 0.1),
      exploration: finiteNumber("exploration", options.exploration ?? 0.35, 0),
      shrinkage: oneOf("shrinkage", options.shrinkage ?? "evidence", ["evidence", "fixed"]),
      rewardVariance: positiveNumber("rewardVariance", options.rewardVariance ?? 0.25),
    };
  },

  start({ core, window }, { exploration, ...settings }) {
    const state = new MaturingRidge(core, window, settings);
    return {
      dimension: settings.dimension,
      orderInvariant: settings.shrinkage === "fixed",
      deterministic: true,
      delayOffset: 0,
      state,
      score: ({ points }) => upperConfidence(state.moments(points), exploration * state.spread),
    };
  },
});
