// Paper: Verma, Dai, Low, ICML 2022, section 6, baseline GP-UCB (Srinivas et al. 2010).
// Assumes: expected reward from a Gaussian process; feedback comes after a random delay.
// Model: Gaussian process over the converted impressions. Pending impressions are ignored.
// Expired means: nothing.
// Cost: with n unique points O(k n^2) to choose, O(n^2) per conversion.

import { GaussianProcess } from "../model/gaussian-process/gaussian-process.ts";
import { type ConstantWidthSettings, parseConstantWidth } from "../model/gaussian-process/gaussian-process-settings.ts";
import { ArrivedPosterior } from "../model/pending/arrived-posterior.ts";
import { upperConfidence } from "../model/posterior.ts";
import { definePolicy, type PolicyFactory } from "./rule.ts";

/** Options of `gpUcb`. */
export type GpUcbOptions = ConstantWidthSettings;

/** GP-UCB over converted impressions: an upper confidence bound that ignores pending impressions. */
export const gpUcb: PolicyFactory<GpUcbOptions> = /* @__PURE__ */ definePolicy({
  id: "gp-ucb",
  stateVersion: 1,

  parse: parseConstantWidth,

  start({ core }, { beta, exploration, ...settings }) {
    const posterior = new GaussianProcess(core, settings);
    const state = new ArrivedPosterior(posterior);

    return {
      dimension: posterior.dimension,
      domain: posterior.domain,
      orderInvariant: false,
      deterministic: true,
      delayOffset: 1,
      state,
      score: ({ points }) => upperConfidence(state.predict(points), exploration * beta),
    };
  },
});
