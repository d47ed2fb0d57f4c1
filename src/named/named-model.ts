// Named features, a catalogue and a recommender together: what a page, a program and a worker make decisions with.

import { type EncoderOptions, encoder } from "../encoding/encoder.ts";
import { ENCODER_VERSION } from "../encoding/scale.ts";
import type { ConversionEvent } from "../ledger/conversion-event.ts";
import type { ConversionStatus } from "../ledger/ledger.ts";
import { isInMs } from "../model/delay/window.ts";
import { type Choice, DRAWS_LIMIT } from "../policy/chooser.ts";
import type { PolicyDescriptor, PolicyFactory } from "../policy/rule.ts";
import { Recommender, type RecommenderOptions, type RecommendRequest } from "../recommender.ts";
import { finiteNumber, flag, onlyKeys, outOfRange, record, wholeNumber, wrongType } from "../values/argument.ts";
import { SnapshotError } from "../values/errors.ts";
import { malformed } from "../values/snapshot.ts";
import { Catalogue, checkedAction, checkedActions, copyOf } from "./catalogue.ts";
import { DEFAULT_DRAWS, DEFAULT_POLICY, describePolicy, learningDefaults } from "./defaults.ts";
import { type Action, type Features, type Featurizer, featurizer } from "./featurizer.ts";
import { checkedSales, type PriorSales, tellBlocks, tellPrior, withCatalogue } from "./meanings.ts";
import { nothingOffered, type Recommendation, statedScores } from "./shown.ts";

/** Options of `Model.create`: those of a worker's model that decisions and learning depend on, with the worker's defaults. */
export interface ModelOptions extends Omit<RecommenderOptions, "policy" | "module"> {
  /** Id of a policy, such as "delay-lin-ts", the default, or a descriptor, such as `otfLinUcb({ dimension: 8 })`. */
  readonly policy?: string | PolicyDescriptor;
  /** Options of a policy that is named by its id. */
  readonly options?: Readonly<Record<string, unknown>>;
  /**
   * Turns named features into vectors. May be given in part: the default has all interactions, and 256 components for `delay-lin-ts` and
   * `delay-lin-ucb`, 64 for other policies. A feature that is a number needs its range under `numeric`. Null, or a policy with a
   * `dimension` and no encoder: features are arrays of numbers.
   */
  readonly encoder?: Partial<EncoderOptions> | null;
  /** The catalogue. A request without `actions` chooses among it. */
  readonly actions?: readonly Action[];
  /** What actions of the catalogue sold before the model learnt anything. Only for a policy that takes a prior. */
  readonly prior?: { readonly sales: readonly PriorSales[] };
  /** Samples from which a Thompson policy computes propensities, default 100. 0 computes none. */
  readonly draws?: number;
  /** Whether to rank by the mean alone. Default: false. */
  readonly greedy?: boolean;
  /** Least probability of each candidate at the first place, default 0. */
  readonly minimumShare?: number;
}

/** What to choose among, and for whom. */
export interface ModelRequest extends Pick<RecommendRequest, "limit" | "now" | "impressionId"> {
  readonly context?: Features;
  /** Default: the catalogue. An action without features has those of the catalogue. */
  readonly actions?: readonly Action[];
  /** Ids of actions to leave out. */
  readonly exclude?: readonly string[];
}

/** An impression that was decided elsewhere. */
export interface ShownElsewhere {
  readonly impressionId: string;
  /** An action with features, or without those that the catalogue has. */
  readonly action: Action;
  readonly context?: Features;
  readonly now?: number;
  /** Its place in the list that was shown, default 0, the first. */
  readonly place?: number;
}

/** Settings by which a model decides, beside its recommender. */
export interface ModelSettings {
  readonly encoder: EncoderOptions | null;
  readonly draws: number;
  readonly greedy: boolean;
  readonly minimumShare: number;
}

/** The policies that a model may have, and the compiled core of a host that loads it itself. */
export interface Host {
  readonly policies: readonly PolicyFactory[];
  readonly module?: WebAssembly.Module | undefined;
}

type Shown = Choice & { readonly impressionId: string };

/** Version of what a model adds to the snapshot of its recommender. */
const MODEL_VERSION = 1;

const OPTION_NAMES = [
  ...["window", "policy", "options", "encoder", "actions", "prior", "reward", "goals", "examination", "seed"],
  ...["draws", "greedy", "minimumShare"],
];
const REQUEST_NAMES = ["context", "actions", "exclude", "limit", "now", "impressionId"];

/** A catalogue of actions with named features, and the recommender that learns from them. `Model` makes it with all policies. */
export class NamedModel {
  /** The recommender of vectors behind the model. */
  readonly recommender: Recommender;
  #settings: ModelSettings;
  #catalogue: Catalogue;
  #featurize: Featurizer;

  /**
   * Wraps a recommender that knows the meaning of its features.
   * @throws {TypeError | RangeError} naming the action of the catalogue whose features do not fit the encoder, or the encoder's dimension.
   */
  constructor(recommender: Recommender, settings: ModelSettings, actions: readonly Action[] = []) {
    this.recommender = recommender;
    checkDimension(recommender, settings.encoder);
    this.#settings = settings;
    this.#featurize = featurizer(settings.encoder);
    this.#catalogue = new Catalogue(actions);
    const { available } = this.#catalogue;
    // The featurizer reads the catalogue once, and refuses features that it cannot read.
    if (settings.encoder && available.length > 0) this.#featurize.points(undefined, available);
  }

  /** As `Model.create`. */
  static async create(options: ModelOptions, { policies, module }: Host): Promise<NamedModel> {
    onlyKeys("options", record("options", options), OPTION_NAMES);
    const { actions = [], prior, window, reward, goals, examination, seed } = options;
    const { draws = DEFAULT_DRAWS, greedy = false, minimumShare = 0 } = options;
    const settings = decisionSettings({ draws, greedy, minimumShare });
    const { descriptor, encoder } = described(options, policies);
    const recommender = await Recommender.create({ policy: descriptor, window, reward, goals, examination, seed, module });
    const model = new NamedModel(recommender, { encoder, ...settings });
    model.setActions(actions);
    if (prior !== undefined) tellPrior(recommender.policy, checkedSales(prior, recommender.policy, actions), actions, model.#featurize);
    return model;
  }

  /** As `Model.restore`. */
  static async restore(bytes: Uint8Array, host: Host): Promise<NamedModel> {
    const recommender = await Recommender.restore(bytes, host);
    if (recommender.beside === undefined) {
      throw new SnapshotError("no-model", "expected the snapshot of a Model, got that of a Recommender: use Recommender.restore");
    }
    const { version, actions, encoder, ...others } = Object(recommender.beside);
    checkVersion("model", version, MODEL_VERSION);
    if (encoder) checkVersion("encoder", encoder.version, ENCODER_VERSION);
    if (!Array.isArray(actions) || encoder === undefined) throw malformed();
    try {
      return new NamedModel(recommender, { encoder, ...decisionSettings(others) }, actions);
    } catch {
      throw malformed();
    }
  }

  /** The catalogue. */
  get actions(): readonly Action[] {
    return this.#catalogue.actions;
  }

  /**
   * Replaces the catalogue. What was learnt stays: features keep their components, and a new category has one of its own while there is room.
   * @throws {TypeError | RangeError} naming the action. Nothing has changed then.
   */
  setActions(actions: readonly Action[]): void {
    const copies = checkedActions(actions).map(copyOf);
    const { encoder } = this.#settings;
    const settings = { ...this.#settings, encoder: encoder && withCatalogue(encoder, copies) };
    const next = new NamedModel(this.recommender, settings, copies);
    if (encoder) tellBlocks(this.recommender.policy, settings.encoder);
    this.#settings = settings;
    this.#featurize = next.#featurize;
    this.#catalogue = next.#catalogue;
  }

  /**
   * Decides, and registers each shown action as an impression.
   * @throws {TypeError | RangeError} naming the argument. Nothing has changed then.
   */
  recommend(request: ModelRequest = {}): Recommendation {
    onlyKeys("request", record("request", request), REQUEST_NAMES);
    const { limit, now, impressionId } = request;
    const { offered, among } = this.#offer(request);
    const { ranking } = this.recommender.recommend({ ...among, ...this.#asked, limit, now, impressionId });
    return this.#stated(ranking, offered, now);
  }

  /**
   * Decides, and changes nothing. The model at the same version decides the same again for the same ids.
   * @param idsOf gives ids of impressions: one for each place.
   * @throws {TypeError | RangeError} as `recommend`.
   */
  decide({ limit = 1, now, ...request }: Omit<ModelRequest, "impressionId">, idsOf: (places: number) => readonly string[]): Recommendation {
    const { policy } = this.recommender;
    const { offered, among } = this.#offer(request);
    const given = idsOf(Math.min(limit, offered?.length ?? limit));
    const choices = policy.choose({ ...among, ...this.#asked, round: policy.impressions + 1, now, limit, decision: given[0] });
    const shown = choices.map((choice, place) => ({ ...choice, impressionId: given[place] }));
    return this.#stated(shown, offered, now);
  }

  /**
   * Registers an impression that was decided elsewhere, as `Recommender.register`.
   * @throws {TypeError | RangeError} naming the argument. Nothing has changed then.
   */
  register(impression: ShownElsewhere): void {
    onlyKeys("impression", record("impression", impression), ["impressionId", "action", "context", "now", "place"]);
    const { action, context, ...shown } = impression;
    const known = this.#catalogue.completed("action", checkedAction("action", action));
    const features = this.recommender.policy.dimension > 0 ? this.#featurize.vector(context, known) : undefined;
    this.recommender.register({ ...shown, features, action: known.id });
  }

  /** Counts a conversion, as `Recommender.convert`. Default of `reward`: 1. */
  convert(event: Omit<ConversionEvent, "reward"> & { readonly reward?: number | null }): { readonly status: ConversionStatus } {
    record("event", event);
    const { reward = 1 } = event;
    return this.recommender.convert({ ...event, reward });
  }

  /** All state as bytes: what was learnt, the encoder, the other options and the catalogue. A model restored from it makes identical decisions. */
  snapshot(): Uint8Array {
    return this.recommender.snapshot({ version: MODEL_VERSION, ...this.#settings, actions: this.actions });
  }

  get #asked() {
    const { draws, greedy, minimumShare } = this.#settings;
    return { draws, greedy, minimumShare };
  }

  /** The actions that a request may show, and the candidates as the policy takes them. Neither if it chooses in its own domain. */
  #offer({ context, actions, exclude = [] }: ModelRequest) {
    const { policy } = this.recommender;
    if (!Array.isArray(exclude)) throw wrongType("exclude", "an array of ids", exclude);
    if (policy.hasDomain) {
      const other = [context, actions, ...exclude].find((each) => each !== undefined);
      if (other !== undefined) throw wrongType("request", `a limit only, as ${policy.id} chooses in its own domain`, other);
      return { offered: undefined, among: {} };
    }
    const all = actions ? this.#catalogue.offered(actions) : this.#catalogue.available;
    if (all.length === 0) throw nothingOffered(this.actions.length + (actions?.length ?? 0) > 0);
    const excluded = new Set(exclude);
    const offered = excluded.size > 0 ? all.filter(({ id }) => !excluded.has(id)) : all;
    if (offered.length === 0) throw outOfRange("exclude", `fewer than the ${all.length} available actions`, exclude);
    if (policy.dimension === 0) return { offered, among: { candidates: offered.map(({ id }) => ({ id })) } };
    const points = this.#featurize.points(context, offered);
    const d = points instanceof Float64Array ? points.length / offered.length : policy.dimension;
    if (d !== policy.dimension)
      throw new RangeError(`features: expected ${policy.dimension} numbers of context and action together, got ${d}`);
    return { offered, among: { points } };
  }

  #stated(choices: readonly Shown[], offered: readonly Action[] | undefined, now = 0): Recommendation {
    const { policy, window } = this.recommender;
    const stated = (choice: Shown) => {
      const { impressionId, index, id } = choice;
      return { impressionId, id: offered?.[index].id ?? id, ...statedScores(policy, choice) };
    };
    const actions = choices.map(stated) as unknown as Recommendation["actions"];
    return { policy: policy.id, windowEndsAt: isInMs(window) ? now + window.ms : Number.POSITIVE_INFINITY, actions };
  }
}

/** @throws {TypeError | RangeError} naming the option. */
function decisionSettings({ draws, greedy, minimumShare }: Omit<ModelSettings, "encoder">): Omit<ModelSettings, "encoder"> {
  return {
    draws: wholeNumber("draws", draws, 0, DRAWS_LIMIT),
    greedy: flag("greedy", greedy),
    minimumShare: finiteNumber("minimumShare", minimumShare, 0, 1),
  };
}

/** The policy of a model's options, and its encoder. @throws {RangeError} for an unknown policy. */
function described({ policy = DEFAULT_POLICY, options, encoder }: ModelOptions, policies: readonly PolicyFactory[]) {
  if (encoder !== undefined && encoder !== null) record("encoder", encoder);
  if (options !== undefined) record("options", options);
  if (typeof policy !== "string") {
    if (options !== undefined) throw wrongType("options", "none beside a descriptor, which has them", options);
    const own = learningDefaults({ policy: policy?.id, options: { ...policy?.options }, encoder });
    return { descriptor: policy, encoder: own.encoder && versioned(own.encoder) };
  }
  const factory = policies.find(({ id }) => id === policy) as PolicyFactory<object> | undefined;
  if (!factory) throw outOfRange("policy", `one of ${policies.map(({ id }) => id).join(", ")}`, policy);
  const own = learningDefaults({ policy, options, encoder });
  return { descriptor: describePolicy(factory, own.options, own.encoder), encoder: own.encoder && versioned(own.encoder) };
}

/** An encoder's options with the version of its vectors. */
const versioned = (options: EncoderOptions): EncoderOptions => encoder(options).options;

function checkDimension({ policy: { dimension } }: Recommender, options: EncoderOptions | null): void {
  if (!options || dimension === 0 || options.dimension === dimension) return;
  throw new RangeError(`encoder.dimension: expected the policy's ${dimension}, got ${options.dimension}`);
}

function checkVersion(what: string, given: unknown, own: number): void {
  if (given === own) return;
  const remedy = "restore it with the afterclick version that made it, or learn again from the log";
  throw new SnapshotError("version", `expected ${what} version ${own}, got ${given}: ${remedy}`);
}
