// A published model: its name, when it is due, and which of two is newer.

import { SnapshotError } from "afterclick";
import { decode, encode } from "../../../src/publication/codec.ts";
import type { Action } from "../../protocol/schema.ts";
import type { ModelConfig } from "./model.ts";

/** A snapshot as it is stored. */
export interface StoredSnapshot {
  /** The last row that the snapshot includes, which is the version of the model. */
  readonly seq: number;
  /** One snapshot of the SDK per policy. */
  readonly parts: Uint8Array[];
}

/** A published model: everything that an isolate needs to decide beside a catalogue. */
export interface Publication {
  readonly model: string;
  /** Start of the model, in ms since 1970. A model that was reset has a later generation. */
  readonly generation: number;
  /** Versions count up within a generation. */
  readonly version: number;
  readonly publishedAt: number;
  readonly config: ModelConfig;
  /** Version of the catalogue that isolates need at least. */
  readonly catalogue: number;
  /** The catalogue itself at this version. Absent unless the publication carries it, as for pages. */
  readonly actions?: readonly Action[];
  /** One publication of the SDK per policy, or its snapshot: the served one first, then its shadows. */
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

/** Names a publication of a model. */
export type Edition = Pick<Publication, "generation" | "version">;

/** The edition of a model that an isolate holds. */
export interface HeldEdition extends Edition {
  /** Version of its catalogue. */
  readonly catalogue: number;
}

/** Least time between two writes of one key that KV takes, in ms. */
export const KV_WRITE_MS = 1000;

/** Share of new rows that makes a publication worth more than its costs. By it alone, 1e8 rows make 270 publications. */
const GROWTH = 1 / 16;

/**
 * When a model at row `seq` is to be published, in ms since 1970; undefined if it is. It may wait for `publish`, unless its rows have
 * grown by a sixteenth: then the model is young, and each row changes its decisions. A `local` model always waits, because the
 * difference between two publications reveals the sum of the rows between them.
 */
export function publishesAt(
  { version, at }: { readonly version: number; readonly at: number | null },
  seq: number,
  { publish, local }: Pick<ModelConfig, "publish" | "local">,
): number | undefined {
  if (version >= seq) return undefined;
  const young = !local && seq - version >= GROWTH * version;
  return (at ?? 0) + (young ? KV_WRITE_MS : publish.ms);
}

/** Whether publication `a` replaces `b`. */
export function isNewer(a: Edition, b: Edition): boolean {
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
    const { header, parts } = await decode<Omit<Publication, "parts">>(bytes);
    return { ...header, parts };
  } catch (error) {
    if (error instanceof SnapshotError) return undefined;
    throw error;
  }
}
