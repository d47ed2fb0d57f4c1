import { publicationParts } from "../domain/policies.ts";
import { type Edition, encodePublication, isNewer, type Publication, type StoredSnapshot } from "../domain/publication.ts";
import type { LearnerStore } from "./store/learner-store.ts";

/** Most bytes of newer publications that isolates may take in a second. */
const MOST_BYTES = 20_000_000;

interface Encoded {
  readonly publication: Publication;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** The publication of a model's newest snapshot. It is encoded once, for KV and for all isolates. The store must hold a snapshot. */
export class Publisher {
  readonly #store: LearnerStore;
  #encoded?: Edition & { readonly content: Promise<Encoded> };
  /** What isolates have taken in the running second. */
  #taken = { since: 0, bytes: 0 };

  constructor(store: LearnerStore) {
    this.#store = store;
  }

  async newest(): Promise<Encoded> {
    const { generation, snapshots } = this.#store;
    const version = snapshots.newestVersion();
    if (this.#encoded?.generation !== generation || this.#encoded.version !== version) {
      const encoded = { generation, version, content: this.#encode() };
      this.#encoded = encoded;
      // The next call reads the snapshot again.
      encoded.content.catch(() => {
        if (this.#encoded === encoded) this.#encoded = undefined;
      });
    }
    return this.#encoded.content;
  }

  async #encode(): Promise<Encoded> {
    const { name: model, generation, config, catalogue, snapshots } = this.#store;
    const { seq: version, parts: saved } = snapshots.newest() as StoredSnapshot;
    const header = { model, generation, version, publishedAt: Date.now(), config, actions: catalogue.actions };
    const ids = [config, ...config.shadows].map(({ policy }) => policy);
    const publication = { ...header, parts: await publicationParts(saved, ids) };
    return { publication, bytes: await encodePublication(publication) };
  }

  /** The publication for an isolate that holds an earlier one; null if it is not earlier, or too many isolates ask at the moment. */
  async after(held: Edition): Promise<Uint8Array<ArrayBuffer> | null> {
    const { publication, bytes } = await this.newest();
    if (!isNewer(publication, held)) return null;
    const now = Date.now();
    if (Math.abs(now - this.#taken.since) >= 1000) this.#taken = { since: now, bytes: 0 };
    if (this.#taken.bytes >= MOST_BYTES) return null;
    this.#taken.bytes += bytes.length;
    return bytes;
  }
}
