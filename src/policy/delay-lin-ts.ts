// Paper: none; regression on censored labels as Vernade et al. (ICML 2020) have it, corrected by the delays so far.
// Assumes: expected reward linear, or its log-odds; a conversion comes after a random delay, whose law is nobody's choice, or never.
// Model: ridge regression in which an impression of age s counts for F(s) in the mean and wholly in the variance (maturing-ridge).
// Expired means: a zero.
// Cost: O(d^3 + c d^2 + k d) to choose after a change, c cohorts of age; O(d^2) per impression, O(d) per conversion.
import { MaturingRidge } from "../model/linear/maturing-ridge.ts";
import { type MaturingRidgeSettings, parseMaturingRidge } from "../model/linear/maturing-ridge-settings.ts";
import { rowsAt } from "../model/ranking.ts";
import { definePolicy, type PolicyFactory } from "./rule.ts";

/** Options of `delayLinTs`. */
export type DelayLinTsOptions = MaturingRidgeSettings;

/** Thompson sampling for linear rewards that come late, which learns how late, and how much there is to tell apart. */
export const delayLinTs: PolicyFactory<DelayLinTsOptions> = /* @__PURE__ */ definePolicy({
  id: "delay-lin-ts",
  stateVersion: 2,

  parse: parseMaturingRidge,

  start({ core, window }, { exploration, ...settings }) {
    const state = new MaturingRidge(core, window, settings);
    return {
      dimension: settings.dimension,
      orderInvariant: state.orderInvariant,
      deterministic: false,
      delayOffset: 0,
      state,
      score: (request) => ({
        ...state.sampleScores(request, exploration),
        moments: (indices) => state.upper(rowsAt(request.points, settings.dimension, indices), exploration),
      }),
    };
  },
});
