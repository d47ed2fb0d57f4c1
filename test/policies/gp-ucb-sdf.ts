import { gpUcbSdf } from "afterclick";
import { DELAYED, OPEN, POINTS, type PolicyFacts, row } from "./facts.ts";

export const gpUcbSdfFacts: PolicyFacts = {
  factory: gpUcbSdf,
  settings: [
    { label: "exact", options: { dimension: 4 }, promises: row("none", "always", "always", "always"), invariant: true },
    {
      label: "at capacity, buffered",
      options: { dimension: 4, capacity: 12, norms: "buffered" },
      promises: row("none", "always", "always", "always"),
      invariant: true,
    },
    // Fitted hyper-parameters depend on history.
    { label: "refitted", options: { dimension: 4, refit: { every: 10 } }, promises: row("none", "always", "never", "afterwards") },
    {
      label: "refitted with noise and pending",
      options: { dimension: 4, refit: { every: 10, until: 40, noise: true, pending: true } },
      promises: row("none", "always", "never", "afterwards"),
    },
    { label: "in a domain", options: { domain: { points: POINTS } }, promises: row("none", "always", "always", "always"), invariant: true },
  ],
  required: { dimension: 2 },
  defaults: OPEN,
  delayOffset: 1,
  stateVersion: 1,
  regret: { policy: gpUcbSdf(DELAYED), feedback: "conversions", runs: 8, mean: 19.67, deviation: 9.82 },
};
