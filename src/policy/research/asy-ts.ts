// Paper: Verma, Dai, Low, ICML 2022, section 6, baseline asy-TS (Kandasamy et al. 2018).
// Assumes: expected reward from a Gaussian process; feedback comes after a random delay.
// Model: Gaussian process over the converted impressions. Pending impressions are ignored.
// Expired means: nothing.
// Cost: with n unique points O(k n^2 + k^3) to choose, O(n^2) per conversion.
import type { ConstantWidthSettings } from "../../model/gaussian-process/gaussian-process-settings.ts";
import { arrivedPosterior } from "../../model/pending/arrived-posterior.ts";
import { thompson } from "../../model/posterior.ts";
import { constantWidth } from "../constant-width.ts";
import type { PolicyFactory } from "../rule.ts";

/** Options of `asyTs`. */
export type AsyTsOptions = ConstantWidthSettings;

/** Asynchronous Thompson sampling: a draw from the posterior over converted impressions. */
export const asyTs: PolicyFactory<AsyTsOptions> = /* @__PURE__ */ constantWidth({
  id: "asy-ts",
  deterministic: false,
  state: arrivedPosterior,
  score: (state, request, multiplier) => thompson(state, request, multiplier),
});
