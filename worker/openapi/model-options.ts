import type { ModelBody } from "../protocol/schema.ts";

/** Descriptions of a model's options. Changing one of `policy`, `options`, `window`, `reward`, `encoder`, `seed`, `goals`, `examination` and `shadows` needs a reset. An option that a PUT leaves out keeps its stored value. */
export const modelOptions: Readonly<Record<keyof ModelBody, string>> = {
  policy: "Id of a policy; default delay-lin-ts.",
  options: "Options of the policy, at most six levels deep.",
  window: "How long after its impression a conversion counts; at most 366 days.",
  reward: "Range of rewards; default 0 to 1.",
  encoder:
    "Turns named features into a vector. Default: all interactions of context and action, and 256 dimensions for delay-lin-ts and delay-lin-ucb, 64 for other policies and for local models. An encoder that is given in part is completed by these defaults. With options.dimension and no encoder, features are arrays of numbers.",
  seed: "Seed of the policy's randomness; default 0.",
  goals:
    "The goals by name; other goals are refused. weight: factor on its rewards. window: how long its conversions count, up to the model's window. after: the goal that visitors reach before it. delay: the delay of all its conversions, if it is known. value: its rewards are amounts of money in a currency, which add up; an amount above max counts as max, by default above ten times what 99 % do not exceed. public: whether pages may report it; may change without a reset. Default: every goal is taken with weight 1.",
  examination:
    "Probability that a visitor examines each place of a list, relative to the first: the first is 1, the others are above 0 and at most 1. Later places have the last one. Delay-aware linear policies then count an impression by its place. Default: every place is examined.",
  shadows: "Up to two policies that learn and choose beside the served one. Their choices are recorded, not shown.",
  serving:
    "edge: any isolate decides by the newest publication. learner: the learner decides, one request after the other. Default: learner for policies that decide in sequence, which are always served there, and for deterministic ones without a minimumShare and with one shard; edge for all others.",
  draws: "Samples from which a Thompson policy computes propensities; default 100. 0 computes none.",
  greedy: "Ranks by the mean alone; default false.",
  holdout: "Share of uniformly random decisions as a control, up to 0.5; default 0.",
  minimumShare: "Least probability of each candidate at the first place, up to 0.5; default 0.",
  defaultAction: "Action that is served when no candidate is left; null for none.",
  shards:
    "Learners that share the model's events, 1 (default) to 32. The number can grow, and never falls. Policies whose state is a sum only.",
  limits:
    "Most impressions in open buckets (default 2,000,000; 200,000 for a Gaussian process), most bytes stored (default 2e9), and most deferred impressions (default 10,000; those of pages are refused from half of it on). From three quarters of one of the first two on, the model keeps a sample of its impressions. Deferred impressions over the limit get 429.",
  deferral: "How long a deferred impression waits to be shown, up to a day; default one hour.",
  retention: "How long rows of the event log are kept after their bucket closes, from a day to 366 days; default 30 days.",
  publish: "How long a change may wait for its publication; default two minutes. A young model publishes sooner, at most once a second.",
  local:
    "Whether pages may take publications with a publishable key, decide themselves and register their impressions. Linear policies only; default false.",
  pageActions:
    "Whether a publishable key may name actions outside the catalogue, with their features; numbers must lie inside the unit ball; default false.",
  pageKeys:
    "own (default): join keys of pages meet no conversions that a backend reports. shared: a key is the same whoever gives it, so everybody who has the publishable key can claim purchases.",
  pageLimit: "Most items of one recommendation to a publishable key, up to 100; default 20.",
  pageShare:
    "Greatest share of impressions that came with a publishable key among those that the model learns from; default 1. 0 leaves them all out.",
  featureNorm: "Greatest norm of context and features together, of a model without an encoder; default 1.",
};
