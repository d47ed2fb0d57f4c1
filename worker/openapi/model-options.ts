import type { ModelBody } from "../protocol/schema.ts";

/** What each option of a model does. What was learnt is bound to the first eight. */
export const modelOptions: Readonly<Record<keyof ModelBody, string>> = {
  policy: "Id of a policy; default delay-lin-ts.",
  options: "The policy's own options; at most six levels deep.",
  window: "How long a conversion counts after its impression was shown; at most 366 days.",
  reward: "Range of rewards; default 0 to 1.",
  encoder:
    "Turns named features into a vector; default 64 dimensions, with all interactions of context and action. With options.dimension and no encoder, features are arrays of numbers.",
  seed: "Of the policy's randomness; default 0.",
  goals: "What a reward of each goal is worth, by its name; other goals are then refused. Default: every goal is taken, with weight 1.",
  shadows: "Up to two policies that learn from what is shown and choose beside the one that is served.",
  serving:
    "edge (default): any isolate decides, by the newest published snapshot. learner: the learner decides, one request after the other; policies that need it are always served so.",
  draws: "Samples from which a Thompson policy's probabilities follow; default 100, 0: none.",
  greedy: "Ranks by the mean alone; default false.",
  holdout: "Share of decisions made uniformly at random as a control, up to 0.5; default 0.",
  minimumShare: "Least chance of each candidate to come first, up to 0.5; default 0.",
  defaultAction: "What is served when there is nothing to choose among.",
  limits: "Most impressions whose books are open (default 200,000), and most bytes stored (default 2e9): beyond, 429.",
  retention: "How long the log is kept after its books are closed, from a day to a year; default 30 days.",
  publish: "Least time between two snapshots; default a minute.",
  local:
    "Whether pages may take snapshots with a publishable key, decide themselves and register what they have shown; for linear policies, default false.",
};
