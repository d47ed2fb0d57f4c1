import { otfLinUcb } from "afterclick";
import { type PolicyFacts, row } from "./facts.ts";

export const otfLinUcbFacts: PolicyFacts = {
  factory: otfLinUcb,
  settings: [
    { label: "released, buffered", options: { dimension: 4 }, promises: row("none", "always", "always", "always"), invariant: true },
    {
      label: "theory, exact",
      options: { dimension: 4, width: "theory", norms: "exact" },
      promises: row("none", "always", "always", "always"),
      invariant: true,
    },
  ],
  required: { dimension: 2 },
  defaults: { dimension: 2, delta: 0.1, ridge: 1, exploration: 1, width: "released", norms: "buffered" },
  delayOffset: 0,
  stateVersion: 1,
  regret: { policy: otfLinUcb({ dimension: 3, exploration: 0.2 }), feedback: "conversions", runs: 16, mean: 9.46, deviation: 4.9 },
};
