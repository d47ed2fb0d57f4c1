import { asyTs } from "afterclick";
import { ARRIVED, CONSTANT, POINTS, type PolicyFacts, row } from "./facts.ts";

export const asyTsFacts: PolicyFacts = {
  factory: asyTs,
  settings: [
    // Rows of the posterior are in order of arrival.
    { label: "candidates", options: { dimension: 4 }, promises: row("draws", "always", "never", "always") },
    {
      label: "refitted, in a domain",
      options: { domain: { points: POINTS }, refit: { every: 15 } },
      promises: row("draws", "always", "never", "afterwards"),
    },
  ],
  required: { dimension: 2 },
  defaults: CONSTANT,
  delayOffset: 1,
  stateVersion: 1,
  regret: { policy: asyTs(ARRIVED), feedback: "values", runs: 4, mean: 4.88, deviation: 0.9 },
};
