// Encodes the newest publication once, for KV and for all isolates.

import type { Catalogue } from "../../domain/catalogue/catalogue.ts";
import { encodeRecord, wholeRecord } from "../../domain/catalogue/catalogue-record.ts";
import { featurizer, type ModelConfig } from "../../domain/model/model.ts";
import { publicationParts } from "../../domain/model/policies.ts";
import {
  type Edition,
  encodePublication,
  type HeldEdition,
  isNewer,
  type Publication,
  type StoredSnapshot,
} from "../../domain/model/publication.ts";
import { Problem } from "../../protocol/problem.ts";
import type { News } from "../../rpc/message.ts";
import type { LearnerStore } from "../store/learner-store.ts";

/** Most bytes of newer publications and catalogues that isolates may take in a second. */
const MOST_BYTES = 20_000_000;
/** An isolate takes changes of the catalogue, if they have at most so many characters, and the whole otherwise. */
const MOST_CHANGES = 100_000;

interface Encoded {
  readonly publication: Publication;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * The publication of a model's newest edition. It is encoded once, for KV and for all isolates. Without a snapshot that this version of the
 * worker can read it has no policies.
 */
export class Publisher {
  readonly #store: LearnerStore;
  #encoded?: Edition & { readonly content: Promise<Encoded> };
  #catalogue?: { readonly of: Catalogue; readonly config: ModelConfig; readonly bytes: Promise<Uint8Array<ArrayBuffer>> };
  /** Bytes that isolates have taken in the running second. */
  #taken = { since: 0, bytes: 0 };

  constructor(store: LearnerStore) {
    this.#store = store;
  }

  async newest(): Promise<Encoded> {
    const { editions } = this.#store;
    const { generation } = this.#store.model;
    const version = editions.newestVersion();
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
    const { editions } = this.#store;
    const { name: model, generation, config } = this.#store.model;
    const { seq: version, parts: saved }: StoredSnapshot = editions.newest() ?? { seq: 0, parts: [] };
    const catalogue = this.#store.catalogues.version(version);
    const header = { model, generation, version, publishedAt: Date.now(), config, catalogue };
    const ids = [config, ...config.shadows].map(({ policy }) => policy);
    const publication = { ...header, parts: await publicationParts(saved, ids) };
    return { publication, bytes: await encodePublication(publication) };
  }

  /** The publication with the newest catalogue in it. */
  async whole(): Promise<Uint8Array<ArrayBuffer>> {
    const { publication } = await this.newest();
    const { version: catalogue, actions } = this.#store.catalogue;
    return encodePublication({ ...publication, catalogue, actions });
  }

  /** The whole catalogue at its newest version. */
  catalogue(): Promise<Uint8Array<ArrayBuffer>> {
    const { catalogue } = this.#store;
    const { name, generation, config } = this.#store.model;
    if (this.#catalogue?.of !== catalogue || this.#catalogue.config !== config) {
      const record = wholeRecord(name, generation, catalogue, columnsOf(catalogue, config));
      this.#catalogue = { of: catalogue, config, bytes: encodeRecord(record) };
    }
    return this.#catalogue.bytes;
  }

  /**
   * The parts that are newer than those of an isolate. If many isolates ask at the moment, it gets nothing long, unless `always`.
   */
  async newer(held: HeldEdition, always: boolean): Promise<News> {
    const { publication, bytes } = await this.newest();
    const isBehind = isNewer(publication, held);
    // Read after the publication, so that it is at least the one that the publication names.
    const { catalogue } = this.#store;
    const { generation } = this.#store.model;
    const version = held.generation === generation ? held.catalogue : -1;
    const record = version < catalogue.version ? await this.#catalogueAfter(version) : null;
    return {
      publication: isBehind && (always || this.#mayTake(bytes.length)) ? bytes : null,
      newest: { generation, catalogue: catalogue.version },
      // Changes are few bytes.
      catalogue: record && (always || record.length <= 2 * MOST_CHANGES || this.#mayTake(record.length)) ? record : null,
    };
  }

  #catalogueAfter(version: number): Promise<Uint8Array<ArrayBuffer>> {
    const { catalogue } = this.#store;
    const { name: model, generation } = this.#store.model;
    const changes = this.#store.catalogues.changes(version, MOST_CHANGES);
    return changes ? encodeRecord({ model, generation, version: catalogue.version, base: version, changes }) : this.catalogue();
  }

  #mayTake(bytes: number): boolean {
    const now = Date.now();
    if (Math.abs(now - this.#taken.since) >= 1000) this.#taken = { since: now, bytes: 0 };
    if (this.#taken.bytes >= MOST_BYTES) return false;
    this.#taken.bytes += bytes;
    return true;
  }
}

/** The columns of the available actions. Undefined if they do not fit the encoder: an earlier configuration took them. */
function columnsOf({ available }: Catalogue, config: ModelConfig): Uint8Array | undefined {
  try {
    return featurizer(config).columns(available);
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}
