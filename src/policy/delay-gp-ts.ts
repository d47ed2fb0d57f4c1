// Paper: none; the two kinds of knowledge are those of GP-BUCB (Desautels, Krause, Burdick, JMLR 2014), the additive kernel that
//   of Krause and Ong (NIPS 2011), hyper-parameters by their posterior density; forgetting as Bogunovic, Scarlett and Cevher
//   (AISTATS 2016), conversions by Laplace's approximation (Rasmussen and Williams 2006, algorithm 3.1).
// Assumes: expected reward from a Gaussian process over context and action, of conversions the logistic of one; feedback comes
//   after a random delay, or never.
// Model: two Gaussian processes of bounded size, the mean from the known outcomes, the variance from all impressions; their
//   kernel, and the noise, are fitted whenever the known outcomes have doubled in number. Of conversions the mean is from what
//   should have come of each impression by now, by the law of delays so far.
// Expired means: a reward of 0, known from then on; without a window nothing expires.
// Cost: with n points kept O(k n^2 + k^3) to choose, in a domain O(k) while nothing changed; O(n^2) per impression and conversion,
//   on average.

import { BernoulliPosterior } from "../model/gaussian-process/bernoulli-posterior.ts";
import { type DelayAwareSettings, parseDelayAware } from "../model/gaussian-process/delay-aware-settings.ts";
import { DelayAwarePosterior } from "../model/pending/delay-aware-posterior.ts";
import { thompson } from "../model/posterior.ts";
import { definePolicy, type PolicyFactory } from "./rule.ts";

/** Options of `delayGpTs`. */
export type DelayGpTsOptions = DelayAwareSettings;

/** Thompson sampling from a posterior whose spread knows what is pending. */
export const delayGpTs: PolicyFactory<DelayGpTsOptions> = /* @__PURE__ */ definePolicy({
  id: "delay-gp-ts",
  stateVersion: 2,

  parse: (options: DelayGpTsOptions) => parseDelayAware(options, 1),

  start({ core, window }, settings) {
    const posterior = settings.rewards === "bernoulli" ? BernoulliPosterior : DelayAwarePosterior;
    const state = new posterior(core, settings, window);

    return {
      dimension: settings.dimension,
      domain: state.domain,
      orderInvariant: false,
      deterministic: false,
      delayOffset: 1,
      state,
      score: (request) => thompson(state, request, settings.exploration),
    };
  },
});
