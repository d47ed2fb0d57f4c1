import { epsilonGreedy } from "afterclick";
import { KERNEL, POINTS, type PolicyFacts, PROCESS, row } from "./facts.ts";

export const epsilonGreedyFacts: PolicyFacts = {
  factory: epsilonGreedy,
  settings: [
    { label: "candidates", options: { dimension: 4 }, promises: row("known", "always", "always", "always"), invariant: true },
    {
      label: "in a domain",
      options: { domain: { points: POINTS }, explorationScale: 0.5, explorationDecay: 1 },
      promises: row("known", "always", "always", "always"),
      invariant: true,
    },
  ],
  required: { dimension: 2 },
  defaults: { ...PROCESS, explorationScale: 1, explorationDecay: 0.5 },
  delayOffset: 0,
  stateVersion: 1,
  regret: {
    policy: epsilonGreedy({ dimension: 3, kernel: KERNEL, noiseVariance: 0.2, capacity: 150 }),
    feedback: "conversions",
    runs: 8,
    mean: 32.82,
    deviation: 12.89,
  },
};
