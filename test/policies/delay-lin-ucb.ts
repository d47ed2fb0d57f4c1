import { delayLinUcb } from "afterclick";
import { FUNNEL, MATURED, type PolicyFacts, PRICED, row } from "./facts.ts";

export const delayLinUcbFacts: PolicyFacts = {
  factory: delayLinUcb,
  settings: [
    // Until it is rebuilt, the chosen ridge depends on history. The linearisation point of log-odds always does.
    { label: "by evidence", options: { dimension: 4 }, promises: row("none", "always", "always", "afterwards"), invariant: true },
    { label: "fixed", options: { dimension: 4, shrinkage: "fixed" }, promises: row("none", "always", "always", "always"), invariant: true },
    // Holds while sums fit double precision.
    {
      label: "forgetting",
      options: { dimension: 4, shrinkage: "fixed", forgetting: { halfLife: 7 } },
      promises: row("none", "always", "always", "always"),
    },
    { label: "log-odds", options: { dimension: 4, rewards: "bernoulli" }, promises: row("none", "afterwards", "afterwards", "afterwards") },
    { label: "in a funnel", options: { dimension: 4 }, goals: FUNNEL, promises: row("none", "always", "always", "never"), invariant: true },
    {
      label: "by amounts",
      options: { dimension: 4, shrinkage: "fixed" },
      goals: PRICED,
      promises: row("none", "always", "always", "always"),
      invariant: true,
    },
  ],
  required: { dimension: 2 },
  defaults: MATURED,
  delayOffset: 0,
  stateVersion: 7,
  regret: { policy: delayLinUcb({ dimension: 3 }), feedback: "conversions", runs: 16, mean: 10.27, deviation: 5.69 },
};
