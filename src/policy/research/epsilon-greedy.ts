// Paper: Calandriello, Carratino, Lazaric, Valko, Rosasco, ICML 2022, section 5; a control.
// Assumes: expected reward from a Gaussian process; feedback may come late.
// Model: Gaussian process in which an impression counts at once, with reward 0 until it converts.
// Expired means: the reward stays 0.
// Cost: with n unique points O(k n^2) to choose, over a fixed domain O(k n); O(n^2) per impression.

import { GaussianProcess } from "../../model/gaussian-process/gaussian-process.ts";
import { type GaussianProcessSettings, parseGaussianProcess } from "../../model/gaussian-process/gaussian-process-settings.ts";
import { stateOf } from "../../model/posterior.ts";
import { known } from "../../model/ranking.ts";
import { finiteNumber } from "../../values/argument.ts";
import { definePolicy, type PolicyFactory } from "../rule.ts";

/** Options of `epsilonGreedy`. */
export interface EpsilonGreedyOptions extends GaussianProcessSettings {
  /** a in min(1, a / t^b), the probability that impression t is a random candidate. Default 1. */
  readonly explorationScale?: number;
  /** b in the same formula, default 1/2. */
  readonly explorationDecay?: number;
}

/** Epsilon-greedy: the best posterior mean, or, with falling probability, a candidate uniformly at random. */
export const epsilonGreedy: PolicyFactory<EpsilonGreedyOptions> = /* @__PURE__ */ definePolicy({
  id: "epsilon-greedy",
  stateVersion: 1,

  parse(options: EpsilonGreedyOptions) {
    return {
      ...parseGaussianProcess(options, ["explorationScale", "explorationDecay"]),
      explorationScale: finiteNumber("explorationScale", options.explorationScale ?? 1, 0),
      explorationDecay: finiteNumber("explorationDecay", options.explorationDecay ?? 0.5, 0),
    };
  },

  start({ core }, { explorationScale, explorationDecay, ...settings }) {
    const posterior = new GaussianProcess(core, settings);

    return {
      dimension: posterior.dimension,
      domain: posterior.domain,
      orderInvariant: settings.refit === null,
      deterministic: explorationScale === 0,
      delayOffset: 0,
      state: {
        ...stateOf(posterior),
        append(features) {
          const slot = posterior.append(features);
          posterior.elapse();
          return slot;
        },
        observe: (impression, reward, previous = 0) => posterior.reward(impression, reward, previous),
      },
      score({ points, count, trial, uniforms }) {
        const { mean } = posterior.moments(points);
        const epsilon = Math.min(1, explorationScale * core.exp(-explorationDecay * core.log(trial)));
        const lots = uniforms(count);
        const explores = lots[0] < epsilon;
        // The first lot is below epsilon here. Divided by epsilon it is uniform like the others.
        if (explores) lots[0] /= epsilon;
        return {
          score: explores ? lots : mean,
          isRandom: explores,
          moments: known(mean, new Float64Array(count)),
          rankings: { random: epsilon, count: 1, scores: () => mean },
        };
      },
    };
  },
});
