import { otfLinTs } from "afterclick";
import { type PolicyFacts, row } from "./facts.ts";

export const otfLinTsFacts: PolicyFacts = {
  factory: otfLinTs,
  settings: [
    { label: "released, buffered", options: { dimension: 4 }, promises: row("draws", "always", "always", "always"), invariant: true },
    {
      label: "theory, exact, capped",
      options: { dimension: 4, width: "theory", norms: "exact", widthCap: 1.5, exploration: 0.25 },
      promises: row("draws", "always", "always", "always"),
      invariant: true,
    },
  ],
  required: { dimension: 2 },
  defaults: { dimension: 2, delta: 0.1, ridge: 0.25, exploration: 1, width: "released", widthCap: Number.MAX_VALUE, norms: "buffered" },
  delayOffset: 0,
  stateVersion: 2,
  regret: { policy: otfLinTs({ dimension: 3, exploration: 0.3 }), feedback: "conversions", runs: 16, mean: 16.85, deviation: 6.17 },
};
