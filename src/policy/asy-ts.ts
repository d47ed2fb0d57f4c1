// Paper: Verma, Dai, Low, ICML 2022, section 6, baseline asy-TS (Kandasamy et al. 2018).
// Assumes: expected reward from a Gaussian process; feedback comes after a random delay.
// Model: Gaussian process over the converted impressions. Pending impressions are ignored.
// Expired means: nothing.
// Cost: with n unique points O(k n^2 + k^3) to choose, O(n^2) per conversion.

import { GaussianProcess } from "../model/gaussian-process/gaussian-process.ts";
import { type ConstantWidthSettings, parseConstantWidth } from "../model/gaussian-process/gaussian-process-settings.ts";
import { ArrivedPosterior } from "../model/pending/arrived-posterior.ts";
import { thompson } from "../model/posterior.ts";
import { definePolicy, type PolicyFactory } from "./rule.ts";

/** Options of `asyTs`. */
export type AsyTsOptions = ConstantWidthSettings;

/** Asynchronous Thompson sampling: a draw from the posterior over converted impressions. */
export const asyTs: PolicyFactory<AsyTsOptions> = /* @__PURE__ */ definePolicy({
  id: "asy-ts",
  stateVersion: 1,

  parse: parseConstantWidth,

  start({ core }, { beta, exploration, ...settings }) {
    const posterior = new GaussianProcess(core, settings);
    const state = new ArrivedPosterior(posterior);

    return {
      dimension: posterior.dimension,
      domain: posterior.domain,
      orderInvariant: false,
      deterministic: false,
      delayOffset: 1,
      state,
      score: (request) => thompson(posterior, request, exploration * beta),
    };
  },
});
