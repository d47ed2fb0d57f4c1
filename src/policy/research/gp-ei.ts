// Paper: Calandriello, Carratino, Lazaric, Valko, Rosasco, ICML 2022, equation 2 (GP-EI, with the multiplier of Theorem 4.6).
// Assumes: expected reward from a Gaussian process; feedback may come late.
// Model: Gaussian process with its mean from the converted impressions, and its variance from all impressions.
// Expired means: the impression stays in the variance and never enters the mean.
// Cost: with n unique points O(k n^2) to choose, over a fixed domain O(k n); O(n^2) per impression and per conversion.

import { improvementMultiplier, improvementScores } from "../../model/gaussian-process/expected-improvement.ts";
import { GaussianProcess } from "../../model/gaussian-process/gaussian-process.ts";
import { type GaussianProcessSettings, parseGaussianProcess } from "../../model/gaussian-process/gaussian-process-settings.ts";
import { HallucinatedPosterior } from "../../model/pending/hallucinated-posterior.ts";
import { errorProbability, finiteNumber } from "../../values/argument.ts";
import { definePolicy, type PolicyFactory } from "../rule.ts";

/** Options of `gpEi`. */
export interface GpEiOptions extends GaussianProcessSettings {
  /** Probability that the bounds fail, default 0.1. */
  readonly delta?: number;
  /** Multiplier on the deviation, default 1. */
  readonly exploration?: number;
}

/** GP-EI: expected improvement on the best mean among the candidates. A score is the logarithm of the improvement. */
export const gpEi: PolicyFactory<GpEiOptions> = /* @__PURE__ */ definePolicy({
  id: "gp-ei",
  stateVersion: 1,
  countsZeros: true,

  parse(options: GpEiOptions) {
    return {
      ...parseGaussianProcess(options, ["delta", "exploration"]),
      delta: errorProbability("delta", options.delta ?? 0.1),
      exploration: finiteNumber("exploration", options.exploration ?? 1, 0),
    };
  },

  start({ core }, { delta, exploration, ...settings }) {
    const all = new GaussianProcess(core, settings);
    const another = (): GaussianProcess => new GaussianProcess(core, settings);
    const state = new HallucinatedPosterior(another(), all, settings.refit?.pending ? another : undefined);

    return {
      dimension: all.dimension,
      domain: all.domain,
      orderInvariant: false,
      deterministic: true,
      delayOffset: 0,
      state,
      score({ points, trial }) {
        const evidence = { evaluations: trial - 1, logDeterminant: 2 * all.informationGain() };
        return improvementScores(core, state.predict(points), exploration * improvementMultiplier(core, evidence, delta));
      },
    };
  },
});
