import type { LearnerStore } from "../learner/store/learner-store.ts";
import type { StoredSnapshot } from "../learner/store/snapshot-store.ts";
import type { Action } from "../protocol/schema.ts";
import { FEATURE_SCHEMA, type ModelConfig } from "./model.ts";

/** What a learner publishes: all that an isolate needs to decide. */
export interface Publication {
  readonly model: string;
  /** Of two generations the later one is another model of the same name. */
  readonly generation: number;
  /** Within a generation the greater one is newer. */
  readonly version: number;
  readonly publishedAt: number;
  readonly config: ModelConfig;
  readonly actions: readonly Action[];
  /** A snapshot per policy: of the one that is served, then of its shadows. */
  readonly parts: readonly Uint8Array[];
}

/** Shown in the list of models. */
export interface PublicationSummary {
  readonly policy: string;
  readonly serving: ModelConfig["serving"];
  readonly generation: number;
  readonly version: number;
  readonly publishedAt: number;
}

const FORMAT = 1;
const DIGEST_BYTES = 32;
const PREFIX = "model/";

/** Whether one publication replaces another. */
export function isNewer(a: Pick<Publication, "generation" | "version">, b: Pick<Publication, "generation" | "version">): boolean {
  return a.generation > b.generation || (a.generation === b.generation && a.version > b.version);
}

/** Bytes: SHA-256 of the rest, length of the header, the header as JSON, the snapshots. */
export async function encodePublication({
  parts,
  ...header
}: Omit<Publication, "config"> & { readonly config: object }): Promise<Uint8Array<ArrayBuffer>> {
  const lengths = parts.map(({ length }) => length);
  const text = new TextEncoder().encode(JSON.stringify({ format: FORMAT, schema: FEATURE_SCHEMA, lengths, ...header }));
  const bytes = new Uint8Array(DIGEST_BYTES + 4 + text.length + lengths.reduce((sum, length) => sum + length, 0));
  new DataView(bytes.buffer).setUint32(DIGEST_BYTES, text.length);
  bytes.set(text, DIGEST_BYTES + 4);
  let offset = DIGEST_BYTES + 4 + text.length;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  bytes.set(await digestOf(bytes), 0);
  return bytes;
}

/** Reads a publication; undefined if it is not whole, or not for this code. */
export async function decodePublication(bytes: Uint8Array<ArrayBuffer>): Promise<Publication | undefined> {
  if (bytes.length < DIGEST_BYTES + 4 || !isSame(await digestOf(bytes), bytes.subarray(0, DIGEST_BYTES))) return undefined;
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(DIGEST_BYTES);
  let offset = DIGEST_BYTES + 4 + length;
  const { format, schema, lengths, ...header } = JSON.parse(new TextDecoder().decode(bytes.subarray(DIGEST_BYTES + 4, offset)));
  // Two versions of the code run side by side during a deploy.
  if (format !== FORMAT || schema !== FEATURE_SCHEMA) return undefined;
  const parts = (lengths as number[]).map((size) => {
    offset += size;
    return bytes.slice(offset - size, offset);
  });
  return { ...header, parts };
}

/** The publications of all models in KV, one record each. */
export class PublicationStore {
  readonly #kv: KVNamespace;

  constructor(kv: KVNamespace) {
    this.#kv = kv;
  }

  /** The bytes last put, as far as KV shows them here already; undefined if it has none. */
  async get(model: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const bytes = await this.#kv.get(PREFIX + model, { type: "arrayBuffer", cacheTtl: 30 });
    return bytes === null ? undefined : new Uint8Array(bytes);
  }

  async put(bytes: Uint8Array<ArrayBuffer>, { model, config, generation, version, publishedAt }: Publication): Promise<void> {
    const metadata: PublicationSummary = { policy: config.policy, serving: config.serving, generation, version, publishedAt };
    await this.#kv.put(PREFIX + model, bytes, { metadata });
  }

  async delete(model: string): Promise<void> {
    await this.#kv.delete(PREFIX + model);
  }

  /** Every model that KV shows. */
  async list(): Promise<(PublicationSummary & { readonly model: string })[]> {
    const models: (PublicationSummary & { readonly model: string })[] = [];
    let cursor: string | undefined;
    do {
      const page: KVNamespaceListResult<PublicationSummary, string> = await this.#kv.list({ prefix: PREFIX, cursor });
      models.push(...page.keys.flatMap(({ name, metadata }) => (metadata ? [{ model: name.slice(PREFIX.length), ...metadata }] : [])));
      cursor = page.list_complete ? undefined : page.cursor;
    } while (cursor);
    return models;
  }
}

/** What a store that has a snapshot publishes: its configuration, its actions and the newest one. */
export function publicationOf(store: LearnerStore, publishedAt: number): Publication {
  const { name: model, generation, config } = store;
  const { seq: version, parts } = store.snapshots.newest() as StoredSnapshot;
  return { model, generation, version, publishedAt, config, actions: store.actions(), parts };
}

async function digestOf(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes.subarray(DIGEST_BYTES)));
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.every((byte, i) => byte === b[i]);
}
