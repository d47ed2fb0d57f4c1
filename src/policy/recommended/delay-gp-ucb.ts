// Paper: none. Separate impressions for mean and variance from GP-BUCB (Desautels, Krause, Burdick, JMLR 2014); additive kernel from
//   Krause and Ong (NIPS 2011); hyper-parameters by their posterior density; forgetting from Bogunovic, Scarlett and Cevher
//   (AISTATS 2016); conversions by Laplace's approximation (Rasmussen and Williams 2006, algorithm 3.1).
// Assumes: expected reward from a Gaussian process over context and action, for conversions the logistic of one; feedback comes
//   after a random delay, or never.
// Model: two Gaussian processes of bounded size, the mean from the known outcomes, the variance from all impressions. Kernel and
//   noise are fitted whenever the known outcomes have doubled. For conversions, the mean comes from the share of each impression
//   that has matured, by the estimated distribution of delays.
// Expired means: a reward of 0, known from then on. Without a window nothing expires.
// Cost: with n points kept O(k n^2) to choose, in a domain O(k) while nothing changed; O(n^2) per impression and conversion,
//   on average.

import { isHalved } from "../../model/delay/forgetting.ts";
import { BernoulliPosterior } from "../../model/gaussian-process/bernoulli-posterior.ts";
import { upperConfidenceList } from "../../model/gaussian-process/contenders.ts";
import { type DelayAwareSettings, parseDelayAware } from "../../model/gaussian-process/delay-aware-settings.ts";
import { DelayAwarePosterior } from "../../model/pending/delay-aware-posterior.ts";
import { type Moments, upperConfidence } from "../../model/posterior.ts";
import type { Scores } from "../../model/ranking.ts";
import { definePolicy, type PolicyFactory } from "../rule.ts";

/** Options of `delayGpUcb`. */
export type DelayGpUcbOptions = DelayAwareSettings;

/** Upper confidence bound at a constant number of posterior standard deviations, which count pending impressions. */
export const delayGpUcb: PolicyFactory<DelayGpUcbOptions> = /* @__PURE__ */ definePolicy({
  id: "delay-gp-ucb",
  stateVersion: ({ rewards, forgetting }) => (rewards === "bernoulli" && isHalved(forgetting) ? 4 : 3),
  countsZeros: "without a window",

  parse: (options: DelayGpUcbOptions) => parseDelayAware(options, 2),

  start({ core, window }, settings) {
    const posterior = settings.rewards === "bernoulli" ? BernoulliPosterior : DelayAwarePosterior;
    const state = new posterior(core, settings, window);
    let last: { moments?: Moments; scores?: Scores } = {};
    return {
      dimension: settings.dimension,
      domain: state.domain,
      orderInvariant: false,
      deterministic: true,
      delayOffset: 1,
      state,
      score(request) {
        if (!state.domain) return upperConfidenceList(state, request, settings.exploration);
        const moments = state.predict(request.points);
        // Over a domain the moments seldom change between the decisions of a long run.
        if (last.moments !== moments) last = { moments, scores: upperConfidence(moments, settings.exploration) };
        return last.scores as Scores;
      },
    };
  },
});
