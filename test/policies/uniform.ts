import { uniform } from "afterclick";
import { type PolicyFacts, row } from "./facts.ts";

export const uniformFacts: PolicyFacts = {
  factory: uniform,
  settings: [{ label: "", options: {}, promises: row("known", "always", "always", "none"), invariant: true }],
  required: {},
  defaults: {},
  delayOffset: 0,
  stateVersion: 1,
  regret: "baseline",
};
