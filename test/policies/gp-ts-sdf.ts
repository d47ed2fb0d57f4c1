import { gpTsSdf } from "afterclick";
import { DELAYED, OPEN, POINTS, type PolicyFacts, row } from "./facts.ts";

export const gpTsSdfFacts: PolicyFacts = {
  factory: gpTsSdf,
  settings: [
    { label: "theory", options: { dimension: 4 }, promises: row("draws", "always", "always", "always"), invariant: true },
    {
      label: "released, at capacity",
      options: { dimension: 4, scale: "released", capacity: 12 },
      promises: row("draws", "always", "always", "always"),
      invariant: true,
    },
    {
      label: "in a domain",
      options: { domain: { points: POINTS } },
      promises: row("draws", "always", "always", "always"),
      invariant: true,
    },
    {
      label: "pathwise, in a domain",
      options: { domain: { points: POINTS }, sampler: "pathwise" },
      promises: row("draws", "always", "always", "always"),
      invariant: true,
    },
  ],
  required: { dimension: 2 },
  defaults: { ...OPEN, sampler: "joint", scale: "theory" },
  delayOffset: 1,
  stateVersion: 1,
  regret: { policy: gpTsSdf({ ...DELAYED, exploration: 0.3 }), feedback: "conversions", runs: 8, mean: 23.81, deviation: 10.87 },
};
