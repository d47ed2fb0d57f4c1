// Takes conversions into the learner, whoever sends them. What they change about an impression is the ledger's.

import type { ByKey, ConversionEvent, KeyedEvent } from "../../domain/conversion/event.ts";
import { isOtherCurrency, refusal } from "../../domain/conversion/refusal.ts";
import { isSilent } from "../../domain/conversion/silence.ts";
import { counted, type KeyHashes } from "../../domain/ids/join-key.ts";
import { windowOf } from "../../domain/model/goals.ts";
import { got } from "../../protocol/sentence.ts";
import type { Unjoined } from "../../rpc/counters.ts";
import type { Ingested } from "../../rpc/message.ts";
import type { KeyHome } from "../shards/key-home.ts";
import type { LearnerStore } from "../store/learner-store.ts";
import { type Entry, isOfNamesake, ofErased, storedForm } from "./ledger.ts";
import type { Model, ModelHolder } from "./model-holder.ts";

const OF_PAGES =
  "only pages gave this key, and it joins no conversion of a backend: ask for recommendations with the secret key, or set the model's pageKeys";

const SHARED =
  "the impression has more purchases than one visitor makes: several visitors have its id, as from a cached page; give each visitor a list of their own";

const WITHOUT_ACTION =
  "action: expected the product, because the newest list of the key has several: name it as action, or by the path of it in a sender's " +
  "address, or send the impression id";

const isoOf = (time: number): string => new Date(Math.max(0, time)).toISOString();

const UNSAMPLED = "the model keeps a sample of its impressions, because it is near its limits; the conversion waits in case its own comes";

const SILENT = "a reward of 0 is that of an impression without conversions: it changes nothing, and need not be reported";

/** The entrance of all conversions. It needs no running policies: policies that start later replay what has entered. */
export class Ingestion {
  readonly #store: LearnerStore;
  readonly #current: ModelHolder;
  readonly #keyHome: Pick<KeyHome, "forward">;

  constructor(store: LearnerStore, current: ModelHolder, keyHome: Pick<KeyHome, "forward">) {
    this.#store = store;
    this.#current = current;
    this.#keyHome = keyHome;
  }

  /** Takes conversions here, or at the shards of their keys. @throws {Problem} 503 if a shard cannot be reached. */
  async ingest(events: readonly (ConversionEvent | KeyedEvent)[]): Promise<Ingested[]> {
    const model = this.#current.get();
    if (model.config.shards === 1) return this.enter(events, model);
    return this.#keyHome.forward(events, (own) => this.enter(own));
  }

  /**
   * Takes conversions of this learner's impressions, in one transaction.
   * @param model the current one. It is read anew after an await, because another may observe by then.
   */
  enter(events: readonly (ConversionEvent | KeyedEvent)[], model = this.#current.get()): Ingested[] {
    return model.live.change(() => events.map((event) => this.#ingested(event, model)));
  }

  #ingested(event: ConversionEvent | KeyedEvent, model: Model): Ingested {
    const { config } = model;
    const detail = refusal(event, config);
    if (isOtherCurrency(event, config)) this.#store.database.count("otherCurrency");
    if (detail) return { status: "refused", detail };
    if ("impression" in event && isOfNamesake(this.#store, event.impression, event.generation)) return { status: "unknown" };
    const stored = storedForm(event, config);
    const entry = this.#entered(stored, model);
    // An event that says nothing is in no figure.
    const says = Number(!isSilent(stored, config));
    if (!entry) {
      this.#store.database.count("withoutAction", says);
      return { status: "refused", detail: WITHOUT_ACTION };
    }
    const { status, erased, change } = entry;
    if (status === "refused") return { status, detail: SHARED };
    if (status === "orphan" && "key" in event) return this.#unjoined(event, model, says);
    const isIdle = status === "applied" && !change && isSilent(stored, config);
    return { status, ...(isIdle && { detail: SILENT }), ...(erased && { erased }) };
  }

  /** Undefined if the key of the event leads to a list of several, and the event does not name the product. */
  #entered(event: ConversionEvent | KeyedEvent, model: Model): Entry | undefined {
    const { config, live } = model;
    const { conversions } = this.#store;
    if ("impression" in event) {
      const { key } = event as ConversionEvent & Partial<ByKey>;
      return key !== undefined && conversions.isErased({ key }, event) ? ofErased(this.#store, event) : live.enter(event);
    }
    const { key: hashes, byPage, action, ...outcome } = event;
    const [key, ...older] = counted(hashes, byPage, config.pageKeys);
    if (conversions.isErased({ key, older }, outcome)) return ofErased(this.#store, outcome);
    const impression = conversions.attribute({ key, older, action }, outcome, windowOf(config, outcome.goal));
    if (impression === undefined) return undefined;
    // A sender that was asked for the action may have sent the event before without one.
    const waiting = action === null ? [] : conversions.waitingWithoutAction({ key, older }, outcome);
    conversions.removeWaiting(waiting);
    for (const { goal, event: name, reward, at, restates } of waiting) {
      if (at !== outcome.at || reward !== outcome.reward) this.#entered({ ...event, goal, event: name, reward, at, restates }, model);
    }
    const addressed: ConversionEvent & ByKey = { ...outcome, impression, key, action };
    return live.enter(addressed);
  }

  /** Why an event with a join key found no impression. It waits for one all the same. */
  #unjoined({ key, byPage, action, goal, at }: KeyedEvent, { config }: Model, says: number): Ingested {
    if (!byPage && this.#store.impressions.keys.impressionsOf(key.page).length > 0) {
      this.#store.database.count("ofPages", says);
      return { status: "orphan", detail: OF_PAGES };
    }
    const from = at - windowOf(config, goal);
    if (this.#store.samples.anySince(from)) return { status: "unsampled", detail: UNSAMPLED };
    const { reason, found } = this.#reasonOf(counted(key, byPage, config.pageKeys), action, from, at);
    this.#store.database.count(reason, says);
    const sought = `${action === null ? "any action" : `the action ${got(action)}`}, shown from ${isoOf(from)} to ${isoOf(at)}`;
    return {
      status: "orphan",
      detail: `waits for an impression with this key, given by a ${byPage ? "page" : "backend"}, of ${sought}; ${found}`,
    };
  }

  /** The answer to an event whose join key found no impression, here and in other shards. */
  #reasonOf(hashes: KeyHashes, action: string | null, from: number, at: number): { readonly reason: Unjoined; readonly found: string } {
    const { impressions, links } = this.#store;
    const ofAny = action !== null && (impressions.keys.newest(hashes, null, from, at + 1) ?? links.newest(hashes, null, from, at + 1));
    if (ofAny) return { reason: "otherActions", found: `the newest one with the key is of ${got(ofAny.action)}` };
    const isKnown = hashes.some((hash) => links.has(hash)) || impressions.keys.has(hashes);
    if (isKnown) return { reason: "otherTimes", found: "those with the key were shown at other times" };
    return { reason: "unknownKeys", found: "none has the key yet" };
  }
}
