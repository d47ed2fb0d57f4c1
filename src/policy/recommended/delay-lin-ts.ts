// Paper: none. Regression on censored labels as in Vernade et al. (ICML 2020), corrected by the delays so far.
// Assumes: linear expected reward, or linear log-odds of it; a conversion comes after a random delay or never.
// Model: ridge regression in which an impression of age s counts F(s) in the mean and wholly in the variance (`MaturingRidge`).
//   Laws of delays may differ by the first nonzero feature (`OwnLaws`). Each goal has a regression of its own (`GoalRidges`).
//   In a place that visitors examine with probability e, an impression counts e times, and its rewards count wholly.
// Expired means: a reward of 0.
// Cost: O(d^3 + c d^2 + k d) to choose after a change, with c cohorts of age; O(d^2) per impression, O(d) per conversion.
import { isHalved } from "../../model/delay/forgetting.ts";
import { GoalRidges } from "../../model/goals/goal-ridges.ts";
import { MaturingRidge } from "../../model/linear/maturing-ridge.ts";
import { type MaturingRidgeSettings, parseMaturingRidge } from "../../model/linear/maturing-ridge-settings.ts";
import { ridgeNumbers } from "../../model/linear/ridge.ts";
import { definePolicy, type PolicyFactory } from "../rule.ts";

/** Options of `delayLinTs`. */
export type DelayLinTsOptions = MaturingRidgeSettings;

/** Thompson sampling for late linear rewards. It learns how late they come, and how much actions differ. */
export const delayLinTs: PolicyFactory<DelayLinTsOptions> = /* @__PURE__ */ definePolicy({
  id: "delay-lin-ts",
  stateVersion: ({ forgetting }) => (isHalved(forgetting) ? 9 : 8),
  publishes: true,

  parse: parseMaturingRidge,
  leastNumbers: ridgeNumbers,

  start({ core, window, reward, goals }, { exploration, ...settings }) {
    const options = { ...settings, reward };
    const state = goals ? new GoalRidges(core, window, options, goals) : new MaturingRidge(core, window, options);
    return {
      dimension: settings.dimension,
      orderInvariant: state.orderInvariant,
      merges: state.orderInvariant || 'rewards: "linear", and forgetting: "changes" or null',
      deterministic: false,
      delayOffset: 0,
      state,
      means: (candidates) => state.means(candidates),
      score: (request) => state.sampleScores(request, exploration),
      moments: (request, indices) => state.upper(request.rows(indices), exploration),
    };
  },
});
