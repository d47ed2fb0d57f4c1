import { type EncoderOptions, encoder, type PolicyDescriptor, type PolicyFactory, policies, Recommender } from "afterclick";
import { Problem } from "./problem.ts";
import type { Action, Features, ModelBody } from "./schema.ts";

/** A Thompson policy: identical requests are not all answered alike, and its width stays bounded however much is pending. */
export const defaultPolicy = {
  policy: "otf-lin-ts",
  options: { width: "theory", exploration: 0.25, widthCap: 1, norms: "buffered" },
} as const;

const defaultEncoder = { dimension: 64, interactions: "all" } as const;

/** A model's configuration with all defaults filled in. */
export interface ModelConfig {
  readonly policy: string;
  readonly options: object;
  readonly window: { readonly ms: number };
  readonly reward: { readonly min: number; readonly max: number };
  readonly serving: "learner";
  /** Null: features come as numbers. */
  readonly encoder: EncoderOptions | null;
  readonly seed: number;
}

/**
 * Fills in the defaults.
 * @throws {Problem} 422 with the SDK's message, or why the worker does not serve such a model.
 */
export function modelConfig(body: ModelBody): ModelConfig {
  const { serving = "learner", window, reward = { min: 0, max: 1 }, seed = 0 } = body;
  if (serving === "edge") {
    throw new Problem(422, "serving: models are served by their learner so far; leave it out, or set it to learner");
  }
  const factory = policies.find(({ id }) => id === (body.policy ?? defaultPolicy.policy)) as PolicyFactory<object> | undefined;
  if (!factory) throw new Problem(422, `policy: expected one of ${policies.map(({ id }) => id).join(", ")}`);
  const options = body.policy === undefined ? { ...defaultPolicy.options, ...body.options } : { ...body.options };
  if (body.encoder && "domain" in options) throw new Problem(422, "encoder: there is nothing to encode, as options.domain has the points");
  const encoding = body.encoder ?? ("dimension" in options || "domain" in options ? null : defaultEncoder);
  return acceptable(() => {
    const encoderOptions = encoding && encoder(encoding as unknown as EncoderOptions).options;
    const descriptor = describe(factory, options, encoderOptions?.dimension);
    const dimension = "dimension" in descriptor.options ? descriptor.options.dimension : undefined;
    if (encoderOptions && dimension !== undefined && dimension !== encoderOptions.dimension) {
      throw new RangeError(`options.dimension: expected the encoder's ${encoderOptions.dimension}, got ${dimension}`);
    }
    return { policy: factory.id, options: descriptor.options, window, reward, serving, encoder: encoderOptions, seed };
  });
}

/** The policy's descriptor: with the encoder's dimension unless one is given or the policy takes none, and with buffered norms. */
function describe(factory: PolicyFactory<object>, options: Record<string, unknown>, dimension: number | undefined): PolicyDescriptor {
  const given = dimension === undefined || !takesFeatures(factory, options) ? options : { dimension, ...options };
  const descriptor = factory(given);
  if (!("norms" in descriptor.options) || descriptor.options.norms !== "exact") return descriptor;
  if (options.norms === "exact") {
    throw new RangeError('options.norms: expected "buffered", got "exact": it goes through all pending impressions at each decision');
  }
  return factory({ ...given, norms: "buffered" });
}

function takesFeatures(factory: PolicyFactory<object>, options: object): boolean {
  try {
    return "dimension" in factory(options).options;
  } catch {
    // It misses something: its dimension, or it says what when it is given that.
    return true;
  }
}

export function isSameConfig(a: ModelConfig, b: ModelConfig): boolean {
  return canonical(a) === canonical(b);
}

/** JSON with keys in order, so that equal configurations are equal texts. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** The policy a configuration names, with its options. */
export function startModel(config: ModelConfig): Promise<Recommender> {
  const factory = policies.find(({ id }) => id === config.policy) as unknown as PolicyFactory<object>;
  const { window, reward, seed } = config;
  return Recommender.create({ policy: factory(config.options), window, reward, seed });
}

/** Turns context and action into the vector that the model's policy takes, of multiples of 2^-12. */
export type Featurizer = (context: Features | undefined, action: Action) => ArrayLike<number>;

/** @throws by the featurizer: {Problem} 422 if features are not of the model's kind. */
export function featurizer(config: ModelConfig): Featurizer {
  if (!config.encoder) {
    return (context = [], { id, features = [] }) => {
      if (!Array.isArray(context)) throw new Problem(422, "context: expected an array of numbers, since the model has no encoder");
      if (!Array.isArray(features))
        throw new Problem(422, `features of action ${id}: expected an array of numbers, since the model has no encoder`);
      return Float64Array.from([...context, ...features], toDyadic);
    };
  }
  const { encode } = encoder(config.encoder);
  return (context = {}, { id, features = {} }) => {
    if (Array.isArray(context)) throw new Problem(422, "context: expected features by name, since the model has an encoder");
    if (Array.isArray(features)) throw new Problem(422, `features of action ${id}: expected them by name, since the model has an encoder`);
    if ("id" in features) throw new Problem(422, `features of action ${id}: the name id is taken by the action's id`);
    return acceptable(() => encode({ context, action: { ...features, id } }));
  };
}

const RESOLUTION = 4096;

/** Rounds towards zero to a multiple of 2^-12: sums of such numbers and of their products are exact, in any order. */
export function toDyadic(value: number): number {
  return Math.trunc(value * RESOLUTION) / RESOLUTION + 0;
}

/** Runs what checks a caller's input: its TypeError or RangeError becomes a 422 with the same message. */
export function acceptable<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw asProblem(error);
  }
}

/** @see acceptable */
export function asProblem(error: unknown): unknown {
  return error instanceof TypeError || error instanceof RangeError ? new Problem(422, error.message) : error;
}
