// Paper: Verma, Dai, Low, ICML 2022, section 6, baseline GP-BTS, GP-BUCB's Thompson sampling twin.
// Assumes: expected reward from a Gaussian process; feedback comes after a random delay.
// Model: Gaussian process with its mean from the converted impressions, and its variance from all impressions.
// Expired means: the impression stays in the variance and never enters the mean.
// Cost: with n unique points O(k n^2 + k^3) to choose, O(n^2) per conversion and per impression.
import type { ConstantWidthSettings } from "../../model/gaussian-process/gaussian-process-settings.ts";
import { HallucinatedPosterior } from "../../model/pending/hallucinated-posterior.ts";
import { thompson } from "../../model/posterior.ts";
import { constantWidth } from "../constant-width.ts";
import type { PolicyFactory } from "../rule.ts";

/** Options of `gpBts`. */
export type GpBtsOptions = ConstantWidthSettings;

/** GP-BTS: Thompson sampling. Pending impressions already narrow its samples. */
export const gpBts: PolicyFactory<GpBtsOptions> = /* @__PURE__ */ constantWidth({
  id: "gp-bts",
  deterministic: false,
  state: (process, another, imputes) => new HallucinatedPosterior(process, another(), imputes ? another : undefined),
  score: (state, request, multiplier) => thompson(state, request, multiplier),
});
