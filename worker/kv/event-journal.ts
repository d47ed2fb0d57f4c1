import { bucketAt, journalledUntil, type Timing } from "../domain/bucket.ts";
import { shownAtOf } from "../domain/token.ts";

/** What a conversion says, whichever impression it is of. */
export interface Outcome {
  readonly goal: string;
  /** Names the event: the webhook's id and, in a batch, the place. */
  readonly event: string;
  /** Null: retracted. */
  readonly reward: number | null;
  /** When it happened, in ms since 1970. */
  readonly at: number;
}

/** A conversion that came with a key instead of an impression. */
export interface KeyedEvent extends Outcome {
  /** As a hash. */
  readonly key: string;
  /** Only impressions of this action are meant; null: of any. */
  readonly action: string | null;
}

/** A conversion of one impression as it was delivered. Either store keeps it whole. */
export interface ConversionEvent extends Outcome {
  /** UUID of its impression. */
  readonly impression: string;
}

/** The least that KV allows, with room for a clock that differs. */
const LEAST_LIFE_MS = 90_000;

/** The journal of one model's conversions in KV, from which its learner takes at closing what it never got. */
export class EventStore {
  readonly #kv: KVNamespace;
  readonly #model: string;
  readonly #timing: Timing;

  constructor(kv: KVNamespace, model: string, timing: Timing) {
    this.#kv = kv;
    this.#model = model;
    this.#timing = timing;
  }

  /** Keeps an event until its bucket has been audited. The same event twice is one record, another payload another. */
  async put(event: ConversionEvent): Promise<void> {
    const expiration = this.#expiration(event.impression);
    // In the metadata, a page of the list brings a thousand events at once.
    await this.#kv.put(await this.#key(event), "", { expiration, metadata: event });
  }

  /** Notes that the learner did not get an event, so that its bucket is looked at whatever else is known of it. */
  async owe(event: ConversionEvent): Promise<void> {
    // A key of its own: KV takes one write a second for a key.
    await this.#kv.put(`owed/${await this.#key(event)}`, "", { expiration: this.#expiration(event.impression) });
  }

  /** Starts of the buckets of which it keeps events that the learner did not get. */
  async owed(): Promise<number[]> {
    const prefix = `owed/event/${this.#model}/`;
    const buckets = new Set<number>();
    let cursor: string | undefined;
    do {
      const page: KVNamespaceListResult<unknown, string> = await this.#kv.list({ prefix, cursor });
      for (const { name } of page.keys) buckets.add(Number(name.slice(prefix.length).split("/")[0]));
      cursor = page.list_complete ? undefined : page.cursor;
    } while (cursor);
    return [...buckets];
  }

  async delete(event: ConversionEvent): Promise<void> {
    await this.#kv.delete(await this.#key(event));
  }

  /** Deletes all that was delivered for an impression. */
  async erase(impression: string): Promise<void> {
    for await (const events of this.#list(this.#impression(impression))) await Promise.all(events.map((event) => this.delete(event)));
  }

  /** Events of impressions shown in a bucket, a page at a time; a page may be empty. */
  list(bucket: number): AsyncGenerator<ConversionEvent[]> {
    return this.#list(this.#bucket(bucket));
  }

  async *#list(prefix: string): AsyncGenerator<ConversionEvent[]> {
    let cursor: string | undefined;
    do {
      const page: KVNamespaceListResult<ConversionEvent, string> = await this.#kv.list({ prefix, cursor });
      yield page.keys.flatMap(({ metadata }) => metadata ?? []);
      cursor = page.list_complete ? undefined : page.cursor;
    } while (cursor);
  }

  /** When it may forget what is of an impression, in seconds since 1970. */
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
