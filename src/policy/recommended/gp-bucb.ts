// Paper: Verma, Dai, Low, ICML 2022, section 6, baseline GP-BUCB (Desautels et al. 2014).
// Assumes: expected reward from a Gaussian process; feedback comes after a random delay.
// Model: Gaussian process with its mean from the converted impressions, and its variance from all impressions.
// Expired means: the impression stays in the variance and never enters the mean.
// Cost: with n unique points O(k n^2) to choose, O(n^2) per conversion and per impression.
import { upperConfidenceList } from "../../model/gaussian-process/contenders.ts";
import type { ConstantWidthSettings } from "../../model/gaussian-process/gaussian-process-settings.ts";
import { HallucinatedPosterior } from "../../model/pending/hallucinated-posterior.ts";
import { constantWidth } from "../constant-width.ts";
import type { PolicyFactory } from "../rule.ts";

/** Options of `gpBucb`. */
export type GpBucbOptions = ConstantWidthSettings;

/** GP-BUCB: upper confidence bound. Pending impressions already shrink its bonus. */
export const gpBucb: PolicyFactory<GpBucbOptions> = /* @__PURE__ */ constantWidth({
  id: "gp-bucb",
  deterministic: true,
  state: (process, another, imputes) => new HallucinatedPosterior(process, another(), imputes ? another : undefined),
  score: (state, ...asked) => upperConfidenceList(state, ...asked),
});
