import { miniGpUcb } from "afterclick";
import { BATCHES, DOMAIN, LINE, ON_LINE, POINTS, type PolicyFacts, row } from "./facts.ts";

export const miniGpUcbFacts: PolicyFacts = {
  factory: miniGpUcb,
  settings: [
    {
      label: "frequentist",
      options: { domain: { points: POINTS }, threshold: 1.5 },
      proposes: true,
      promises: row("none", "always", "never", "always"),
    },
    {
      label: "Bayesian, raw, refitted",
      options: { domain: { points: POINTS }, confidence: "bayesian", batchRule: "raw", refit: { every: 15 } },
      proposes: true,
      promises: row("none", "always", "never", "afterwards"),
    },
  ],
  required: { domain: DOMAIN },
  defaults: { ...BATCHES, confidence: "frequentist", normBound: 1 },
  delayOffset: 0,
  stateVersion: 1,
  regret: {
    policy: miniGpUcb({ ...ON_LINE, exploration: 0.3 }),
    feedback: "values",
    actions: LINE,
    runs: 8,
    mean: 3.35,
    deviation: 1.48,
  },
};
