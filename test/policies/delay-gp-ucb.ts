import { delayGpUcb } from "afterclick";
import { LEARNT, LENGTHSCALES, POINTS, type PolicyFacts, row } from "./facts.ts";

export const delayGpUcbFacts: PolicyFacts = {
  factory: delayGpUcb,
  settings: [
    {
      label: "candidates with a context",
      options: { dimension: 4, contextDimension: 1 },
      promises: row("none", "always", "never", "afterwards"),
    },
    { label: "in a domain", options: { domain: { points: POINTS } }, promises: row("none", "always", "never", "afterwards") },
    { label: "at capacity", options: { dimension: 4, capacity: 16 }, promises: row("none", "never", "never", "never") },
    {
      label: "bernoulli, with a context",
      options: { dimension: 4, contextDimension: 1, rewards: "bernoulli" },
      promises: row("none", "always", "never", "never"),
    },
    {
      label: "bernoulli, in a domain",
      options: { domain: { points: POINTS }, rewards: "bernoulli" },
      promises: row("none", "always", "never", "never"),
    },
    {
      label: "forgetting",
      options: { dimension: 4, capacity: 30, forgetting: { halfLife: 20 } },
      promises: row("none", "never", "never", "afterwards"),
    },
  ],
  required: { dimension: 2 },
  defaults: { ...LEARNT, exploration: 2, lengthscale: LENGTHSCALES },
  delayOffset: 1,
  stateVersion: 3,
  regret: { policy: delayGpUcb({ dimension: 3, capacity: 150 }), feedback: "values", runs: 2, mean: 7.74, deviation: 1.85 },
};
