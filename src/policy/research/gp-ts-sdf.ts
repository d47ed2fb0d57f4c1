// Paper: Verma, Dai, Low, ICML 2022, section 4 (GP-TS-SDF) and section 5 (contextual).
// Assumes: expected reward from a Gaussian process; feedback comes after a random delay; feedback after the window is ignored.
// Model: Gaussian process in which an impression counts at once, with reward 0 until it converts.
// Expired means: the reward stays 0.
// Cost: with n unique points O(k n^2 + k^3) to choose, O(n^2) per impression, O(n d) per conversion.

import { parseGaussianProcess } from "../../model/gaussian-process/gaussian-process-settings.ts";
import { refittedPosterior } from "../../model/pending/refitted-posterior.ts";
import { type Sampler, thompson, thompsonPathwise } from "../../model/posterior.ts";
import { finiteNumber, oneOf, outOfRange } from "../../values/argument.ts";
import type { GpUcbSdfOptions } from "../recommended/gp-ucb-sdf.ts";
import { definePolicy, type PolicyFactory } from "../rule.ts";

/** Options of `gpTsSdf`. */
export interface GpTsSdfOptions extends GpUcbSdfOptions {
  /** Sampling scale nu: as printed ("theory", default), or without pending impressions, as in the authors' code ("released"). */
  readonly scale?: "theory" | "released";
  /**
   * "joint" (default) draws by a Cholesky factor of the candidates' posterior covariance, O(k^3) per decision. "pathwise", in a fixed
   * domain, draws from the prior and corrects it, O(k^2 + k n). Both have the same distribution.
   */
  readonly sampler?: Sampler;
}

/** GP-TS-SDF: Thompson sampling for late rewards from a Gaussian process. Pending impressions widen its samples. */
export const gpTsSdf: PolicyFactory<GpTsSdfOptions> = /* @__PURE__ */ definePolicy({
  id: "gp-ts-sdf",
  stateVersion: 1,

  parse(options: GpTsSdfOptions) {
    const parsed = parseGaussianProcess(options, ["beta", "rewardBound", "scale", "sampler", "exploration", "norms"]);
    const sampler = oneOf("sampler", options.sampler ?? "joint", ["joint", "pathwise"]);
    if (sampler === "pathwise" && !parsed.domain) throw outOfRange("sampler", '"joint", as there is no domain', sampler);
    return {
      ...parsed,
      sampler,
      beta: finiteNumber("beta", options.beta ?? 1, 0),
      rewardBound: finiteNumber("rewardBound", options.rewardBound ?? 1, 0),
      scale: oneOf("scale", options.scale ?? "theory", ["theory", "released"]),
      exploration: finiteNumber("exploration", options.exploration ?? 1, 0),
      norms: oneOf("norms", options.norms ?? "exact", ["exact", "buffered"]),
    };
  },

  start({ core, window }, { beta, rewardBound, scale, sampler, exploration, norms, ...settings }) {
    const state = refittedPosterior(core, settings, window, norms);
    const { posterior } = state;

    return {
      dimension: posterior.dimension,
      domain: posterior.domain,
      orderInvariant: settings.refit === null,
      deterministic: false,
      delayOffset: 1,
      state,
      score(request) {
        // Deviation: the released code samples with the posterior covariance itself.
        const nu = scale === "released" ? 1 : rewardBound * state.openWidth(request) + beta;
        const draw = sampler === "pathwise" ? thompsonPathwise : thompson;
        return draw(posterior, request, exploration * nu);
      },
    };
  },
});
