import { bestsellers } from "afterclick";
import { FUNNEL, type PolicyFacts, row } from "./facts.ts";

/** Three products, the first of which sells best. */
const PRODUCTS = [
  [1, 0, 0],
  [0, 1, 0],
  [0, 0, 1],
];

export const bestsellersFacts: PolicyFacts = {
  factory: bestsellers,
  settings: [
    { label: "by id", options: { random: 0, period: 20_000 }, promises: row("known", "always", "always", "none"), invariant: true },
    {
      label: "by id, rate, at random",
      options: { by: "rate", random: 0.2 },
      goals: FUNNEL,
      promises: row("known", "always", "always", "none"),
      invariant: true,
    },
    {
      label: "by features, rate",
      options: { dimension: 4, by: "rate", random: 0.05 },
      promises: row("known", "always", "always", "none"),
      invariant: true,
    },
  ],
  required: {},
  defaults: { by: "sales", random: 0.05, period: null },
  delayOffset: 0,
  stateVersion: 1,
  regret: {
    policy: bestsellers({ by: "rate", random: 0.05 }),
    feedback: "conversions",
    actions: PRODUCTS,
    runs: 16,
    mean: 24.06,
    deviation: 15.59,
  },
};
