// Keeps conversions in KV, so that a learner that did not get one finds it when it closes the bucket.

import type { ConversionEvent } from "../domain/conversion/event.ts";
import { shownAtOf } from "../domain/ids/uuid.ts";
import { bucketAt, journalledUntil, type Timing } from "../domain/impression/bucket.ts";
import { listedKeys } from "./listed-keys.ts";

/** KV allows no shorter life than 60 s. The rest is room for a clock that differs. */
const LEAST_LIFE_MS = 90_000;

/** An event, and when it was last noted that the learner did not get it, in ms since 1970. */
export interface NotedEvent extends ConversionEvent {
  readonly notedAt?: number;
}

/** The journal of one model's conversion events in KV. At closing, the learner takes missing events from it. */
export class EventJournal {
  readonly #kv: KVNamespace;
  readonly #model: string;
  readonly #timing: Timing;

  constructor(kv: KVNamespace, model: string, timing: Timing) {
    this.#kv = kv;
    this.#model = model;
    this.#timing = timing;
  }

  /** Stores an event until its bucket is audited. A repeated event is the same record; another payload makes another one. */
  async put(event: ConversionEvent): Promise<void> {
    const expiration = this.#expiration(event.impression);
    // The event is in the metadata, because a page of the list returns the metadata of 1,000 records.
    await this.#kv.put(await this.#key(event), "", { expiration, metadata: event });
  }

  /** Notes that the learner did not get an event. It takes noted events long before it reads a whole bucket, and buckets without rows too. */
  async noteMissing(event: ConversionEvent): Promise<void> {
    const expiration = this.#expiration(event.impression);
    // One key per event, because KV takes one write per second for a key.
    await this.#kv.put(`owed/${await this.#key(event)}`, "", { expiration, metadata: { ...event, notedAt: Date.now() } });
  }

  /** The noted events, page by page. */
  async *noted(): AsyncGenerator<NotedEvent[]> {
    for await (const keys of listedKeys<NotedEvent>(this.#kv, `owed/event/${this.#model}/`)) yield eventsOf(keys);
  }

  /** Deletes the notes of events. */
  async settle(events: readonly ConversionEvent[]): Promise<void> {
    await Promise.all(events.map(async (event) => this.#kv.delete(`owed/${await this.#key(event)}`)));
  }

  async delete(event: ConversionEvent): Promise<void> {
    await this.#kv.delete(await this.#key(event));
  }

  /** Deletes all events of an impression, and the notes that they are missing. */
  async erase(impression: string): Promise<void> {
    for (const prefix of [this.#impression(impression), `owed/${this.#impression(impression)}`]) {
      for await (const keys of listedKeys(this.#kv, prefix)) await Promise.all(keys.map(({ name }) => this.#kv.delete(name)));
    }
  }

  /** Events of impressions shown in a bucket, page by page. A page may be empty. */
  async *list(bucket: number): AsyncGenerator<ConversionEvent[]> {
    for await (const keys of listedKeys<NotedEvent>(this.#kv, this.#bucket(bucket))) yield eventsOf(keys);
  }

  /** When the events of an impression expire, in seconds since 1970. */
  #expiration(impression: string): number {
    const until = journalledUntil(shownAtOf(impression), this.#timing);
    return Math.ceil(Math.max(until, Date.now() + LEAST_LIFE_MS) / 1000);
  }

  #bucket(start: number): string {
    return `event/${this.#model}/${start}/`;
  }

  #impression(id: string): string {
    return `${this.#bucket(bucketAt(shownAtOf(id), this.#timing.windowMs))}${id}/`;
  }

  async #key({ impression, event, goal, reward, at }: ConversionEvent): Promise<string> {
    const content = JSON.stringify([event, goal, reward, at]);
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(content)), 0, 16);
    const hex = Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return `${this.#impression(impression)}${hex}`;
  }
}

/** The events of records. What is no event of the impression in its name was altered, and is left out: no alarm may stumble over it. */
function eventsOf(keys: readonly KVNamespaceListKey<NotedEvent>[]): NotedEvent[] {
  return keys.flatMap(({ name, metadata }) => (metadata && isOf(name, metadata) ? [metadata] : []));
}

function isOf(name: string, { impression, goal, event, reward, at }: NotedEvent): boolean {
  const isNamed = [goal, event].every((each) => typeof each === "string") && name.split("/").at(-2) === impression;
  return isNamed && (reward === null || Number.isFinite(reward)) && Number.isFinite(at);
}
