// Defaults of a model with named features. A worker, a page and a program of one's own have the same.

import type { EncoderOptions } from "../encoding/encoder.ts";
import type { PolicyDescriptor, PolicyFactory } from "../policy/rule.ts";

/** Policy of a new model. */
export const DEFAULT_POLICY = "delay-lin-ts";
/** Samples from which a Thompson policy of a new model computes propensities. */
export const DEFAULT_DRAWS = 100;

/** Policies that learn the distribution of delays. */
const DELAY_AWARE: readonly string[] = ["delay-lin-ts", "delay-lin-ucb"];
/** Components of their vectors, and of those of other policies. */
const DIMENSION = 256;
const LESS_DIMENSION = 64;

/** Options of a new model's learning. Each may be left out. */
export interface LearningOptions {
  readonly policy?: string | undefined;
  readonly options?: Readonly<Record<string, unknown>> | undefined;
  /** In part: the defaults complete it. Null: features are numbers. */
  readonly encoder?: Partial<EncoderOptions> | null | undefined;
  /** Whether pages fetch the posterior, which grows with the square of the dimension. */
  readonly local?: boolean | undefined;
}

/** Policy, options and encoder of a new model, with the defaults of what is left out. The options of its policy have defaults of their own. */
export function learningDefaults({ policy = DEFAULT_POLICY, options = {}, encoder, local }: LearningOptions): {
  readonly policy: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly encoder: EncoderOptions | null;
} {
  if (encoder === null || (!encoder && ("dimension" in options || options.domain))) return { policy, options, encoder: null };
  const dimension = DELAY_AWARE.includes(policy) && !local ? DIMENSION : LESS_DIMENSION;
  const { dimension: given = dimension } = options as Partial<EncoderOptions>;
  return { policy, options, encoder: { dimension: given, interactions: "all", ...encoder } };
}

/**
 * The descriptor of a policy for an encoder: with its dimension if the policy takes features, delays by the categories of actions, and norms
 * that do not go through all pending impressions. Given `options` replace these.
 * @param dimension of the features. Default: the encoder's.
 */
export function describePolicy(
  factory: PolicyFactory<object>,
  options: Readonly<Record<string, unknown>>,
  encoder: EncoderOptions | null,
  dimension = encoder?.dimension,
): PolicyDescriptor {
  const given = { ...delayOptions(factory, encoder), ...options };
  const named = dimension !== undefined && takesFeatures(factory, given) ? { dimension, ...given } : given;
  const { norms } = factory(named).options as { readonly norms?: string };
  return factory(norms === "exact" && options.norms === undefined ? { ...named, norms: "buffered" } : named);
}

/** The components of actions' categories follow the constant and two for each declared number. */
function delayOptions({ id }: PolicyFactory<object>, encoder: EncoderOptions | null): object {
  return encoder && DELAY_AWARE.includes(id) ? { delayComponents: 1 + 2 * Object.keys(encoder.numeric ?? {}).length } : {};
}

function takesFeatures(factory: PolicyFactory<object>, options: object): boolean {
  try {
    return "dimension" in factory(options).options;
  } catch (error) {
    // The call with a dimension names any other option that is missing.
    return (error as Error).message.startsWith("dimension:");
  }
}
