// A model that learns in a page alone, and sends nothing.

import {
  type ConversionEvent,
  type ConversionStatus,
  type Decision,
  type EncoderOptions,
  type PolicyDescriptor,
  type PolicyFactory,
  Recommender,
  type RecommenderOptions,
  type RecommendRequest,
  SnapshotError,
} from "afterclick";
import { NamedModel } from "afterclick/research";
import { Clock } from "./clock.ts";
import type { LocalConversion, LocalModel, LocalRecommendation, LocalRequest } from "./model.ts";
import { type Report, Shelf } from "./shelf.ts";

export interface OwnModelOptions extends RecommenderOptions {
  /** The name of the model on this device, for this origin. */
  readonly name: string;
  /** Turns named features into vectors of the policy's dimension. Default: features are numbers. */
  readonly encoder?: EncoderOptions;
  /** Called for problems that stop nothing. Default: no report. */
  readonly report?: Report;
}

/** The stored state after a change. */
interface Kept {
  /** Grows with each change in any tab. */
  readonly revision: number;
  /** The options that the model has learnt under. */
  readonly options: string;
  readonly bytes: Uint8Array;
  readonly at: number;
  /** Grows each time that the model forgets. */
  readonly forgotten: number;
}

/**
 * A model that learns on the device alone. IndexedDB keeps its state across reloads and for all tabs of an origin, which take turns.
 * **Data that leaves the device:** none.
 *
 * The model starts again without impressions if its storage was cleared or its options changed. State that a newer version stored
 * is not overwritten: the model then learns in memory only.
 */
export class OwnModel implements LocalModel {
  readonly #options: RecommenderOptions;
  readonly #name: string;
  readonly #encoder: EncoderOptions | null;
  readonly #learntUnder: string;
  readonly #shelf: Shelf;
  readonly #report: Report;
  readonly #clock = new Clock();
  #model: NamedModel;
  #revision = 0;
  #forgotten = 0;
  #keeps = true;
  /** Undefined where the host has no locks, as on a page without TLS, or refuses them. */
  #locks: LockManager | undefined = globalThis.navigator?.locks;
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(options: OwnModelOptions, recommender: Recommender) {
    const { name, encoder, report = () => {}, ...rest } = options;
    const { policy, window, reward, goals, examination, seed } = rest;
    this.#options = rest;
    this.#name = name;
    this.#report = report;
    this.#encoder = encoder ?? null;
    // An option that is not set adds nothing, so a stored model stays valid in versions with more options.
    this.#learntUnder = JSON.stringify({ policy: policy.id, options: policy.options, window, reward, seed, encoder, goals, examination });
    this.#shelf = new Shelf(`own ${name}`, report);
    this.#model = this.#around(recommender);
  }

  /** Decisions are by one sample, so none costs more than it must, and state no probability. */
  #around(recommender: Recommender): NamedModel {
    return new NamedModel(recommender, { encoder: this.#encoder, draws: 0, greedy: false, minimumShare: 0 });
  }

  /**
   * Opens the stored model of that name, or creates one.
   *
   * @throws {TypeError | RangeError} naming the option.
   * @throws {UnsupportedError} if the host cannot run the core.
   */
  static async open(options: OwnModelOptions): Promise<OwnModel> {
    if (typeof options.name !== "string" || options.name === "") throw new TypeError("name: expected a text that names the model");
    const { name: _, report: __, encoder: ___, ...rest } = options;
    const model = new OwnModel(options, await Recommender.create(rest));
    await model.#exclusively(async () => {});
    return model;
  }

  /**
   * Decides, and registers the shown items as impressions. The time is the device's.
   *
   * With `actions` it takes and returns what a `PublishedModel` does. With `candidates`, `points` or a policy's own domain it takes and
   * returns what a `Recommender` does.
   *
   * @throws {TypeError | RangeError} naming the argument.
   */
  recommend(request: LocalRequest & Required<Pick<LocalRequest, "actions">>): Promise<LocalRecommendation>;
  recommend(request: Omit<RecommendRequest, "now">): Promise<Decision>;
  async recommend(request: LocalRequest | Omit<RecommendRequest, "now">): Promise<LocalRecommendation | Decision> {
    if ("actions" in request || "context" in request) return this.#recommendActions(request);
    return this.#change(({ recommender }, now) => recommender.recommend({ ...request, ...(this.#inMs && { now }) }));
  }

  /** Copies the request before its turn, because the caller may change it after the call. */
  #recommendActions({ context, actions = [], limit = 1, ...rest }: LocalRequest): Promise<LocalRecommendation> {
    const [other] = Object.keys(rest);
    if (other) throw new TypeError(`${other}: expected actions, a context and a limit, as actions are given`);
    const request = structuredClone({ context, actions, limit });
    return this.#change((model, now) => {
      const recommendation = model.recommend({ ...request, ...(this.#inMs && { now }) });
      return { modelVersion: this.#revision, ...recommendation };
    });
  }

  /** Counts a conversion. `at` defaults to now, `reward` to 1. */
  convert(event: LocalConversion | ConversionEvent): Promise<{ readonly status: ConversionStatus }> {
    const { reward = 1, at, ...given } = event;
    return this.#change(({ recommender }, now) => recommender.convert({ ...given, reward, at: at === undefined && this.#inMs ? now : at }));
  }

  /** The state as bytes for `Recommender.restore`. */
  async snapshot(): Promise<Uint8Array> {
    return this.#exclusively(async () => this.#model.recommender.snapshot());
  }

  /**
   * Erases the stored state on this device, and starts again without impressions, in all tabs. A state without impressions stays on the
   * device: by it, the other tabs know that they must not go on with theirs.
   */
  async forget(): Promise<void> {
    await this.#exclusively(async () => {
      await this.#shelf.clear();
      await this.#startAgain(this.#forgotten + 1);
      // No time is kept either: without impressions, no window can open again.
      await this.#keep(0);
    });
  }

  get #inMs(): boolean {
    return Number.isFinite(this.#windowMs);
  }

  /** Length of the window. Infinite if it is not in ms. */
  get #windowMs(): number {
    const { window } = this.#options;
    return typeof window === "object" && "ms" in window ? window.ms : Number.POSITIVE_INFINITY;
  }

  #change<T>(work: (model: NamedModel, now: number) => T): Promise<T> {
    return this.#exclusively(async () => {
      const now = this.#clock.now();
      const result = work(this.#model, now);
      this.#revision++;
      await this.#keep(now);
      return result;
    });
  }

  async #keep(at: number): Promise<void> {
    if (!this.#keeps) return;
    const [revision, forgotten, bytes] = [this.#revision, this.#forgotten, this.#model.recommender.snapshot()];
    const kept: Kept = { revision, options: this.#learntUnder, bytes, at, forgotten };
    await this.#shelf.set("state", kept);
  }

  /** Drops what this tab has learnt. */
  async #startAgain(forgotten: number): Promise<void> {
    const { seed = 0 } = this.#options;
    // Ids of impressions follow from the seed. A late conversion of a forgotten one must not count for another.
    this.#model = this.#around(await Recommender.create({ ...this.#options, seed: seed > 0 ? seed - forgotten : seed + forgotten }));
    [this.#revision, this.#forgotten, this.#keeps] = [0, forgotten, true];
  }

  /** Runs one task at a time across all tabs, after loading the state that other tabs stored. */
  #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const turn = async (): Promise<T> => {
      await this.#catchUp();
      return work();
    };
    const done = this.#turn.then(() => this.#locked(turn));
    this.#turn = done.catch(() => {});
    return done;
  }

  /** Runs a turn under the model's lock. Without locks, concurrent tabs overwrite each other's changes. */
  async #locked<T>(turn: () => Promise<T>): Promise<T> {
    if (!this.#locks) return turn();
    let hasBegun = false;
    const begin = (): Promise<T> => {
      hasBegun = true;
      return turn();
    };
    try {
      return await this.#locks.request(`afterclick own ${this.#name}`, begin);
    } catch (error) {
      if (hasBegun) throw error;
      // A frame whose storage is refused, such as a sandboxed one, gets no locks either.
      this.#locks = undefined;
      this.#report(error as Error);
      return turn();
    }
  }

  async #catchUp(): Promise<void> {
    const kept = await this.#shelf.get<Kept>("state");
    // A read that failed finds nothing either, so this does not mean that another tab forgot.
    if (!kept) return;
    const { forgotten } = kept;
    // A tab with other options forgets too.
    if (forgotten > this.#forgotten) await this.#startAgain(forgotten);
    // A tab that could not take a turn or read may store a state of before. This tab's next change replaces it.
    const isForgotten = forgotten < this.#forgotten;
    if (!this.#keeps || isForgotten || kept.options !== this.#learntUnder || kept.revision === this.#revision) return;
    this.#clock.passed(kept.at);
    try {
      const { policy, module } = this.#options;
      // Something else than bytes is refused as bytes that were cut short are.
      const bytes = kept.bytes instanceof Uint8Array ? kept.bytes : new Uint8Array();
      this.#model = this.#around(await Recommender.restore(bytes, { policies: [given(policy)], module }));
    } catch (error) {
      if (!(error instanceof SnapshotError)) throw error;
      this.#keeps = error.code !== "version" && error.code !== "state-version";
      this.#report(error);
    }
    this.#revision = kept.revision;
  }
}

/** The factory of a descriptor with the options of the snapshot. */
function given(policy: PolicyDescriptor): PolicyFactory {
  return Object.assign(() => policy, { id: policy.id });
}
