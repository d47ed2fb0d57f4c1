import { miniGpEi } from "afterclick";
import { BATCHES, DOMAIN, LINE, ON_LINE, POINTS, type PolicyFacts, row } from "./facts.ts";

export const miniGpEiFacts: PolicyFacts = {
  factory: miniGpEi,
  settings: [
    {
      label: "",
      options: { domain: { points: POINTS }, threshold: 2 },
      proposes: true,
      promises: row("none", "always", "never", "always"),
    },
  ],
  required: { domain: DOMAIN },
  defaults: BATCHES,
  delayOffset: 0,
  stateVersion: 1,
  regret: {
    policy: miniGpEi({ ...ON_LINE, exploration: 0.3 }),
    feedback: "values",
    actions: LINE,
    runs: 4,
    mean: 4.08,
    deviation: 1.25,
  },
};
