// Publications in KV, which may be a minute old or damaged when they are read.

import type { CatalogueRecord } from "../domain/catalogue/catalogue-record.ts";
import type { Publication, PublicationSummary } from "../domain/model/publication.ts";
import { listedKeys } from "./listed-keys.ts";

const PREFIX = "model/";
const CATALOGUES = "catalogue/";
/** How long a location may cache a record, in seconds. */
const CACHED_S = 30;

/** The publications of all models in KV: for each model one record of its posterior, and one of its catalogue. */
export class PublicationStore {
  readonly #kv: KVNamespace;

  constructor(kv: KVNamespace) {
    this.#kv = kv;
  }

  /** The newest publication that KV shows at this location, as bytes; undefined if there is none. */
  get(model: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    return this.#bytes(PREFIX + model);
  }

  /** The newest catalogue that KV shows at this location, as bytes; undefined if there is none. */
  getCatalogue(model: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    return this.#bytes(CATALOGUES + model);
  }

  async #bytes(key: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const bytes = await this.#kv.get(key, { type: "arrayBuffer", cacheTtl: CACHED_S });
    return bytes === null ? undefined : new Uint8Array(bytes);
  }

  /** Whether KV shows a publication of the model at this location. Its bytes are not read. */
  async has(model: string): Promise<boolean> {
    const bytes = await this.#kv.get(PREFIX + model, { type: "stream", cacheTtl: CACHED_S });
    await bytes?.cancel();
    return bytes !== null;
  }

  async put(bytes: Uint8Array<ArrayBuffer>, { model, config, generation, version, publishedAt }: Publication): Promise<void> {
    const metadata: PublicationSummary = { policy: config.policy, serving: config.serving, generation, version, publishedAt };
    await this.#kv.put(PREFIX + model, bytes, { metadata });
  }

  async putCatalogue(bytes: Uint8Array<ArrayBuffer>, { model }: Pick<CatalogueRecord, "model">): Promise<void> {
    await this.#kv.put(CATALOGUES + model, bytes);
  }

  async delete(model: string): Promise<void> {
    await Promise.all([PREFIX, CATALOGUES].map((prefix) => this.#kv.delete(prefix + model)));
  }

  /** All models that KV shows at this location. */
  async list(): Promise<(PublicationSummary & { readonly model: string })[]> {
    const models: (PublicationSummary & { readonly model: string })[] = [];
    for await (const keys of listedKeys<PublicationSummary>(this.#kv, PREFIX)) {
      models.push(...keys.flatMap(({ name, metadata }) => (metadata ? [{ model: name.slice(PREFIX.length), ...metadata }] : [])));
    }
    return models;
  }
}
