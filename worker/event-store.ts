import { bucketAt, forgottenAt, type Timing } from "./bucket.ts";
import { shownAtOf } from "./token.ts";

/** A conversion as it was delivered. Either store keeps it whole. */
export interface ConversionEvent {
  /** UUID of its impression. */
  readonly impression: string;
  readonly goal: string;
  /** Names the event: the webhook's id and, in a batch, the place. */
  readonly event: string;
  readonly reward: number;
  /** When it happened, in ms since 1970. */
  readonly at: number;
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

  /** Keeps an event until a day after its bucket closes. The same event twice is one record, another payload another. */
  async put(event: ConversionEvent): Promise<void> {
    const expiration = Math.ceil(Math.max(forgottenAt(shownAtOf(event.impression), this.#timing), Date.now() + LEAST_LIFE_MS) / 1000);
    // In the metadata, a page of the list brings a thousand events at once.
    await this.#kv.put(await this.#key(event), "", { expiration, metadata: event });
  }

  async delete(event: ConversionEvent): Promise<void> {
    await this.#kv.delete(await this.#key(event));
  }

  /** Events of impressions shown in a bucket, a page at a time; a page may be empty. */
  async *list(bucket: number): AsyncGenerator<ConversionEvent[]> {
    let cursor: string | undefined;
    do {
      const page: KVNamespaceListResult<ConversionEvent, string> = await this.#kv.list({ prefix: this.#prefix(bucket), cursor });
      yield page.keys.flatMap(({ metadata }) => metadata ?? []);
      cursor = page.list_complete ? undefined : page.cursor;
    } while (cursor);
  }

  #prefix(bucket: number): string {
    return `event/${this.#model}/${bucket}/`;
  }

  async #key(event: ConversionEvent): Promise<string> {
    const content = JSON.stringify([event.event, event.goal, event.reward, event.at]);
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(content)), 0, 16);
    const hex = Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return `${this.#prefix(bucketAt(shownAtOf(event.impression), this.#timing.windowMs))}${event.impression}/${hex}`;
  }
}
