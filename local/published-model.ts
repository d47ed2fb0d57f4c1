import { type PolicyFactory, Recommender, UnsupportedError } from "afterclick";
import { type Action, type Features, type Featurizer, featurizer } from "../publication/featurizer.ts";
import { shopCarrier, workerCarrier } from "./carriers.ts";
import { Clock } from "./clock.ts";
import { type Letter, Outbox } from "./outbox.ts";
import { type Publication, readPublication } from "./publication.ts";
import { type Report, Shelf } from "./shelf.ts";

export interface PublishedModelOptions {
  /** Where the worker is. */
  readonly url: string;
  readonly model: string;
  /** A publishable key. */
  readonly key: string;
  /** Factories among which is the model's policy, such as `[otfLinTs]`. */
  readonly policies: readonly PolicyFactory[];
  /** An address of the shop's own, which takes conversions, checks them, and sends them on as webhooks; without it, `convert` throws. */
  readonly conversions?: string;
  /** A compiled core, for hosts that bring their own. */
  readonly module?: WebAssembly.Module;
  /** Told what went wrong without stopping anything; default: nobody. */
  readonly report?: Report;
}

export interface LocalRequest {
  readonly context?: Features;
  /** Default: all of the model's catalogue. */
  readonly actions?: readonly Action[];
  /** Length of the ranked list, default 1. */
  readonly limit?: number;
}

export interface LocalRecommendation {
  readonly modelVersion: number;
  readonly policy: string;
  /** Milliseconds since 1970. */
  readonly windowEndsAt: number;
  /** Best first; each is an impression of its own. */
  readonly actions: readonly {
    readonly impressionId: string;
    readonly id: string;
    readonly score: number;
    readonly mean: number;
    readonly width: number;
    readonly probability?: number;
  }[];
}

/** A publication as it came, to go on from while offline. */
interface Kept {
  readonly etag: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly at: number;
}

interface Held {
  readonly publication: Publication;
  readonly recommender: Recommender;
  readonly etag: string;
  readonly featurize: Featurizer;
}

const IMPRESSIONS = "impressions";
const CONVERSIONS = "conversions";

/**
 * A worker's model, by whose published snapshots a page decides itself, without a round trip and without a network.
 *
 * **What leaves the device:** to the worker, of each shown action: a random id, the action, the context, the time, the probability.
 * To the shop's own address, of each conversion: the same id, the goal, the reward, the time.
 */
export class PublishedModel {
  readonly #options: PublishedModelOptions;
  readonly #report: Report;
  readonly #shelf: Shelf;
  readonly #outbox: Outbox;
  readonly #clock = new Clock();
  #held!: Held;
  #refreshing?: Promise<boolean>;

  private constructor(options: PublishedModelOptions) {
    const { url, model, report = () => {} } = options;
    this.#options = options;
    this.#report = report;
    this.#shelf = new Shelf(`${new URL(url).href} ${model}`, report);
    const toShop = options.conversions !== undefined && { [CONVERSIONS]: shopCarrier(options.conversions) };
    const carriers = { [IMPRESSIONS]: workerCarrier(this.#address("impressions"), options.key), ...toShop };
    this.#outbox = new Outbox(this.#shelf, carriers, { now: () => this.#clock.now(), report });
  }

  /**
   * Opens a model: at once if an earlier visit has kept a snapshot, and looks for a newer one meanwhile; otherwise when the worker
   * has answered.
   *
   * @throws {UnsupportedError} if the host cannot run the core; code `no-publication`: there is no snapshot to decide by.
   * @throws {SnapshotError} code `version` or `policy`: the only one there is asks for a newer version, or another policy.
   */
  static async open(options: PublishedModelOptions): Promise<PublishedModel> {
    const model = new PublishedModel(options);
    const kept = await model.#shelf.get<Kept>("publication");
    if (kept) {
      model.#clock.passed(kept.at);
      await model.#take(kept).catch(model.#report);
    }
    const refreshed = model.refresh();
    if (model.#held) refreshed.catch(model.#report);
    else await refreshed;
    await model.#outbox.open();
    return model;
  }

  /** Version of the snapshot by which it decides. */
  get version(): number {
    return this.#held.publication.version;
  }

  /** When that was published, in ms since 1970. */
  get publishedAt(): number {
    return this.#held.publication.publishedAt;
  }

  /**
   * Takes a newer snapshot, if there is one; whether there was.
   * @throws {UnsupportedError | SnapshotError} as `open`; it goes on with what it has then.
   */
  refresh(): Promise<boolean> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #refresh(): Promise<boolean> {
    const { url, key } = this.#options;
    const headers = { authorization: `Bearer ${key}`, ...(this.#held && { "if-none-match": this.#held.etag }) };
    const response = await fetch(this.#address("published"), { headers }).catch((error: Error) => {
      throw new UnsupportedError("no-publication", `${url} does not answer: ${error.message}`);
    });
    const date = Date.parse(response.headers.get("date") ?? "");
    if (!Number.isNaN(date)) this.#clock.correct(date);
    if (response.status === 304) return false;
    if (!response.ok) throw new UnsupportedError("no-publication", `${url} answered ${response.status}: ${await response.text()}`);
    const kept = { etag: response.headers.get("etag") ?? "", bytes: new Uint8Array(await response.arrayBuffer()), at: this.#clock.now() };
    await this.#take(kept);
    await this.#shelf.set("publication", kept);
    return true;
  }

  #address(path: string): string {
    const { url, model } = this.#options;
    return `${url.replace(/\/$/, "")}/v1/models/${model}/${path}`;
  }

  async #take({ etag, bytes }: Kept): Promise<void> {
    const publication = await readPublication(bytes);
    const { policies, module } = this.#options;
    const recommender = await Recommender.restore(publication.snapshot, { policies, module });
    this.#held = { publication, recommender, etag, featurize: featurizer(publication.config.encoder) };
  }

  /**
   * Decides, and registers each shown action with the worker, soon or when there is a network again.
   *
   * @throws {TypeError | RangeError} naming the argument.
   */
  recommend({ context, actions, limit = 1 }: LocalRequest = {}): LocalRecommendation {
    const { publication, recommender, featurize } = this.#held;
    const { config, version } = publication;
    const { draws, greedy, minimumShare } = config;
    const { policy } = recommender;
    const offered = actions ? this.#found(actions) : publication.actions;
    if (offered.length === 0) throw new RangeError("actions: expected at least one, as there is no catalogue");
    const points = featurize.matrix(context, offered);
    const now = this.#clock.now();
    const ids = Array.from({ length: Math.min(limit, offered.length) }, () => crypto.randomUUID() as string);
    const choices = policy.choose({
      ...(policy.dimension > 0 ? { points } : { candidates: offered.map(() => ({})) }),
      ...{ round: policy.impressions + 1, now, decision: ids[0], limit, draws, greedy, minimumShare },
    });
    const shown = choices.map(({ index, score, mean, width, probability = policy.deterministic ? 1 : undefined }, place) => {
      const known = probability !== undefined && { probability };
      return { impressionId: ids[place], id: offered[index].id, score, mean, width, ...known };
    });
    const windowEndsAt = now + config.window.ms;
    const letters = shown.map(({ impressionId: id, probability }, place): Letter => {
      const { index } = choices[place];
      // The worker knows the features of its own catalogue.
      const action = offered[index] === actions?.[index] ? offered[index] : offered[index].id;
      const item = { id, action, context, shownAt: now, keys: [id], ...(probability && { probability }) };
      return { id, to: IMPRESSIONS, until: windowEndsAt, item };
    });
    void this.#outbox.put(letters);
    return { modelVersion: version, policy: config.policy, windowEndsAt, actions: shown };
  }

  /** Actions with their features: their own, or those of the catalogue. */
  #found(actions: readonly Action[]): readonly Action[] {
    const { publication } = this.#held;
    return actions.map((action) => {
      if (action.features !== undefined || publication.actions.length === 0) return action;
      const known = publication.actions.find(({ id }) => id === action.id);
      if (!known) throw new RangeError(`actions: ${action.id} has no features and is not in the catalogue`);
      return known;
    });
  }

  /**
   * Sends a conversion to the shop's own address, soon or when there is a network again. Of an impression and a goal, the first
   * counts: however often it is said, or sent, it has the same id.
   *
   * @param at when it happened, in ms since 1970; default: now.
   * @throws {TypeError | RangeError} naming the argument.
   */
  convert({ impressionId, goal = "conversion", reward = 1, at = this.#clock.now() }: LocalConversion): void {
    if (this.#options.conversions === undefined) throw new TypeError("conversions: expected the shop's own address, got none");
    if (typeof impressionId !== "string") throw new TypeError(`impressionId: expected a string, got ${impressionId}`);
    if (!/^[\w.:-]{1,64}$/.test(goal)) throw new RangeError(`goal: expected 1 to 64 letters, digits or . : - _, got ${goal}`);
    if (!Number.isFinite(reward)) throw new RangeError(`reward: expected a finite number, got ${reward}`);
    const { publication } = this.#held;
    const id = `${impressionId}.${goal}`;
    const data = { model: publication.model, key: impressionId, goal, reward };
    const item = { id, body: { type: "conversion", timestamp: Math.round(at), data } };
    void this.#outbox.put([{ id, to: CONVERSIONS, until: at + publication.config.window.ms, item }]);
  }

  /** Sends what waits, and says how much still does. */
  async send(): Promise<number> {
    await this.#outbox.send();
    return this.#outbox.size;
  }

  /** Sends nothing by itself any more; what waits is kept for the next visit. */
  close(): void {
    this.#outbox.close();
  }

  /** Erases all that is kept of it on this device. */
  async forget(): Promise<void> {
    this.close();
    await this.#shelf.clear();
  }
}

export interface LocalConversion {
  readonly impressionId: string;
  /** Default "conversion". */
  readonly goal?: string;
  /** Default 1; the shop's server states what it is worth. */
  readonly reward?: number;
  readonly at?: number;
}
