import { delayedZooming } from "afterclick";
import { BOX, CONFIDENCE, DOMAIN, LINE, LIPSCHITZ, POINTS, type PolicyFacts, row } from "./facts.ts";

export const delayedZoomingFacts: PolicyFacts = {
  factory: delayedZooming,
  settings: [
    {
      label: "in a box",
      options: { domain: { box: BOX }, horizon: 60, sigma: 0.1, resolution: 4, activation: "random" },
      proposes: true,
      promises: row("unknown", "never", "never", "none"),
    },
    {
      label: "among points",
      options: { domain: { points: POINTS }, horizon: 60, metric: "euclidean", lazyFloor: 0 },
      proposes: true,
      promises: row("none", "afterwards", "never", "none"),
    },
  ],
  required: { domain: DOMAIN, horizon: 90 },
  defaults: { ...CONFIDENCE, metric: "maximum", lazy: true, lazyFloor: 1, unobserved: "first", activation: "first" },
  delayOffset: 0,
  stateVersion: 1,
  regret: { policy: delayedZooming(LIPSCHITZ), feedback: "values", actions: LINE, runs: 4, mean: 12.67, deviation: 3.13 },
};
