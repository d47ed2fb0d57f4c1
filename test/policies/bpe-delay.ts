import { bpeDelay } from "afterclick";
import { DOMAIN, EXPLORING, LINE, ON_LINE, POINTS, type PolicyFacts, row } from "./facts.ts";

export const bpeDelayFacts: PolicyFacts = {
  factory: bpeDelay,
  settings: [
    {
      label: "short rounds",
      options: { domain: { points: POINTS }, horizon: 40, expectedDelay: 2, xi: 1, b: 0.2 },
      proposes: true,
      promises: row("none", "afterwards", "afterwards", "afterwards"),
    },
  ],
  required: { domain: DOMAIN, horizon: 90, expectedDelay: 2 },
  defaults: { ...EXPLORING, expectedDelay: 2, xi: 9, b: 1, delta: 0.01 },
  delayOffset: 0,
  stateVersion: 1,
  regret: {
    policy: bpeDelay({ ...ON_LINE, horizon: 600, expectedDelay: 15, xi: 2 }),
    feedback: "values",
    actions: LINE,
    runs: 4,
    mean: 55.65,
    deviation: 4.68,
  },
};
