import type { CatalogueChange } from "../../worker/domain/catalogue/catalogue.ts";
import type { StoredConversion } from "../../worker/domain/conversion/conversion.ts";
import type { MergedMark } from "../../worker/domain/ids/shard.ts";
import type { StoredImpression } from "../../worker/domain/impression/impression.ts";
import type { ModelConfig } from "../../worker/domain/model/model.ts";
import type { LogHead } from "../../worker/rpc/message.ts";

/** An impression in an exported log. */
export interface ImpressionLine extends Omit<StoredImpression, "name" | "slots" | "features" | "round" | "erased" | "sampling"> {
  readonly type: "impression";
  readonly features: readonly number[];
  readonly round: number | null;
  /** Exponent of the sampling. Absent: every impression was kept. */
  readonly sampling?: number;
  readonly shownAt: number;
}

export interface ConversionLine extends Omit<StoredConversion, "key" | "action"> {
  readonly type: "conversion";
}

interface Mark<Name extends string, Content> {
  readonly type: "mark";
  readonly seq: number;
  readonly mark: Name;
  readonly content: Content;
}

export type MarkLine =
  | Mark<"configuration", ModelConfig>
  | Mark<"actions", CatalogueChange>
  | Mark<"snapshot", { readonly digest: string }>
  | Mark<"relearnt", { readonly config: ModelConfig; readonly digest: string }>
  | Mark<"merged", MergedMark>
  | Mark<"rollback", { readonly to: number }>
  | Mark<"erasure", { readonly impression: string }>;

export interface ErasedLine {
  readonly type: "erased";
  readonly seq: number;
  readonly id: string;
}

interface Origin {
  /** The shard that has the row. Absent for shard 0, whose versions are those of the model. */
  readonly shard?: number;
  /** A row of the archive is in the state of this version. */
  readonly archivedAt?: number;
  /** Number of the line in its file, from 1. Absent for a row of the archive. */
  readonly line?: number;
}

/** A line of the log. Each shard numbers its lines by itself. */
export type EventLine = (ImpressionLine | ConversionLine | MarkLine | ErasedLine) & Origin;
export type HeadLine = { readonly type: "model" } & LogHead & Pick<Origin, "line">;

/** The last line of a log that lost rows while it was read: the number of its events, which is less than the head states. */
export interface EndLine extends Pick<Origin, "line"> {
  readonly type: "end";
  readonly lines: number;
}

/** A log that differs from the worker's. The message names the line and the difference. */
export class LogMismatch extends Error {
  override readonly name = "LogMismatch";
}

export function nameOf(line: HeadLine | EventLine | EndLine): string {
  const number = line.line === undefined ? "" : `line ${line.line}, `;
  if (line.type === "model") return `${number}the head`;
  if (line.type === "end") return `${number}the end`;
  const event = `${number}event ${line.seq}${line.shard === undefined ? "" : ` of shard ${line.shard}`}`;
  if (line.type === "mark") return `${event}, ${line.mark}`;
  return `${event}, ${line.type} ${line.type === "conversion" ? `of ${line.impression}` : line.id}`;
}
