// Paper: Verma, Dai, Low, ICML 2022, section 6, baseline asy-TS (Kandasamy et al. 2018).
// Assumes: expected reward from a Gaussian process; feedback comes after a random delay.
// Model: Gaussian process over what has arrived; an impression that has not is dropped, as if never made.
// Expired means: nothing.
// Cost: with n unique points O(k n^2 + k^3) to choose, O(n^2) per conversion.
import { finiteNumber, onlyKeys } from "../argument.ts";
import { ArrivedPosterior } from "../model/arrived-posterior.ts";
import { GaussianProcess, type GaussianProcessSettings, gaussianProcessOptions, parseGaussianProcess } from "../model/gaussian-process.ts";
import { definePolicy, type PolicyFactory } from "./policy.ts";

export interface AsyTsOptions extends GaussianProcessSettings {
  /** Sampling scale in standard deviations, default 1. */
  readonly beta?: number;
  /** Multiplier on the sampling standard deviation, default 1. */
  readonly exploration?: number;
}

/** Asynchronous Thompson sampling: a draw from the posterior of what has arrived. */
export const asyTs: PolicyFactory<AsyTsOptions> = /* @__PURE__ */ definePolicy({
  id: "asy-ts",
  stateVersion: 1,

  parse(options: AsyTsOptions) {
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
      score({ points, count, normals }) {
        const { mean, deviation, sample } = posterior.sample(points, normals(count), exploration * beta);
        return { score: sample, mean, width: deviation.map((each) => exploration * beta * each) };
      },
    };
  },
});
