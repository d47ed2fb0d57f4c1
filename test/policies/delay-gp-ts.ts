import { delayGpTs } from "afterclick";
import { LEARNT, LENGTHSCALES, POINTS, type PolicyFacts, row } from "./facts.ts";

export const delayGpTsFacts: PolicyFacts = {
  factory: delayGpTs,
  settings: [
    {
      label: "candidates with a context",
      options: { dimension: 4, contextDimension: 1, exploration: 1 },
      promises: row("draws", "always", "never", "afterwards"),
    },
    {
      label: "in a domain, at capacity",
      options: { domain: { points: POINTS }, capacity: 10 },
      promises: row("draws", "never", "never", "never"),
    },
    {
      label: "bernoulli, at capacity",
      options: { dimension: 4, capacity: 16, rewards: "bernoulli" },
      promises: row("draws", "afterwards", "never", "never"),
    },
    {
      label: "bernoulli, forgetting",
      options: { dimension: 4, rewards: "bernoulli", forgetting: { halfLife: 12 } },
      promises: row("draws", "never", "never", "never"),
    },
    {
      label: "forgetting, in a domain",
      options: { domain: { points: POINTS }, forgetting: { halfLife: 12 } },
      promises: row("draws", "never", "never", "afterwards"),
    },
  ],
  required: { dimension: 2 },
  defaults: { ...LEARNT, exploration: 1, lengthscale: LENGTHSCALES },
  delayOffset: 1,
  stateVersion: 3,
  regret: {
    policy: delayGpTs({ dimension: 3, capacity: 150, exploration: 0.5 }),
    feedback: "values",
    runs: 2,
    mean: 8.69,
    deviation: 2.49,
  },
};
