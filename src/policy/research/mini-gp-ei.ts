// Paper: Calandriello, Carratino, Lazaric, Valko, Rosasco, ICML 2022, Algorithm 2 (MINI-META) over GP-EI.
// Assumes: expected reward from a Gaussian process over a fixed set of candidates, each of which may be evaluated many times.
// Model: Gaussian process over unique candidates, with its mean from the arrived rewards, and its variance from all evaluations.
// Expired means: the evaluation stays in the variance and never enters the mean.
// Cost: with k candidates and n unique evaluated ones O(k n) per batch, O(n^2) per impression and per conversion.

import { type BatchSettings, CandidateBatches, parseBatches } from "../../model/batch/candidate-batches.ts";
import { improvementMultiplier, improvementScores } from "../../model/gaussian-process/expected-improvement.ts";
import { best } from "../../model/ranking.ts";
import { errorProbability, finiteNumber } from "../../values/argument.ts";
import { definePolicy, leading, type PolicyFactory } from "../rule.ts";

/** Options of `miniGpEi`. */
export interface MiniGpEiOptions extends BatchSettings {
  /** Probability that the bounds fail, default 0.1. */
  readonly delta?: number;
  /** Multiplier on the deviation, default 1. */
  readonly exploration?: number;
}

/** MINI-GP-EI: expected improvement, repeating a candidate while its uncertainty is large. A score is the improvement's logarithm. */
export const miniGpEi: PolicyFactory<MiniGpEiOptions> = /* @__PURE__ */ definePolicy({
  id: "mini-gp-ei",
  stateVersion: 1,
  countsZeros: true,
  sequential: "it repeats its choice for a batch, and counts the repeats before it chooses again",

  parse(options: MiniGpEiOptions) {
    return {
      ...parseBatches(options, ["delta", "exploration"]),
      delta: errorProbability("delta", options.delta ?? 0.1),
      exploration: finiteNumber("exploration", options.exploration ?? 1, 0),
    };
  },

  start({ core }, { threshold, batchRule, delta, exploration, ...settings }) {
    const state: CandidateBatches = new CandidateBatches(core, settings, { threshold, batchRule }, (posterior, evidence) => {
      const multiplier = exploration * improvementMultiplier(core, evidence, delta);
      const { mean, deviation } = posterior.predict(state.domain.points);
      const { score } = improvementScores(core, { mean, deviation }, multiplier);
      const [index] = best(score, 1);
      return { index, score: score[index], mean: mean[index], deviation: deviation[index], multiplier };
    });
    return leading(state);
  },
});
