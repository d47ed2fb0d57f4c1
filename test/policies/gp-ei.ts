import { gpEi } from "afterclick";
import { ARRIVED, POINTS, type PolicyFacts, PROCESS, row } from "./facts.ts";

export const gpEiFacts: PolicyFacts = {
  factory: gpEi,
  settings: [
    { label: "candidates", options: { dimension: 4 }, promises: row("none", "always", "never", "always") },
    { label: "in a domain", options: { domain: { points: POINTS } }, promises: row("none", "always", "never", "always") },
  ],
  required: { dimension: 2 },
  defaults: { ...PROCESS, delta: 0.1, exploration: 1 },
  delayOffset: 0,
  stateVersion: 1,
  regret: { policy: gpEi({ ...ARRIVED, exploration: 0.1 }), feedback: "values", runs: 2, mean: 4.13, deviation: 1.13 },
};
