import type { Action } from "../protocol/schema.ts";
import { FEATURE_SCHEMA, type ModelConfig } from "./model.ts";

/** A snapshot as it is stored. */
export interface StoredSnapshot {
  /** The last row that the snapshot includes, which is the version of the model. */
  readonly seq: number;
  /** One snapshot of the SDK per policy. */
  readonly parts: Uint8Array[];
}

/** A published model: everything that an isolate needs to decide. */
export interface Publication {
  readonly model: string;
  /** Start of the model, in ms since 1970. A model that was reset has a later generation. */
  readonly generation: number;
  /** Versions count up within a generation. */
  readonly version: number;
  readonly publishedAt: number;
  readonly config: ModelConfig;
  readonly actions: readonly Action[];
  /** One snapshot per policy: the served one first, then its shadows. */
  readonly parts: readonly Uint8Array[];
}

/** Entry of the list of models. */
export interface PublicationSummary {
  readonly policy: string;
  readonly serving: ModelConfig["serving"];
  readonly generation: number;
  readonly version: number;
  readonly publishedAt: number;
}

const FORMAT = 1;
const DIGEST_BYTES = 32;

/** Whether publication `a` replaces `b`. */
export function isNewer(a: Pick<Publication, "generation" | "version">, b: Pick<Publication, "generation" | "version">): boolean {
  return a.generation > b.generation || (a.generation === b.generation && a.version > b.version);
}

/** Layout: SHA-256 of the rest, length of the header (uint32, big-endian), header as JSON, snapshots. */
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

/** Decodes a publication; undefined if it is damaged or has another format. */
export async function decodePublication(bytes: Uint8Array<ArrayBuffer>): Promise<Publication | undefined> {
  if (bytes.length < DIGEST_BYTES + 4 || !isSame(await digestOf(bytes), bytes.subarray(0, DIGEST_BYTES))) return undefined;
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(DIGEST_BYTES);
  let offset = DIGEST_BYTES + 4 + length;
  const { format, schema, lengths, ...header } = JSON.parse(new TextDecoder().decode(bytes.subarray(DIGEST_BYTES + 4, offset)));
  // During a deploy two versions of the code run side by side.
  if (format !== FORMAT || schema !== FEATURE_SCHEMA) return undefined;
  const parts = (lengths as number[]).map((size) => {
    offset += size;
    return bytes.slice(offset - size, offset);
  });
  return { ...header, parts };
}

async function digestOf(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes.subarray(DIGEST_BYTES)));
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.every((byte, i) => byte === b[i]);
}
