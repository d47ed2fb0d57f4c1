import {
  type ConversionEvent,
  type ConversionStatus,
  type Decision,
  type PolicyDescriptor,
  type PolicyFactory,
  Recommender,
  type RecommenderOptions,
  type RecommendRequest,
  SnapshotError,
} from "afterclick";
import { Clock } from "./clock.ts";
import { type Report, Shelf } from "./shelf.ts";

export interface OwnModelOptions extends RecommenderOptions {
  /** The name of the model on this device, for this origin. */
  readonly name: string;
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
}

/**
 * A model that learns on the device alone. IndexedDB keeps its state across reloads and for all tabs of an origin, which take turns.
 * **Data that leaves the device:** none.
 *
 * The model starts again without impressions if its storage was cleared or its options changed. State that a newer version stored
 * is not overwritten: the model then learns in memory only.
 */
export class OwnModel {
  readonly #options: RecommenderOptions;
  readonly #name: string;
  readonly #learntUnder: string;
  readonly #shelf: Shelf;
  readonly #report: Report;
  readonly #clock = new Clock();
  #recommender: Recommender;
  #revision = 0;
  #keeps = true;
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(options: OwnModelOptions, recommender: Recommender) {
    const { name, report = () => {}, ...rest } = options;
    const { policy, window, reward, seed } = rest;
    this.#options = rest;
    this.#name = name;
    this.#report = report;
    this.#learntUnder = JSON.stringify([policy.id, policy.options, window, reward ?? null, seed ?? null]);
    this.#shelf = new Shelf(`own ${name}`, report);
    this.#recommender = recommender;
  }

  /**
   * Opens the stored model of that name, or creates one.
   *
   * @throws {TypeError | RangeError} naming the option.
   * @throws {UnsupportedError} if the host cannot run the core.
   */
  static async open(options: OwnModelOptions): Promise<OwnModel> {
    if (typeof options.name !== "string" || options.name === "") throw new TypeError("name: expected a text that names the model");
    const { name: _, report: __, ...rest } = options;
    const model = new OwnModel(options, await Recommender.create(rest));
    await model.#exclusively(async () => {});
    return model;
  }

  /** Decides, and registers the shown items as impressions. `now` is the device's time. */
  recommend(request: Omit<RecommendRequest, "now">): Promise<Decision> {
    return this.#change((recommender, now) => recommender.recommend({ ...request, ...(this.#inMs && { now }) }));
  }

  /** Counts a conversion. `at` defaults to now. */
  convert(event: ConversionEvent): Promise<{ readonly status: ConversionStatus }> {
    return this.#change((recommender, now) => recommender.convert({ ...(this.#inMs && { at: now }), ...event }));
  }

  /** The state as bytes for `Recommender.restore`. */
  async snapshot(): Promise<Uint8Array> {
    return this.#exclusively(async () => this.#recommender.snapshot());
  }

  /** Erases the stored state on this device, and starts again without impressions. */
  async forget(): Promise<void> {
    await this.#exclusively(async () => {
      await this.#shelf.clear();
      this.#recommender = await Recommender.create(this.#options);
      this.#revision = 0;
    });
  }

  get #inMs(): boolean {
    const { window } = this.#options;
    return typeof window === "object" && "ms" in window;
  }

  #change<T>(work: (recommender: Recommender, now: number) => T): Promise<T> {
    return this.#exclusively(async () => {
      const now = this.#clock.now();
      const result = work(this.#recommender, now);
      this.#revision++;
      const kept: Kept = { revision: this.#revision, options: this.#learntUnder, bytes: this.#recommender.snapshot(), at: now };
      if (this.#keeps) await this.#shelf.set("state", kept);
      return result;
    });
  }

  /** Runs one task at a time across all tabs, after loading the state that other tabs stored. */
  #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const turn = async (): Promise<T> => {
      await this.#catchUp();
      return work();
    };
    // Without locks, as on a page without TLS, concurrent tabs overwrite each other's changes.
    const done = this.#turn.then(() =>
      globalThis.navigator?.locks ? (navigator.locks.request(`afterclick own ${this.#name}`, turn) as Promise<T>) : turn(),
    );
    this.#turn = done.catch(() => {});
    return done;
  }

  async #catchUp(): Promise<void> {
    const kept = this.#keeps ? await this.#shelf.get<Kept>("state") : undefined;
    if (!kept || kept.options !== this.#learntUnder || kept.revision === this.#revision) return;
    this.#clock.passed(kept.at);
    try {
      const { policy, module } = this.#options;
      this.#recommender = await Recommender.restore(kept.bytes, { policies: [given(policy)], module });
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
