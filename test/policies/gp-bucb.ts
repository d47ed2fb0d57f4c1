import { gpBucb } from "afterclick";
import { ARRIVED, CONSTANT, POINTS, type PolicyFacts, row } from "./facts.ts";

export const gpBucbFacts: PolicyFacts = {
  factory: gpBucb,
  settings: [
    // Rows of the posterior are in order of arrival.
    { label: "candidates", options: { dimension: 4 }, promises: row("none", "always", "never", "always") },
    {
      label: "refitted, in a domain",
      options: { domain: { points: POINTS }, refit: { every: 15 } },
      promises: row("none", "always", "never", "afterwards"),
    },
    {
      label: "refitted with noise and pending",
      options: { dimension: 4, refit: { every: 10, until: 40, noise: true, pending: true } },
      promises: row("none", "always", "never", "afterwards"),
    },
  ],
  required: { dimension: 2 },
  defaults: CONSTANT,
  delayOffset: 1,
  stateVersion: 1,
  regret: { policy: gpBucb(ARRIVED), feedback: "values", runs: 4, mean: 3.91, deviation: 0.99 },
};
