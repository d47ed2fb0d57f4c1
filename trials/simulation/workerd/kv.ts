// KV at its worst: late, and unsure whether a write succeeded.

import { type Faults, Outage } from "./isolate.ts";

/** Greatest age of the values that KV shows elsewhere. */
const LAG_MS = 60_000;
const LEAST_LIFE_MS = 60_000;
const CURSOR = "after ";

type ReadOptions = "text" | "json" | "arrayBuffer" | { readonly type?: string };

interface Version {
  readonly from: number;
  /** Null if deleted. */
  readonly bytes: Uint8Array<ArrayBuffer> | null;
  readonly metadata: unknown;
  /** Expiration, in seconds since 1970. */
  readonly expiration: number;
}

/**
 * A KV namespace with the real one's behaviour. Reads and lists may show a state up to a minute old, including a missing
 * key. Writes are refused, or succeed and report a failure. Pages of a list may be empty.
 */
export class Kv {
  readonly #versions = new Map<string, Version[]>();
  readonly #now: () => number;
  readonly #faults: Faults;

  /** @param now KV's own clock, ms since 1970. */
  constructor(now: () => number, faults: Faults) {
    this.#now = now;
    this.#faults = faults;
  }

  async put(key: string, value: string | ArrayBuffer | ArrayBufferView, options: KVNamespacePutOptions = {}): Promise<void> {
    const { expiration = Number.MAX_VALUE, expirationTtl, metadata = null } = options;
    const from = this.#now();
    const ends = expirationTtl === undefined ? expiration : from / 1000 + expirationTtl;
    if (new TextEncoder().encode(key).length > 512) throw new RangeError(`key: expected at most 512 bytes, got ${key}`);
    if (JSON.stringify(metadata).length > 1024) throw new RangeError("metadata: expected at most 1024 bytes");
    if (ends * 1000 < from + LEAST_LIFE_MS) throw new RangeError(`expiration: expected at least a minute ahead, got ${ends}`);
    const bytes = await bytesOf(value);
    await this.#write("put", key, { from, bytes, metadata: structuredClone(metadata), expiration: ends });
  }

  delete(key: string): Promise<void> {
    return this.#write("delete", key, { from: this.#now(), bytes: null, metadata: null, expiration: Number.MAX_VALUE });
  }

  async #write(operation: string, key: string, version: Version): Promise<void> {
    const fault = this.#faults.kv(operation, key);
    await this.#faults.pause();
    if (fault === "refused") throw new Outage("KV failed: 429 Too Many Requests");
    const versions = this.#versions.get(key) ?? [];
    this.#versions.set(key, [...versions, { ...version, from: this.#now() }]);
    await this.#faults.pause();
    if (fault === "done but failed") throw new Outage("KV failed: 500 Internal Server Error");
  }

  async get(key: string, options?: ReadOptions): Promise<unknown> {
    return (await this.getWithMetadata(key, options)).value;
  }

  async getWithMetadata(key: string, options: ReadOptions = "text"): Promise<{ value: unknown; metadata: unknown; cacheStatus: null }> {
    const at = await this.#look("get");
    const version = this.#at(key, at);
    const type = typeof options === "string" ? options : (options.type ?? "text");
    const value = version?.bytes ? readAs(version.bytes, type) : null;
    return { value, metadata: structuredClone(version?.metadata ?? null), cacheStatus: null };
  }

  async list({ prefix, cursor, limit }: KVNamespaceListOptions = {}): Promise<KVNamespaceListResult<unknown>> {
    const at = await this.#look("list");
    const after = cursor?.slice(CURSOR.length) ?? "";
    const names = Array.from(this.#versions.keys()).filter((name) => name.startsWith(prefix ?? "") && name > after);
    const found = names.sort().filter((name) => this.#at(name, at)?.bytes);
    // Pages have few keys, sometimes none. An empty page may come before the last one.
    const page = found.slice(0, Math.min(limit ?? 1000, this.#faults.below(4)));
    const keys = page.map((name) => {
      const { expiration, metadata } = this.#at(name, at) as Version;
      return { name, expiration, ...(metadata !== null && { metadata: structuredClone(metadata) }) };
    });
    if (page.length === found.length) return { keys, list_complete: true, cacheStatus: null };
    return { keys, list_complete: false, cursor: `${CURSOR}${page.at(-1) ?? after}`, cacheStatus: null };
  }

  /** The time whose state a reader sees. @throws {Outage} */
  async #look(operation: string): Promise<number> {
    const fault = this.#faults.kv(operation);
    await this.#faults.pause();
    if (fault === "refused" || fault === "done but failed") throw new Outage("KV failed: 500 Internal Server Error");
    return this.#now() - (fault === "stale" ? this.#faults.below(LAG_MS) : 0);
  }

  #at(key: string, time: number): Version | undefined {
    const version = this.#versions.get(key)?.findLast(({ from }) => from <= time);
    return version && version.expiration * 1000 > this.#now() ? version : undefined;
  }
}

async function bytesOf(value: string | ArrayBuffer | ArrayBufferView | ReadableStream): Promise<Uint8Array<ArrayBuffer>> {
  if (typeof value === "string") return new Uint8Array(new TextEncoder().encode(value));
  if (value instanceof ArrayBuffer) return new Uint8Array(value.slice(0));
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer as ArrayBuffer, value.byteOffset, value.byteLength).slice();
  return new Uint8Array(await new Response(value).arrayBuffer());
}

function readAs(bytes: Uint8Array<ArrayBuffer>, type: string): unknown {
  if (type === "arrayBuffer") return bytes.slice().buffer;
  const text = new TextDecoder().decode(bytes);
  return type === "json" ? JSON.parse(text) : text;
}
