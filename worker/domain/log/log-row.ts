import type { StoredConversion } from "../conversion/conversion.ts";
import { shownAtOf } from "../ids/uuid.ts";
import type { StoredImpression } from "../impression/impression.ts";
import type { ErasedLine, EventLine, MarkLine } from "./log-line.ts";

export type ConversionRow = { readonly type: "conversion" } & StoredConversion;

export type MarkRow = { readonly type: "mark"; readonly seq: number; readonly mark: string; readonly content: string };

/** A row of the event log, in the order of the sequence that all tables share. */
export type LogRow = ({ readonly type: "impression" } & StoredImpression & { readonly keys: readonly string[] }) | ConversionRow | MarkRow;

/** A row of the log as it is exported and archived. */
export function exportedLine(row: LogRow): EventLine {
  if (row.type === "mark") return { ...row, content: JSON.parse(row.content) } as MarkLine;
  if (row.type === "conversion") {
    const { key: hash, action, ...conversion } = row;
    // Only an erased conversion has no goal.
    if (conversion.goal === "") return erasedLine(row.seq, row.impression);
    return hash === null ? conversion : { ...conversion, hash, action };
  }
  const { name: _, slots: __, waits: ___, delays: ____, amounts: _____, ...logged } = row;
  const { features, keys: hashes, erased, byPage, sampling, ...impression } = logged;
  if (erased) return erasedLine(row.seq, row.id);
  return {
    ...impression,
    shownAt: shownAtOf(row.id),
    features: Array.from(features),
    hashes: hashes as string[],
    ...(byPage && { byPage }),
    ...(sampling > 0 && { sampling }),
  };
}

/** The line that is left of an erased impression or of its conversion. */
export function erasedLine(seq: number, id: string): ErasedLine {
  return { type: "erased", seq, id };
}
