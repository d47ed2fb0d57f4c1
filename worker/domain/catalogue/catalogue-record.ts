import { SnapshotError } from "afterclick";
import { decode, encode } from "../../../src/publication/codec.ts";
import { Catalogue, type CatalogueChange, changeBetween, changedBy } from "./catalogue.ts";

/** A catalogue as isolates get it: whole, or as changes of an earlier version. */
export interface CatalogueRecord {
  readonly model: string;
  /** Start of the model, as in its publications. */
  readonly generation: number;
  readonly version: number;
  /** Version that the changes start from. Null: an empty catalogue, of any generation. */
  readonly base: number | null;
  readonly changes: readonly CatalogueChange[];
  /** The columns of all available actions, by the encoder of the model's configuration. Absent without an encoder, and beside changes. */
  readonly columns?: Uint8Array | undefined;
}

export function wholeRecord(model: string, generation: number, { version, actions }: Catalogue, columns?: Uint8Array): CatalogueRecord {
  return { model, generation, version, base: null, changes: [changeBetween([], actions)], columns };
}

/** Most bytes of a record with columns, so that KV takes it, and a message with a publication beside it. */
const MOST_WITH_COLUMNS = 20_000_000;

/** The record, without its columns if they make it too long: isolates then read the actions. */
export async function encodeRecord({ columns, ...record }: CatalogueRecord): Promise<Uint8Array<ArrayBuffer>> {
  const whole = await encode(record, columns ? [columns] : []);
  return whole.length > MOST_WITH_COLUMNS && columns ? encode(record, []) : whole;
}

/** Undefined if the bytes are damaged, or written by another version during a deploy. */
export async function decodeRecord(bytes: Uint8Array<ArrayBuffer>): Promise<CatalogueRecord | undefined> {
  try {
    const { header, parts } = await decode<Omit<CatalogueRecord, "columns">>(bytes);
    return { ...header, columns: parts[0] };
  } catch (error) {
    if (error instanceof SnapshotError) return undefined;
    throw error;
  }
}

/** The catalogue that a record makes of a held one of its generation. Undefined if it changes another version. */
export function recorded({ base, version, changes, columns }: CatalogueRecord, held: Catalogue | undefined): Catalogue | undefined {
  if (base !== null && base !== held?.version) return undefined;
  return new Catalogue(changes.reduce(changedBy, base === null ? [] : (held as Catalogue).actions), version, columns);
}
