import { bpe } from "afterclick";
import { DOMAIN, EXPLORING, LINE, ON_LINE, POINTS, type PolicyFacts, row } from "./facts.ts";

export const bpeFacts: PolicyFacts = {
  factory: bpe,
  settings: [
    {
      label: "past its horizon",
      options: { domain: { points: POINTS }, horizon: 20, beta: 0.5 },
      proposes: true,
      promises: row("none", "afterwards", "afterwards", "afterwards"),
    },
  ],
  required: { domain: DOMAIN, horizon: 90 },
  defaults: EXPLORING,
  delayOffset: 0,
  stateVersion: 1,
  regret: { policy: bpe({ ...ON_LINE, horizon: 600, beta: 1 }), feedback: "values", actions: LINE, runs: 4, mean: 29.48, deviation: 3.85 },
};
