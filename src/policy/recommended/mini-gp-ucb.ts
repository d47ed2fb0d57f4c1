// Paper: Calandriello, Carratino, Lazaric, Valko, Rosasco, ICML 2022, Algorithm 2 (MINI-META) over GP-UCB.
// Assumes: expected reward from a Gaussian process over a fixed set of candidates, each of which may be evaluated many times.
// Model: Gaussian process over unique candidates, with its mean from the arrived rewards, and its variance from all evaluations.
// Expired means: the evaluation stays in the variance and never enters the mean.
// Cost: with k candidates and n unique evaluated ones O(k n) per batch, O(n^2) per impression and per conversion.

import { type BatchSettings, CandidateBatches, parseBatches } from "../../model/batch/candidate-batches.ts";
import { upperConfidenceLeader } from "../../model/gaussian-process/leader.ts";
import { errorProbability, finiteNumber, oneOf } from "../../values/argument.ts";
import { definePolicy, leading, type PolicyFactory } from "../rule.ts";

/** Options of `miniGpUcb`. */
export interface MiniGpUcbOptions extends BatchSettings {
  /**
   * Multiplier on the deviation. "frequentist" (default): F + sqrt(log det(I + K / noiseVariance) + log(1 / delta)). "bayesian":
   * sqrt(2 log(k t^2 pi^2 / (6 delta))), for k candidates and t evaluations.
   */
  readonly confidence?: "frequentist" | "bayesian";
  /** F: bound on the norm of the expected reward in the kernel's space, default 1. */
  readonly normBound?: number;
  /** Probability that the bounds fail, default 0.1. */
  readonly delta?: number;
  /** Multiplier on the bonus, default 1. */
  readonly exploration?: number;
}

/** MINI-GP-UCB: GP-UCB that repeats a candidate while its uncertainty is large. With `threshold: 1` it is plain GP-UCB. */
export const miniGpUcb: PolicyFactory<MiniGpUcbOptions> = /* @__PURE__ */ definePolicy({
  id: "mini-gp-ucb",
  stateVersion: 1,
  countsZeros: true,
  sequential: "it repeats its choice for a batch, and counts the repeats before it chooses again",

  parse(options: MiniGpUcbOptions) {
    return {
      ...parseBatches(options, ["confidence", "normBound", "delta", "exploration"]),
      confidence: oneOf("confidence", options.confidence ?? "frequentist", ["frequentist", "bayesian"]),
      normBound: finiteNumber("normBound", options.normBound ?? 1, 0),
      delta: errorProbability("delta", options.delta ?? 0.1),
      exploration: finiteNumber("exploration", options.exploration ?? 1, 0),
    };
  },

  start({ core }, { threshold, batchRule, confidence, normBound, delta, exploration, ...settings }) {
    const state = new CandidateBatches(core, settings, { threshold, batchRule }, ({ lazy }, { evaluations, logDeterminant }) => {
      const t = Math.max(1, evaluations);
      const beta =
        confidence === "bayesian"
          ? Math.sqrt(2 * core.log((lazy.mean.mean.length * t * t * Math.PI * Math.PI) / (6 * delta)))
          : normBound + Math.sqrt(logDeterminant + core.log(1 / delta));
      const multiplier = exploration * beta;
      const { index, score } = upperConfidenceLeader(lazy, multiplier);
      return { index, score, mean: lazy.mean.mean[index], deviation: lazy.deviation.deviation[index], multiplier };
    });
    return leading(state);
  },
});
