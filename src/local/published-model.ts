// A worker's model in a page: it decides by the newest publication, and reports what it showed.

import { type Action, type PolicyFactory, type Recommendation, Recommender, SnapshotError, UnsupportedError } from "afterclick";
import { isAvailable, NamedModel, nothingOffered } from "afterclick/research";
import { malformed } from "../publication/codec.ts";
import { shopCarrier, workerCarrier } from "./carriers.ts";
import { Clock } from "./clock.ts";
import type { LocalConversion, LocalModel, LocalRecommendation, LocalRequest } from "./model.ts";
import { type Letter, Outbox } from "./outbox.ts";
import { checkPublication, isNewer, type Publication, readPublication } from "./publication.ts";
import { type Report, Shelf } from "./shelf.ts";

export interface PublishedModelOptions {
  /** Address of the worker. */
  readonly url: string;
  readonly model: string;
  /** A publishable key. */
  readonly key: string;
  /** Policy factories, including the one of the model's policy, such as `[otfLinTs]`. */
  readonly policies: readonly PolicyFactory[];
  /** The shop's own address, which checks conversions and forwards them as webhooks. Without it, `convert` throws. */
  readonly conversions?: string;
  /** A compiled core.wasm, for hosts that load it themselves. */
  readonly module?: WebAssembly.Module;
  /** Called for problems that stop nothing. Default: no report. */
  readonly report?: Report;
}

export interface PublishedRequest extends LocalRequest {
  /** Whether the worker learns from this list. Without it nothing of the list leaves the device. Default: true. */
  readonly learn?: boolean;
}

/** A stored publication, for a start while offline. */
interface Kept {
  readonly etag: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly at: number;
}

interface Held {
  readonly publication: Publication;
  /** Undefined if another version of this module is needed. */
  readonly model: NamedModel | undefined;
  readonly etag: string;
}

const IMPRESSIONS = "impressions";
const CONVERSIONS = "conversions";

/** The greatest place that the worker takes. Further ones count by the same weight. */
const LAST_PLACE = 99;

/**
 * A worker's model in a page. The page decides by publications, without a round trip, even offline.
 *
 * **Data that leaves the device:** the worker gets a random id, the action, the context, the time, the probability and the place in the
 * list of each shown action. The shop's own address gets the same id, the goal, the reward and the time of each conversion.
 */
export class PublishedModel implements LocalModel {
  readonly #options: PublishedModelOptions;
  readonly #report: Report;
  readonly #shelf: Shelf;
  readonly #outbox: Outbox;
  readonly #clock = new Clock();
  #held!: Held;
  #refreshing?: Promise<boolean>;
  #forgotten = false;

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
   * Opens a model. If an earlier visit stored a publication, the promise resolves at once, and a newer one is fetched meanwhile.
   * Otherwise it resolves when the worker has answered.
   *
   * @throws {UnsupportedError} if the host cannot run the core, or with code `no-publication` if there is none.
   * @throws {SnapshotError} code `version` or `policy`, if the only publication has another layout or needs another policy.
   */
  static async open(options: PublishedModelOptions): Promise<PublishedModel> {
    const model = new PublishedModel(options);
    const kept = await model.#shelf.get<Kept>("publication");
    if (kept) {
      model.#clock.passed(kept.at);
      await model.#hold(kept).catch(model.#report);
    }
    const refreshed = model.refresh();
    if (model.#held) refreshed.catch(model.#report);
    else await refreshed;
    await model.#outbox.open();
    return model;
  }

  /** Version of the publication in use. */
  get version(): number {
    return this.#held.publication.version;
  }

  /**
   * `learnt` if the page decides by the model. `in-order` if the policy of its only publication needs another version of this module, which
   * `report` hears: then lists have the order of the catalogue, until there is a publication that the page can read.
   */
  get state(): "learnt" | "in-order" {
    return this.#held.model ? "learnt" : "in-order";
  }

  /** Time of the publication in use, in ms since 1970. */
  get publishedAt(): number {
    return this.#held.publication.publishedAt;
  }

  /**
   * Fetches a newer publication. Returns whether there was one.
   * @throws {UnsupportedError | SnapshotError} as `open`. The present publication then stays in use.
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
    if (!(await this.#hold(kept))) return false;
    if (!this.#forgotten) await this.#shelf.set("publication", kept);
    return true;
  }

  #address(path: string): string {
    const { url, model } = this.#options;
    return `${url.replace(/\/$/, "")}/v1/models/${model}/${path}`;
  }

  /** Holds a publication, unless the one that is held is as new. Returns whether it did. */
  async #hold({ etag, bytes }: Kept): Promise<boolean> {
    const publication = await readPublication(bytes);
    checkPublication(publication);
    if (this.#held && !isNewer(publication, this.#held.publication)) return false;
    const model = await this.#restored(publication).catch((error) => {
      // The catalogue in its order is better than no list, and what was learnt is better than that.
      if (this.#held || !isOfOtherVersion(error)) throw error;
      this.#report(error);
      return undefined;
    });
    this.#held = { publication, model, etag };
    return true;
  }

  /** The model of a publication. @throws {SnapshotError} as `Recommender.restore`, and code `malformed` if it cannot read the catalogue. */
  async #restored({ part, config, actions }: Publication): Promise<NamedModel> {
    const { policies, module } = this.#options;
    if (!part) throw new SnapshotError("state-version", "the worker learns the model's log again, and publishes its policy afterwards");
    const recommender = await Recommender.restore(part, { policies, module });
    const { encoder, draws, greedy, minimumShare } = config;
    try {
      // The state's length bounds the encoder's dimension, and so the memory for the vectors of the catalogue.
      return new NamedModel(recommender, { encoder, draws, greedy, minimumShare }, actions);
    } catch {
      throw malformed();
    }
  }

  /**
   * Decides, and registers each shown action with the worker, soon or once the browser is online again. On a page that the browser renders
   * ahead, it registers them once the visitor opens the page.
   *
   * @throws {TypeError | RangeError} naming the argument.
   */
  recommend({ context, actions, limit = 1, learn = true }: PublishedRequest = {}): LocalRecommendation {
    const { publication, model } = this.#held;
    const { config, version } = publication;
    const now = this.#clock.now();
    const { actions: shown } = model ? model.decide({ context, actions, limit, now }, newIds) : inOrder(publication, actions, limit);
    const windowEndsAt = now + config.window.ms;
    const letters = shown.map(({ impressionId, id, probability }, place): Letter => {
      // The worker knows the features of its own catalogue. It refuses other fields of an action.
      const given = actions?.find((action) => action.id === id && (action.features ?? publication.actions.length === 0));
      const action = given ? { id, features: given.features } : id;
      const stated = { ...(place > 0 && { place: Math.min(place, LAST_PLACE) }), ...(probability && { probability }) };
      const item = { id: impressionId, action, context, shownAt: now, keys: [impressionId], ...stated };
      // A copy, as JSON: the caller may change the context and the action before they are sent.
      return { id: impressionId, to: IMPRESSIONS, until: windowEndsAt, item: JSON.parse(JSON.stringify(item)) };
    });
    if (learn) whenSeen(() => void this.#outbox.put(letters));
    return { modelVersion: version, policy: config.policy, windowEndsAt, actions: shown, ...(!model && { arm: "catalogue" }) };
  }

  /**
   * Sends a conversion to the shop's own address, soon or once the browser is online again. For each impression and goal the first
   * conversion counts, because repetitions have the same id.
   *
   * @returns status `waiting`: the answer of the shop's server comes later, and is not known here.
   * @throws {TypeError | RangeError} naming the argument.
   */
  convert({ impressionId, goal = "conversion", reward = 1, at = this.#clock.now() }: LocalConversion): { readonly status: "waiting" } {
    if (this.#options.conversions === undefined) throw new TypeError("conversions: expected the shop's own address, got none");
    if (typeof impressionId !== "string") throw new TypeError(`impressionId: expected a string, got ${impressionId}`);
    if (!/^[\w.:-]{1,64}$/.test(goal)) throw new RangeError(`goal: expected 1 to 64 letters, digits or . : - _, got ${goal}`);
    if (!Number.isFinite(reward)) throw new RangeError(`reward: expected a finite number, got ${reward}`);
    const { publication } = this.#held;
    const id = `${impressionId}.${goal}`;
    const data = { model: publication.model, key: impressionId, byPage: true, goal, reward };
    const item = { id, body: { type: "conversion", timestamp: Math.round(at), data } };
    void this.#outbox.put([{ id, to: CONVERSIONS, until: at + publication.config.window.ms, item }]);
    return { status: "waiting" };
  }

  /** Sends the waiting items, and returns the number that still wait. */
  async send(): Promise<number> {
    await this.#outbox.send();
    return this.#outbox.size;
  }

  /** Stops sending by itself. Waiting items are kept for the next visit. */
  close(): void {
    this.#outbox.close();
  }

  /**
   * Erases all stored data of the model on this device, and drops the waiting items. From then on this object decides by the publication
   * that it holds, and stores and sends nothing. Other open tabs go on with theirs.
   */
  async forget(): Promise<void> {
    this.#forgotten = true;
    this.#outbox.forget();
    await this.#shelf.clear();
  }
}

/** Calls at once or, on a page that the browser renders ahead, once its visitor opens it. */
function whenSeen(call: () => void): void {
  const page = globalThis.document as (Document & { readonly prerendering?: boolean }) | undefined;
  if (page?.prerendering) page.addEventListener("prerenderingchange", call, { once: true });
  else call();
}

const isOfOtherVersion = (error: unknown): boolean => error instanceof SnapshotError && ["version", "state-version"].includes(error.code);

const newIds = (count: number): string[] => Array.from({ length: count }, () => crypto.randomUUID());

/** The first available actions, of the request or of the catalogue. */
function inOrder(
  { actions: catalogue }: Publication,
  actions: readonly Action[] = catalogue,
  limit: number,
): Pick<Recommendation, "actions"> {
  const known = new Map(catalogue.map((action) => [action.id, action]));
  const offered = actions.filter((action) => isAvailable(action) && isAvailable(known.get(action.id) ?? action));
  if (offered.length === 0) throw nothingOffered(catalogue.length + actions.length > 0);
  const places = offered.slice(0, limit);
  const ids = newIds(places.length);
  const shown = places.map(({ id }, place) => ({ impressionId: ids[place], id, score: 0, mean: 0, width: 0, probability: 1 }));
  return { actions: shown as unknown as Recommendation["actions"] };
}
