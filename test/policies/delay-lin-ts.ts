import { delayLinTs } from "afterclick";
import { FUNNEL, MATURED, type PolicyFacts, PRICED, row, SOLD } from "./facts.ts";

export const delayLinTsFacts: PolicyFacts = {
  factory: delayLinTs,
  settings: [
    // Until it is rebuilt, the chosen ridge depends on history. The linearisation point of log-odds always does.
    { label: "by evidence", options: { dimension: 4 }, promises: row("draws", "always", "always", "afterwards"), invariant: true },
    {
      label: "fixed",
      options: { dimension: 4, shrinkage: "fixed", ridge: 0.5 },
      promises: row("draws", "always", "always", "always"),
      invariant: true,
    },
    // Holds while sums fit double precision.
    {
      label: "forgetting, by evidence",
      options: { dimension: 4, forgetting: { halfLife: 9 } },
      promises: row("draws", "always", "always", "afterwards"),
    },
    {
      label: "log-odds, fixed, forgetting",
      options: { dimension: 4, rewards: "bernoulli", shrinkage: "fixed", forgetting: { halfLife: 11 } },
      promises: row("draws", "afterwards", "afterwards", "afterwards"),
    },
    {
      label: "in a funnel, log-odds",
      options: { dimension: 4, rewards: "bernoulli" },
      goals: FUNNEL,
      promises: row("draws", "never", "never", "never"),
    },
    {
      label: "with blocks, and a prior",
      options: { dimension: 4, blocks: [0, 1, 3, 4] },
      prior: SOLD,
      promises: row("draws", "always", "always", "afterwards"),
      invariant: true,
    },
    {
      label: "with blocks whose level is found",
      options: { dimension: 4, blocks: [1, 1, 2, 5] },
      promises: row("draws", "always", "always", "afterwards"),
      invariant: true,
    },
    {
      label: "log-odds, fixed, with a prior",
      options: { dimension: 4, rewards: "bernoulli", shrinkage: "fixed", forgetting: { halfLife: 11 } },
      prior: SOLD,
      promises: row("draws", "afterwards", "afterwards", "afterwards"),
    },
    { label: "by amounts", options: { dimension: 4 }, goals: PRICED, promises: row("draws", "always", "always", "never"), invariant: true },
  ],
  required: { dimension: 2 },
  defaults: MATURED,
  delayOffset: 0,
  stateVersion: 8,
  regret: { policy: delayLinTs({ dimension: 3 }), feedback: "conversions", runs: 16, mean: 12.93, deviation: 5.85 },
};
