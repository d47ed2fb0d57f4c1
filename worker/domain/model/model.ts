// The configuration of a model: checks, defaults, and which changes its learnt state allows.

import { type EncoderOptions, encoder, type PolicyDescriptor, type PolicyFactory, policies, Recommender } from "afterclick";
import {
  describePolicy,
  ENCODER_VERSION,
  type Featurizer,
  featurizer as featurizerOf,
  learningDefaults,
  type Points,
  tellBlocks,
} from "afterclick/research";
import { DEFAULTS, LEARNT, type LearntName, type ModelOptions } from "../../protocol/model-options.ts";
import { MOST_BYTES, MOST_OPEN } from "../../protocol/most.ts";
import { didYouMean } from "../../protocol/nearest.ts";
import { Problem } from "../../protocol/problem.ts";
import type { ModelBody } from "../../protocol/schema.ts";
import { checkGoals, checkSize, isGaussianProcess, mostCapacity } from "./capacity.ts";
import { DEFAULTS_VERSION, MOST_HELD } from "./defaults.ts";
import { type Goals, learntGoals, withPublic } from "./goals.ts";
import type { Policies } from "./policies.ts";
import { differences, differencesText, withStored } from "./reconfiguration.ts";

/** A model's configuration with all defaults filled in. */
export interface ModelConfig extends ModelOptions {
  /** Version of the defaults at the model's creation. Absent if the model is older than these versions. */
  readonly defaults?: number;
}

type Shadow = ModelConfig["shadows"][number];

/**
 * The configuration of a new model, with all defaults.
 * @throws {Problem} 422 with the SDK's message, or with the reason why the worker does not serve such a model.
 */
export async function configureModel(body: ModelBody): Promise<ModelConfig> {
  return served({ ...modelConfig(body), defaults: DEFAULTS_VERSION }, body.serving);
}

/** The learnt state would not be valid under a configuration that was asked for. */
export interface Conflict {
  /** Which options differ, with both values. */
  readonly conflict: string;
}

/**
 * The configuration of a model after a change. Options that the body leaves out keep their stored values. A conflict if the learnt state
 * would not be valid under it.
 * @throws {Problem} as `configureModel`.
 */
export async function reconfigureModel(body: ModelBody, stored: ModelConfig): Promise<ModelConfig | Conflict> {
  const [before, after] = [{ window: stored.window }, body].map((each) => withStored(each, stored));
  let [config, reason]: [ModelConfig?, unknown?] = [];
  try {
    config = modelConfig(after);
  } catch (error) {
    reason = error;
    try {
      modelConfig({ policy: stored.policy, ...body });
    } catch {
      // A body that is wrong by itself is no conflict.
      throw error;
    }
  }
  // Both go through the same defaults, so that options which the SDK has added since are the same.
  const [first, ...others] = config ? differences(learnt(modelConfig(before)), learnt(config)) : differences(learnt(before), learnt(after));
  if (first) return { conflict: differencesText([first, ...others]) };
  if (!config) throw reason;
  checkGrows(stored, config);
  const goals = stored.goals && config.goals && withPublic(stored.goals, config.goals);
  return served({ ...config, ...learnt(stored), goals, defaults: stored.defaults }, body.serving ?? stored.serving);
}

/** @throws {Problem} 422 if a model would have fewer shards than before: its impressions stay where they are. */
export function checkGrows(stored: Pick<ModelConfig, "shards">, { shards }: Pick<ModelConfig, "shards">): void {
  if (shards >= stored.shards) return;
  throw new Problem(422, `shards: expected at least the model's ${stored.shards}, got ${shards}, as impressions stay in their shard`);
}

/** Decides where a model is served, and checks that it can be. */
async function served(config: ModelConfig, asked: ModelBody["serving"]): Promise<ModelConfig> {
  const started = await startModel(config);
  const [{ policy }] = started;
  const { sequential, deterministic } = policy;
  if (asked === "edge" && sequential !== undefined) {
    throw new Problem(422, `serving: ${config.policy} has to be served by its learner: ${sequential}`);
  }
  if (sequential !== undefined && config.holdout + config.minimumShare > 0) {
    throw new Problem(422, `holdout, minimumShare: expected 0, as ${config.policy} is to make every choice itself: ${sequential}`);
  }
  checkLocal(config, sequential);
  if (config.prior && !started.some(({ policy }) => policy.takesPrior)) {
    throw new Problem(422, `prior: expected none, as ${config.policy} takes no prior`);
  }
  checkShards(config, started, asked);
  checkLeaveOut(config, policy.hasDomain);
  // A deterministic policy shows everybody the same list until the next publication. Isolates serve it only on request.
  const isSpread = config.shards > 1 || !deterministic || config.minimumShare > 0;
  const serving = sequential === undefined && isSpread ? "edge" : "learner";
  return { ...config, serving: asked ?? serving };
}

/** @throws {Problem} 422 if a limit is beyond what its shards hold, or the sums of several learners do not make one model. */
function checkShards({ shards, limits }: ModelConfig, started: Policies, asked: ModelBody["serving"]): void {
  for (const [name, most] of [
    ["open", MOST_OPEN],
    ["bytes", MOST_BYTES],
  ] as const) {
    if (limits[name] > most * shards)
      throw new Problem(422, `limits.${name}: expected at most ${most} for each shard, got ${limits[name]}`);
  }
  if (shards === 1) return;
  for (const { policy } of started) {
    if (policy.merges === true) continue;
    const expected = policy.merges || "a policy whose state is a sum, such as delay-lin-ts";
    throw new Problem(422, `shards: expected 1, as the state of ${policy.id} is not a sum: several learners need ${expected}`);
  }
  if (asked === "learner") throw new Problem(422, 'shards: expected 1 with "serving": "learner", as one learner makes every decision');
}

/** @throws {Problem} 422 if nothing could be left out of a list, or no goal is the purchase. */
function checkLeaveOut({ leaveOut, policy, local, goals }: ModelConfig, hasDomain: boolean): void {
  if (!leaveOut) return;
  if (hasDomain) throw new Problem(422, `leaveOut: expected none, as ${policy} chooses in its own domain`);
  if (local) throw new Problem(422, "leaveOut: expected none in a local model, as pages that decide know nothing of a visitor's purchases");
  const { bought } = leaveOut;
  if (typeof bought !== "string" || (goals && Object.hasOwn(goals, bought))) return;
  throw new Problem(422, `leaveOut.bought: expected true or a declared goal, got ${bought}${didYouMean(bought, Object.keys(goals ?? {}))}`);
}

/** @throws {Problem} 422 if pages cannot decide by the model, or its posterior would reveal single impressions. */
function checkLocal({ local, policy, options, holdout, shadows }: ModelConfig, sequential: string | undefined): void {
  if (!local) return;
  if (sequential !== undefined) throw new Problem(422, `local: ${policy} has to be served by its learner: ${sequential}`);
  if (isGaussianProcess(options))
    throw new Problem(422, `local: expected a linear policy: ${policy} holds the features of every impression`);
  if (holdout > 0 || shadows.length > 0) throw new Problem(422, "local: expected no holdout and no shadows, of which pages know nothing");
}

/** A configuration for learning from scratch, with the encoder in its present version. */
export function renewed(config: ModelConfig): ModelConfig {
  const { version: _, vocabulary: __, ...options } = config.encoder ?? {};
  return config.encoder ? { ...config, encoder: encoder(options as EncoderOptions).options } : config;
}

/**
 * Adds the defaults of options that a configuration does not name, because they are new or its model was made before they existed. The
 * order of the fields is that of earlier versions: an exported log has the same bytes.
 */
export function withDefaults(config: Readonly<Record<string, unknown>>): ModelConfig {
  const held = isGaussianProcess((config.options as object | undefined) ?? {}) && { open: MOST_HELD };
  // Every stored configuration has these.
  const { policy: _, options: __, shadows: ___, ...added } = DEFAULTS;
  return { ...added, ...config, limits: { ...DEFAULTS.limits, ...held, ...(config.limits as object | undefined) } } as ModelConfig;
}

/** A configuration with all defaults. @throws {Problem} 422 naming an option that does not fit. */
export function modelConfig({ shadows = [], ...body }: ModelBody): ModelConfig {
  const { policy, options, encoder: encoding } = learningDefaults({ ...body, encoder: body.encoder ?? undefined });
  const factory = factoryOf(policy);
  if (body.encoder && options.domain) throw new Problem(422, "encoder: there is nothing to encode, as options.domain has the points");
  return acceptable(() => {
    const encoderOptions = encoding && encoder(encoding).options;
    const count = 1 + shadows.length;
    const descriptor = describe(factory, options, encoderOptions, count);
    const dimension = "dimension" in descriptor.options ? (descriptor.options.dimension as number) : undefined;
    if (encoderOptions && dimension !== undefined && dimension !== encoderOptions.dimension) {
      throw new RangeError(`options.dimension: expected the encoder's ${encoderOptions.dimension}, got ${dimension}`);
    }
    if (new Set(shadows.map(({ name }) => name)).size < shadows.length) throw new RangeError("shadows: expected each name once");
    const beside = shadows.map((shadow) => shadowOf(shadow, encoderOptions, encoderOptions?.dimension ?? dimension, count));
    checkGoals(Object.keys(body.goals ?? {}).length, [descriptor.options, ...beside.map(({ options }) => options)]);
    return withDefaults({ ...body, policy: factory.id, options: descriptor.options, encoder: encoderOptions, shadows: beside });
  });
}

const meantPolicy = (id: string): string =>
  didYouMean(
    id,
    policies.map(({ id }) => id),
  );

function factoryOf(id: string): PolicyFactory<object> {
  const factory = policies.find((each) => each.id === id) as PolicyFactory<object> | undefined;
  if (!factory)
    throw new Problem(422, `policy: expected one of ${policies.map(({ id }) => id).join(", ")}, got ${id.slice(0, 64)}${meantPolicy(id)}`);
  return factory;
}

function shadowOf(
  shadow: NonNullable<ModelBody["shadows"]>[number],
  encoderOptions: EncoderOptions | null,
  dimension: number | undefined,
  count: number,
): Shadow {
  const { name, policy, options = {} } = shadow;
  if (dimension === undefined) throw new RangeError(`shadows: ${name} has nothing to choose among, as the policy has its own domain`);
  const factory = factoryOf(policy);
  return { name, policy, options: describe(factory, options, encoderOptions, count, dimension).options };
}

/** The descriptor of one of `count` policies, which has as many unique points as memory allows. */
function describe(
  factory: PolicyFactory<object>,
  options: Record<string, unknown>,
  encoderOptions: EncoderOptions | null,
  count: number,
  dimension?: number,
): PolicyDescriptor {
  const described = describePolicy(factory, options, encoderOptions, dimension);
  if (options.norms === "exact") {
    throw new RangeError('options.norms: expected "buffered", got "exact": it goes through all pending impressions at each decision');
  }
  const { dimension: own = 1, capacity = 0 } = described.options as { readonly dimension?: number; readonly capacity?: number };
  const most = mostCapacity(own, count);
  const isBounded = options.capacity !== undefined || capacity <= most;
  const descriptor = isBounded ? described : describePolicy(factory, { ...options, capacity: most }, encoderOptions, dimension);
  checkSize(descriptor.options, count);
  return descriptor;
}

/** The part of a configuration that learnt state depends on. */
export function learnt<Config extends Partial<Record<LearntName, unknown>> & { readonly goals?: Goals | null }>(
  config: Config,
): Pick<Config, LearntName> {
  const part = Object.fromEntries(LEARNT.map((name) => [name, config[name]])) as Pick<Config, LearntName>;
  return { ...part, goals: config.goals && learntGoals(config.goals) };
}

/** A configuration with what another one says of learning. */
export function withLearnt(config: ModelConfig, other: ModelConfig): ModelConfig {
  return { ...config, ...learnt(other), goals: other.goals, serving: other.serving, defaults: other.defaults };
}

/** Whether two configurations are equal, in whichever order their names come. */
export function isSame(a: ModelConfig, b: ModelConfig): boolean {
  return differences(a, b).length === 0;
}

/** Whether each decision of a policy needs all earlier ones. */
export function isSequential({ policy }: Pick<ModelConfig, "policy">): boolean {
  return policies.some(({ id, sequential }) => id === policy && sequential !== undefined);
}

/** Starts the policies of a model without any learnt state: the served one first, then its shadows. */
export async function startModel(config: ModelConfig): Promise<Policies> {
  const { window, reward, examination, seed } = config;
  const goals = config.goals ? learntGoals(config.goals) : undefined;
  const starting = [config, ...config.shadows].map(({ policy, options }) =>
    Recommender.create({ policy: factoryOf(policy)(options), window, reward, goals, examination, seed }),
  );
  const started = await Promise.all(starting).catch((error) => Promise.reject(asProblem(error)));
  const [{ policy }, ...shadows] = started;
  if (policy.hasDomain && shadows.length > 0) throw new Problem(422, "shadows: none, as the policy chooses in its own domain");
  for (const shadow of shadows) {
    if (shadow.policy.hasDomain) throw new Problem(422, `shadows: ${shadow.policy.id} cannot follow, as it chooses in its own domain`);
  }
  regroup(started, config);
  return started;
}

/** Tells policies what the components of features mean under a configuration. A catalogue may have extended the encoder's vocabulary. */
export function regroup(policies: Policies, config: Pick<ModelConfig, "encoder">): void {
  if (!isEncodable(config)) return;
  for (const { policy } of policies) tellBlocks(policy, config.encoder);
}

/** Whether this version of the code has the encoder that made the model's features. */
export const isEncodable = ({ encoder }: Pick<ModelConfig, "encoder">): boolean => !encoder || encoder.version === ENCODER_VERSION;

/** The model's featurizer, whose errors are refusals. */
export function featurizer({ encoder, options, featureNorm }: Pick<ModelConfig, "encoder" | "options" | "featureNorm">): Featurizer {
  if (!isEncodable({ encoder })) {
    throw new Problem(409, "the model has learnt with an encoder of an earlier version; reset it, or import its log into a new model");
  }
  const { vector, points, columns, prepare } = featurizerOf(encoder);
  const { dimension } = options as { readonly dimension?: number };
  const bounded = <T extends Points>(points: T, actions: readonly { readonly id: string }[]): T => {
    // A vector of another length is refused later, with a better reason.
    if (encoder === null && points instanceof Float64Array && points.length === actions.length * (dimension ?? 0)) {
      checkNorms(points, actions, featureNorm, "the model's featureNorm");
    }
    return points;
  };
  return {
    prepare,
    columns: (actions) => acceptable(() => columns(actions)),
    vector: (context, action) => acceptable(() => bounded(vector(context, action), [action])),
    points: (context, actions) => acceptable(() => bounded(points(context, actions), actions)),
  };
}

/**
 * @param points shape: actions x dimension, row-major.
 * @throws {RangeError} naming the first action whose vector is longer than `most`.
 */
export function checkNorms(points: Float64Array, actions: readonly { readonly id: string }[], most: number, bound: string): void {
  const dimension = points.length / actions.length;
  actions.forEach(({ id }, row) => {
    let square = 0;
    for (let i = row * dimension; i < (row + 1) * dimension; i++) square += points[i] * points[i];
    if (square <= most * most) return;
    const norm = Math.sqrt(square).toPrecision(3);
    throw new RangeError(`features of action ${id}: expected a norm of at most ${most}, ${bound}, with the context's; got ${norm}`);
  });
}

/** Runs a check of a caller's input. A TypeError or RangeError becomes a 422 with the same message. */
export function acceptable<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw asProblem(error);
  }
}

/** @see acceptable */
function asProblem(error: unknown): unknown {
  return error instanceof TypeError || error instanceof RangeError ? new Problem(422, error.message) : error;
}
