import type { CatalogueChange } from "../../worker/domain/catalogue.ts";
import type { StoredConversion } from "../../worker/domain/conversion.ts";
import type { StoredImpression } from "../../worker/domain/impression.ts";
import type { ModelConfig } from "../../worker/domain/model.ts";
import { receiptIn } from "../../worker/domain/receipt.ts";
import type { MergedMark } from "../../worker/domain/shard.ts";
import type { LogHead } from "../../worker/rpc/message.ts";
import { lineFault } from "./line-fault.ts";

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

/** A log that differs from the worker's. The message names the line and the difference. */
export class LogMismatch extends Error {
  override readonly name = "LogMismatch";
}

/** The lines of a log. */
export type Texts = Iterable<string> | AsyncIterable<string>;

/**
 * Parses an exported log. With `receipts` it checks each line's receipt.
 * @throws {LogMismatch} naming the first line that no worker exports.
 */
export async function* linesOf(texts: Texts, { receipts }: { readonly receipts: boolean }): AsyncGenerator<HeadLine | EventLine> {
  let number = 0;
  let begun = false;
  let before = "";
  for await (const text of texts) {
    number++;
    if (text.trim() === "") continue;
    const line = parsed(text, number);
    if (!begun && line.type !== "model") throw new LogMismatch(`line ${number}: expected the head of an exported log, got ${line.type}`);
    begun = true;
    if (receipts) {
      const found = receiptIn(text, before);
      if (!found) throw new LogMismatch(`${nameOf(line)}: expected a receipt, got none`);
      if (!found.follows)
        throw new LogMismatch(`${nameOf(line)}: the receipt does not match this line and the one before; one of them was changed`);
      before = found.receipt;
    }
    const fault = lineFault(line);
    if (fault) throw new LogMismatch(`${nameOf(line)}: ${fault}`);
    yield line;
  }
  if (!begun) throw new LogMismatch("expected an exported log, got an empty one");
}

function parsed(text: string, number: number): HeadLine | EventLine {
  try {
    const line = JSON.parse(text);
    if (["model", "impression", "conversion", "mark", "erased"].includes(line?.type)) return { ...line, line: number };
  } catch {}
  throw new LogMismatch(`line ${number}: expected a line of an exported log`);
}

export function nameOf(line: HeadLine | EventLine): string {
  const number = line.line === undefined ? "" : `line ${line.line}, `;
  if (line.type === "model") return `${number}the head`;
  const event = `${number}event ${line.seq}${line.shard === undefined ? "" : ` of shard ${line.shard}`}`;
  if (line.type === "mark") return `${event}, ${line.mark}`;
  return `${event}, ${line.type} ${line.type === "conversion" ? `of ${line.impression}` : line.id}`;
}
