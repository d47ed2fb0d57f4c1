// Paper: Verma, Dai, Low, ICML 2022, section 6, baseline GP-UCB (Srinivas et al. 2010).
// Assumes: expected reward from a Gaussian process; feedback comes after a random delay.
// Model: Gaussian process over what has arrived; an impression that has not is dropped, as if never made.
// Expired means: nothing.
// Cost: with n unique points O(k n^2) to choose, O(n^2) per conversion.
import { finiteNumber, onlyKeys } from "../argument.ts";
import { ArrivedPosterior } from "../model/arrived-posterior.ts";
import { GaussianProcess, type GaussianProcessSettings, gaussianProcessOptions, parseGaussianProcess } from "../model/gaussian-process.ts";
import { upperConfidence } from "../model/posterior.ts";
import { definePolicy, type PolicyFactory } from "./policy.ts";

export interface GpUcbOptions extends GaussianProcessSettings {
  /** Bonus in standard deviations, default 1. */
  readonly beta?: number;
  /** Multiplier on the bonus, default 1. */
  readonly exploration?: number;
}

/** GP-UCB on what has arrived: optimism that ignores pending impressions. */
export const gpUcb: PolicyFactory<GpUcbOptions> = /* @__PURE__ */ definePolicy({
  id: "gp-ucb",
  stateVersion: 1,

  parse(options: GpUcbOptions) {
    onlyKeys("options", options, [...gaussianProcessOptions, "beta", "exploration"]);
    return {
      ...parseGaussianProcess(options),
      beta: finiteNumber("beta", options.beta ?? 1, 0),
      exploration: finiteNumber("exploration", options.exploration ?? 1, 0),
    };
  },

  start({ core }, { beta, exploration, ...settings }) {
    const posterior = new GaussianProcess(core, settings);
    const state = new ArrivedPosterior(posterior);

    return {
      dimension: posterior.dimension,
      domain: posterior.domain,
      orderInvariant: false,
      delayOffset: 1,
      state,
      score: ({ points }) => upperConfidence(state.predict(points), exploration * beta),
    };
  },
});
