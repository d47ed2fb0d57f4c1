import type { EncoderOptions } from "afterclick";
import type { ModelBody } from "../../protocol/schema.ts";

/** Version of the defaults. It rises when one of them changes. A model keeps those of its creation. */
export const DEFAULTS_VERSION = 3;

const DAY_MS = 86_400_000;

/**
 * Policy, options and encoder of a new model, with the defaults of what its creator does not name. The options of its policy have defaults
 * of their own.
 */
export function learningDefaults({ policy = "delay-lin-ts", options = {}, encoder, local }: Partial<ModelBody>): {
  readonly policy: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly encoder: EncoderOptions | null;
} {
  if (!encoder && ("dimension" in options || "domain" in options)) return { policy, options, encoder: null };
  // A page fetches the posterior of a local model, which grows with the square of the dimension.
  const dimension = DELAY_AWARE.includes(policy) && !local ? 256 : 64;
  const { dimension: given = dimension } = options as Partial<EncoderOptions>;
  return { policy, options, encoder: { dimension: given, interactions: "all", ...encoder } };
}

/** Policies that learn the distribution of delays. */
export const DELAY_AWARE = ["delay-lin-ts", "delay-lin-ucb"];

/** Most impressions in open buckets for a Gaussian process, which holds their features in memory. */
export const MOST_HELD = 200_000;

/** All other defaults. A model that was made before one of these options existed has its default too. */
export const DEFAULTS = {
  reward: { min: 0, max: 1 },
  seed: 0,
  goals: null,
  serving: "edge",
  draws: 100,
  greedy: false,
  holdout: 0,
  minimumShare: 0,
  defaultAction: null,
  shards: 1,
  limits: { open: 2_000_000, bytes: 2_000_000_000, deferred: 10_000 },
  deferral: { ms: 3_600_000 },
  retention: { ms: 30 * DAY_MS },
  publish: { ms: 120_000 },
  local: false,
  pageActions: false,
  pageKeys: "own",
  pageLimit: 20,
  pageShare: 1,
  featureNorm: 1,
} as const;
