// Paper: Vakili, Ahmed, Bernacchia, Pike-Burke, ICML 2023, Algorithm 1 with u = 0: BPE of Li and Scarlett, AISTATS 2022.
// Assumes: expected reward from a Gaussian process over a fixed set of points; a known horizon; no delay.
// Model: per round a Gaussian process over the surviving points, from this round's queries and their rewards so far.
// Expired means: nothing. Feedback that comes after the end of its round is dropped.
// Cost: with k survivors and n queries of the round O(k n) to choose; at the end of a round O(k n^2).

import { PureExploration, type PureExplorationSettings, parsePureExploration } from "../../model/batch/pure-exploration.ts";
import { RoundSchedule } from "../../model/batch/round-schedule.ts";
import { finiteNumber, onlyKeys, wholeNumber } from "../../values/argument.ts";
import { definePolicy, leading, type PolicyFactory } from "../rule.ts";

/** Options of `bpe`. */
export interface BpeOptions extends PureExplorationSettings {
  /** T: total number of impressions. It sets the lengths of the rounds. */
  readonly horizon: number;
  /** Half the width of a confidence interval in deviations, default sqrt(6). */
  readonly beta?: number;
  /** Multiplier on `beta`, default 1. */
  readonly exploration?: number;
}

/** BPE: rounds of pure exploration over the points that may still be the best. */
export const bpe: PolicyFactory<BpeOptions> = /* @__PURE__ */ definePolicy({
  id: "bpe",
  stateVersion: 1,
  countsZeros: true,
  sequential: "it chooses the point that earlier queries of the round leave most uncertain, so each must be counted before the next",

  parse(options: BpeOptions) {
    onlyKeys("options", options, ["domain", "kernel", "noiseVariance", "horizon", "beta", "exploration"]);
    return {
      ...parsePureExploration(options),
      horizon: wholeNumber("horizon", options.horizon, 1, 1e12),
      beta: finiteNumber("beta", options.beta ?? Math.sqrt(6), 0),
      exploration: finiteNumber("exploration", options.exploration ?? 1, 0),
    };
  },

  start({ core }, { horizon, beta, exploration, ...settings }) {
    const state = new PureExploration(core, settings, new RoundSchedule(horizon, 0), exploration * beta);
    return leading(state);
  },
});
