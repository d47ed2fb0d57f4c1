// Brings conversions with join keys to the shard that has their impression.

import type { ByKey, ConversionEvent, KeyedEvent } from "../../domain/conversion/event.ts";
import { counted } from "../../domain/ids/join-key.ts";
import { shardName, shardOf } from "../../domain/ids/shard.ts";
import { windowOf } from "../../domain/model/goals.ts";
import type { Environment } from "../../environment.ts";
import { learner, Unreachable } from "../../rpc/learner-client.ts";
import type { Ingested, Note } from "../../rpc/message.ts";
import type { ModelHolder } from "../model/model-holder.ts";
import type { Link } from "../store/impressions/link-store.ts";
import type { LearnerStore } from "../store/learner-store.ts";
import { Turns } from "../turns.ts";
import type { Task } from "../upkeep/upkeep.ts";

type Events = readonly (ConversionEvent | KeyedEvent)[];

/** An event for another shard, with its place among those that came with it. One that has waited here has its number instead. */
interface Sent {
  readonly event: Events[number];
  readonly place?: number;
  readonly seq?: number;
  readonly shard: number;
}

/** Waiting events that one call sends. */
const EVENTS_AT_ONCE = 1000;

/**
 * Conversions with join keys in a model of several shards. A keyed event goes to the home of its key, which attributes it to an impression
 * and, if another shard has that impression, forwards it there.
 */
export class KeyHome {
  readonly #env: Environment;
  readonly #store: LearnerStore;
  readonly #current: ModelHolder;
  readonly #deliveries = new Turns();

  constructor(env: Environment, store: LearnerStore, current: ModelHolder) {
    this.#env = env;
    this.#store = store;
    this.#current = current;
  }

  /** The task of delivering the keys of new impressions to their homes. */
  get task(): Task {
    return { due: () => (this.#store.links.undelivered ? Date.now() : undefined), run: () => this.deliver() };
  }

  /**
   * Sends events of other shards to the home of their key, or to the shard of their impression.
   * @param enter takes the events of this shard.
   * @throws {Problem} 503 if a shard cannot be reached.
   */
  async forward(events: Events, enter: (own: Events) => readonly Ingested[]): Promise<Ingested[]> {
    const ingested = new Map<number, Ingested>();
    const keyed = events.flatMap((event, place) => ("key" in event && !("impression" in event) ? [{ event, place }] : []));
    const homes = await Promise.all(keyed.map(async (each) => ({ ...each, shard: await this.#homeOf(each.event) })));
    const [ahead, own] = [homes.filter(({ shard }) => shard !== this.#shard), homes.filter(({ shard }) => shard === this.#shard)];
    if (this.#shard === 0) for (const { shard } of ahead) this.checkReached(shard);
    await this.#send(ahead, ingested);
    for (;;) {
      const linked = this.#linked(own.filter(({ place }) => !ingested.has(place)));
      if (linked.length === 0) break;
      await this.#send(linked, ingested);
      this.#store.transact(() =>
        this.#store.conversions.removeWaiting(linked.flatMap(({ seq, event }) => (seq === undefined ? [] : { seq, event: event.event }))),
      );
    }
    // Nothing is awaited from here on, because a link that comes meanwhile would not find the events.
    const here = enter(events.filter((_, place) => !ingested.has(place))).values();
    return events.map((_, place) => ingested.get(place) ?? (here.next().value as Ingested));
  }

  /** Sends events to their shards, and notes the results at their places. */
  async #send(events: readonly Sent[], ingested: Map<number, Ingested>): Promise<void> {
    const sending = Array.from(
      Map.groupBy(events, ({ shard }) => shard),
      async ([shard, of]) => {
        const results = await this.#call(
          shard,
          of.map(({ event }) => event),
        );
        of.forEach(({ place }, i) => {
          if (place !== undefined) ingested.set(place, results[i]);
        });
      },
    );
    await Promise.all(sending);
  }

  /**
   * The events that belong to impressions of other shards. They are noted before they are sent, so that a repetition goes there too. With an
   * event that names its action go the versions that have waited here without one.
   */
  #linked(events: readonly { readonly event: KeyedEvent; readonly place: number }[]): Sent[] {
    return events.flatMap(({ event, place }) => {
      const link = this.#linkOf(event);
      if (!link) return [];
      const [key, ...older] = this.#hashesOf(event);
      const { shard } = link;
      this.#store.transact(() => this.#store.links.noteForwarded(key, event, link));
      const waiting = event.action === null ? [] : this.#store.conversions.waitingWithoutAction({ key, older }, event);
      const versions = waiting.map(({ seq, goal, event: name, reward, at, restates }): Sent => {
        return { event: addressed({ ...event, goal, event: name, reward, at, restates }, key, link), seq, shard };
      });
      return [{ event: addressed(event, key, link), place, shard }, ...versions];
    });
  }

  /** The home of a key. After a rotation of the secret, an older hash may have another home. */
  async #homeOf(event: KeyedEvent): Promise<number> {
    const { links } = this.#store;
    const hashes = this.#hashesOf(event);
    const homes = hashes.map((hash) => links.homeOf(hash));
    // Homes do not look further.
    if (this.#shard !== 0) return this.#shard;
    if (new Set(homes).size === 1) return homes[0];
    for (const [i, home] of homes.entries()) {
      const isKnown = home === 0 ? this.knows(hashes[i]) : await this.#ask(home, hashes[i]);
      if (isKnown) return home;
    }
    return homes[0];
  }

  #ask(home: number, key: string): Promise<boolean> {
    return learner(this.#env, this.#nameOf(home), (stub) => stub.knows(key));
  }

  /** Whether an impression of any shard has a key whose home is here. */
  knows(key: string): boolean {
    return this.#store.links.has(key) || this.#store.impressions.keys.impressionsOf([key]).length > 0;
  }

  #hashesOf({ key, byPage }: KeyedEvent): readonly string[] {
    return counted(key, byPage, this.#current.get().config.pageKeys);
  }

  /** The impression of another shard to which an event belongs. None if it belongs to one of this shard, or to none yet. */
  #linkOf(event: KeyedEvent): Link | undefined {
    const { links, conversions, impressions } = this.#store;
    const [key, ...older] = this.#hashesOf(event);
    const { action, goal, at } = event;
    const known = links.forwardedTo({ key, older }, event);
    if (known || conversions.sentTo({ key, older, action }, event) || conversions.isErased({ key, older }, event)) return known;
    const from = at - windowOf(this.#current.get().config, goal);
    const link = links.newest([key, ...older], action, from, at + 1);
    const own = link && impressions.keys.newest([key, ...older], action, from, at + 1);
    if (own && own.impression > link.impression) return undefined;
    // Refused here, by the ledger of the home.
    return link && action === null && impressions.keys.isOfSeveral([key, ...older], from, at + 1, own) ? undefined : link;
  }

  #call(shard: number, events: Events): Promise<readonly Ingested[]> {
    return learner(this.#env, this.#nameOf(shard), (stub) => stub.ingest(events));
  }

  /**
   * A shard that has not answered yet in this generation may not exist, or may be about to forget what it takes.
   * @throws {Problem} 503 from the coordinator if that shard has not answered.
   */
  checkReached(shard: number): void {
    if (!this.#store.shards.find(shard))
      throw new Unreachable(`shard ${shard} of the model has not been reached since it was made or reset`);
  }

  /**
   * Takes notes of another shard, and sends it the events that have waited for its impressions. A repetition sends again those that were
   * sent without an answer.
   */
  async link(notes: readonly Omit<Note, "seq">[], shard: number): Promise<void> {
    const { links, conversions } = this.#store;
    const { config } = this.#current.get();
    // One transaction, before anything is sent: no other impression takes the events, and their repetitions go to the same ones.
    const sent = this.#store.transact(() => {
      links.link(notes, shard);
      return notes.flatMap(({ key, impression, action }) => {
        if (action === null) return [];
        const link = { impression, shard };
        return conversions.sendOrphans(key, action, link, config).map(({ seq, status: _, ...waiting }) => {
          links.noteForwarded(key, waiting, link);
          return { seq, event: { ...waiting, impression } };
        });
      });
    });
    for (let i = 0; i < sent.length; i += EVENTS_AT_ONCE) {
      const some = sent.slice(i, i + EVENTS_AT_ONCE);
      await this.#call(
        shard,
        some.map(({ event }) => event),
      );
      this.#store.transact(() => {
        for (const { seq, event } of some) conversions.delivered(seq, event.impression);
      });
    }
  }

  /** Sends on what waits here and meets an impression of another shard by now, because the window has grown. */
  async sendWaiting(): Promise<void> {
    for (const { shard, ...note } of this.#store.links.awaited()) await this.link([note], shard);
  }

  /** Delivers the notes of this shard to the homes of their keys. @throws {Problem} 503 if a home cannot be reached. */
  deliver(): Promise<void> {
    // One after the other, so that no older note follows that of an erasure.
    return this.#deliveries.take(() => this.#deliverAll());
  }

  async #deliverAll(): Promise<void> {
    for (let next = this.#store.links.undelivered; next; next = this.#store.links.undelivered) {
      const { home, notes } = next;
      const shard = this.#shard;
      await learner(this.#env, this.#nameOf(home), (stub) => stub.link(notes, shard));
      this.#store.transact(() => this.#store.links.delivered(notes));
    }
  }

  get #shard(): number {
    return this.#store.model.shard;
  }

  #nameOf(shard: number): string {
    return shardName(shardOf(this.#store.model.name).model, shard);
  }
}

/** A keyed event in the form of one that names its impression. */
function addressed({ key: _, byPage: __, action, ...outcome }: KeyedEvent, key: string, { impression }: Link): ConversionEvent & ByKey {
  return { ...outcome, impression, key, action };
}
