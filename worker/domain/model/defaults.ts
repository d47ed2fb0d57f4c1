import type { EncoderOptions } from "afterclick";
import { DEFAULTS } from "../../protocol/model-options.ts";
import type { ModelBody } from "../../protocol/schema.ts";

// Defaults that depend on other options. The others are in the table of options.

/** Version of all defaults. It rises when one of them changes. A model keeps those of its creation. Since 4 a reward of 0 is silence. */
export const DEFAULTS_VERSION = 4;

/**
 * Policy, options and encoder of a new model, with the defaults of what its creator does not name. The options of its policy have defaults
 * of their own.
 */
export function learningDefaults({ policy = DEFAULTS.policy, options = {}, encoder, local }: Partial<ModelBody>): {
  readonly policy: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly encoder: EncoderOptions | null;
} {
  if (!encoder && ("dimension" in options || options.domain)) return { policy, options, encoder: null };
  // A page fetches the posterior of a local model, which grows with the square of the dimension.
  const dimension = DELAY_AWARE.includes(policy) && !local ? 256 : 64;
  const { dimension: given = dimension } = options as Partial<EncoderOptions>;
  return { policy, options, encoder: { dimension: given, interactions: "all", ...encoder } };
}

/** Policies that learn the distribution of delays. */
export const DELAY_AWARE = ["delay-lin-ts", "delay-lin-ucb"];

/** Most impressions in open buckets for a Gaussian process, which holds their features in memory. */
export const MOST_HELD = 200_000;
