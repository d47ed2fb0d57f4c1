import { dlpp } from "afterclick";
import { BOX, CONFIDENCE, DOMAIN, LINE, LIPSCHITZ, POINTS, type PolicyFacts, row } from "./facts.ts";

export const dlppFacts: PolicyFacts = {
  factory: dlpp,
  settings: [
    {
      label: "in a box",
      options: { domain: { box: BOX }, horizon: 60, sigma: 0.02 },
      proposes: true,
      promises: row("unknown", "afterwards", "afterwards", "none"),
    },
    {
      label: "among points",
      options: { domain: { points: POINTS }, horizon: 60, sigma: 0.02, freeze: true },
      proposes: true,
      promises: row("unknown", "never", "never", "none"),
    },
  ],
  required: { domain: DOMAIN, horizon: 90 },
  defaults: { ...CONFIDENCE, pruneMultiplier: 4, freeze: false },
  delayOffset: 0,
  stateVersion: 1,
  regret: { policy: dlpp({ ...LIPSCHITZ, pruneMultiplier: 2 }), feedback: "values", actions: LINE, runs: 4, mean: 34.29, deviation: 9.19 },
};
