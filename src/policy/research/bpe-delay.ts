// Paper: Vakili, Ahmed, Bernacchia, Pike-Burke, ICML 2023, Algorithm 1 (BPE-Delay).
// Assumes: expected reward from a Gaussian process over a fixed set of points; a known horizon; sub-exponential delays.
// Model: per round a Gaussian process over the surviving points, from this round's queries and their rewards so far.
// Expired means: nothing. Feedback that comes after the end of its round is dropped.
// Cost: with k survivors and n queries of the round O(k n) to choose; at the end of a round O(k n^2).

import { PureExploration, parsePureExploration } from "../../model/batch/pure-exploration.ts";
import { delayBound, RoundSchedule } from "../../model/batch/round-schedule.ts";
import { errorProbability, finiteNumber, onlyKeys, positiveNumber, wholeNumber } from "../../values/argument.ts";
import { definePolicy, leading, type PolicyFactory } from "../rule.ts";
import type { BpeOptions } from "./bpe.ts";

/** Options of `bpeDelay`. */
export interface BpeDelayOptions extends BpeOptions {
  /** E[tau]: the mean delay, in impressions. At 0 there is no delay, and the rounds are those of BPE. */
  readonly expectedDelay: number;
  /** Sub-exponential parameters of the delay, default 9 and 1, and the probability that a delay exceeds its bound, default 0.01. */
  readonly xi?: number;
  readonly b?: number;
  readonly delta?: number;
}

const known = ["domain", "kernel", "noiseVariance", "horizon", "expectedDelay", "xi", "b", "delta", "beta", "exploration"];

/** BPE-Delay: rounds of pure exploration over the points that may still be the best. Each is long enough for feedback to come. */
export const bpeDelay: PolicyFactory<BpeDelayOptions> = /* @__PURE__ */ definePolicy({
  id: "bpe-delay",
  stateVersion: 1,
  countsZeros: true,
  sequential: "it chooses the point that earlier queries of the round leave most uncertain, so each must be counted before the next",

  parse(options: BpeDelayOptions) {
    onlyKeys("options", options, known);
    return {
      ...parsePureExploration(options),
      horizon: wholeNumber("horizon", options.horizon, 1, 1e12),
      expectedDelay: finiteNumber("expectedDelay", options.expectedDelay, 0, 1e12),
      xi: positiveNumber("xi", options.xi ?? 9),
      b: positiveNumber("b", options.b ?? 1),
      delta: errorProbability("delta", options.delta ?? 0.01),
      beta: finiteNumber("beta", options.beta ?? Math.sqrt(6), 0),
      exploration: finiteNumber("exploration", options.exploration ?? 1, 0),
    };
  },

  start({ core }, { horizon, expectedDelay, xi, b, delta, beta, exploration, ...settings }) {
    const wait = delayBound(core, { horizon, expectedDelay, xi, b, delta });
    const state = new PureExploration(core, settings, new RoundSchedule(horizon, wait), exploration * beta);
    return leading(state);
  },
});
