import { gpUcb } from "afterclick";
import { ARRIVED, CONSTANT, POINTS, type PolicyFacts, row } from "./facts.ts";

export const gpUcbFacts: PolicyFacts = {
  factory: gpUcb,
  settings: [
    // Rows of the posterior are in order of arrival.
    { label: "candidates", options: { dimension: 4 }, promises: row("none", "always", "never", "always") },
    {
      label: "refitted, in a domain",
      options: { domain: { points: POINTS }, refit: { every: 15 } },
      promises: row("none", "always", "never", "afterwards"),
    },
  ],
  required: { dimension: 2 },
  defaults: CONSTANT,
  delayOffset: 1,
  stateVersion: 1,
  regret: { policy: gpUcb(ARRIVED), feedback: "values", runs: 4, mean: 4.07, deviation: 1.13 },
};
