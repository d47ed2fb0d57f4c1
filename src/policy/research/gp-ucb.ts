// Paper: Verma, Dai, Low, ICML 2022, section 6, baseline GP-UCB (Srinivas et al. 2010).
// Assumes: expected reward from a Gaussian process; feedback comes after a random delay.
// Model: Gaussian process over the converted impressions. Pending impressions are ignored.
// Expired means: nothing.
// Cost: with n unique points O(k n^2) to choose, O(n^2) per conversion.
import { upperConfidenceList } from "../../model/gaussian-process/contenders.ts";
import type { ConstantWidthSettings } from "../../model/gaussian-process/gaussian-process-settings.ts";
import { arrivedPosterior } from "../../model/pending/arrived-posterior.ts";
import { constantWidth } from "../constant-width.ts";
import type { PolicyFactory } from "../rule.ts";

/** Options of `gpUcb`. */
export type GpUcbOptions = ConstantWidthSettings;

/** GP-UCB over converted impressions: an upper confidence bound that ignores pending impressions. */
export const gpUcb: PolicyFactory<GpUcbOptions> = /* @__PURE__ */ constantWidth({
  id: "gp-ucb",
  deterministic: true,
  state: arrivedPosterior,
  score: (state, ...asked) => upperConfidenceList(state, ...asked),
});
