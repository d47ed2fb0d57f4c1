// Paper: Verma, Dai, Low, ICML 2022, Algorithm 1 (GP-UCB-SDF) and section 5 (contextual).
// Assumes: expected reward from a Gaussian process; feedback comes after a random delay; feedback after the window is ignored.
// Model: Gaussian process in which an impression counts at once, with reward 0 until it converts.
// Expired means: the reward stays 0.
// Cost: with n unique points O(k n^2) to choose, O(n^2) per impression, O(n d) per conversion.

import { type Contending, upperConfidenceList } from "../../model/gaussian-process/contenders.ts";
import { type GaussianProcessSettings, parseGaussianProcess } from "../../model/gaussian-process/gaussian-process-settings.ts";
import { refittedPosterior } from "../../model/pending/refitted-posterior.ts";
import { finiteNumber, oneOf } from "../../values/argument.ts";
import { definePolicy, type PolicyFactory } from "../rule.ts";

/** Options of `gpUcbSdf`. */
export interface GpUcbSdfOptions extends GaussianProcessSettings {
  /** Exploration apart from that for pending impressions, in standard deviations, default 1. */
  readonly beta?: number;
  /** B_y: greatest absolute reward, default 1. A pending impression adds this many of its own deviations to the width. */
  readonly rewardBound?: number;
  /** Multiplier on the width of the bonus or of the samples, default 1. */
  readonly exploration?: number;
  /** Deviations of pending impressions: under the present posterior ("exact", default), or the one that chose them, in O(m) memory. */
  readonly norms?: "exact" | "buffered";
}

/** GP-UCB-SDF: upper confidence bound for late rewards from a Gaussian process. Candidates are any feature vectors. */
export const gpUcbSdf: PolicyFactory<GpUcbSdfOptions> = /* @__PURE__ */ definePolicy({
  id: "gp-ucb-sdf",
  stateVersion: 1,

  parse(options: GpUcbSdfOptions) {
    return {
      ...parseGaussianProcess(options, ["beta", "rewardBound", "exploration", "norms"]),
      beta: finiteNumber("beta", options.beta ?? 1, 0),
      rewardBound: finiteNumber("rewardBound", options.rewardBound ?? 1, 0),
      exploration: finiteNumber("exploration", options.exploration ?? 1, 0),
      norms: oneOf("norms", options.norms ?? "exact", ["exact", "buffered"]),
    };
  },

  start({ core, window }, { beta, rewardBound, exploration, norms, ...settings }) {
    const state = refittedPosterior(core, settings, window, norms);
    const { posterior } = state;
    const contending: Contending = {
      predict: (points) => posterior.moments(points),
      contenders: (...request) => posterior.contenders(...request),
    };

    return {
      dimension: posterior.dimension,
      domain: posterior.domain,
      orderInvariant: settings.refit === null,
      deterministic: true,
      delayOffset: 1,
      state,
      score(request) {
        // In a fixed domain the deviations of open impressions are known once its points are scored.
        if (posterior.domain) posterior.moments(request.points);
        const nu = rewardBound * state.openWidth(request) + beta;
        return upperConfidenceList(contending, request, exploration * nu);
      },
    };
  },
});
