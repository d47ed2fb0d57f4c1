import { SnapshotError } from "afterclick";
import { decode, encode } from "../../publication/codec.ts";
import type { Action } from "../protocol/schema.ts";
import type { ModelConfig } from "./model.ts";

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

/** Whether publication `a` replaces `b`. */
export function isNewer(a: Pick<Publication, "generation" | "version">, b: Pick<Publication, "generation" | "version">): boolean {
  return a.generation > b.generation || (a.generation === b.generation && a.version > b.version);
}

export function encodePublication({
  parts,
  ...header
}: Omit<Publication, "config"> & { readonly config: object }): Promise<Uint8Array<ArrayBuffer>> {
  return encode(header, parts);
}

/** Decodes a publication; undefined if it is damaged, or written by another version during a deploy. */
export async function decodePublication(bytes: Uint8Array<ArrayBuffer>): Promise<Publication | undefined> {
  try {
    const { header, snapshots: parts } = await decode<Omit<Publication, "parts">>(bytes);
    return { ...header, parts };
  } catch (error) {
    if (error instanceof SnapshotError) return undefined;
    throw error;
  }
}
