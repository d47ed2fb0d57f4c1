// Reads an export line by line, and stops at the first line that is damaged or missing.

import { receiptIn } from "../../worker/domain/ids/receipt.ts";
import { checkedLine } from "../../worker/domain/log/checked-line.ts";
import { type EndLine, EVENTS, logLine } from "../../worker/domain/log/log-line.ts";
import { type EventLine, type HeadLine, LogMismatch, nameOf, type Origin } from "./event-line.ts";

/** The lines of a log. */
export type Texts = Iterable<string> | AsyncIterable<string>;

/**
 * Parses one export of a log, or several in one file. With `receipts` it checks each line's receipt.
 * @throws {LogMismatch} naming the first line that no worker exports, or the head of an export with another number of lines than it states.
 */
export async function* linesOf(texts: Texts, { receipts }: { readonly receipts: boolean }): AsyncGenerator<HeadLine | EventLine> {
  let number = 0;
  /** The line that states the number of events: the head, or the end that corrects it. */
  let stating: HeadLine | (EndLine & Origin) | undefined;
  let events = 0;
  let before = "";
  for await (const text of texts) {
    number++;
    if (text.trim() === "") continue;
    const line = parsed(text, number);
    if (!stating && line.type !== "model") throw new LogMismatch(`line ${number}: expected the head of an exported log, got ${line.type}`);
    if (receipts) {
      const found = receiptIn(text, before);
      if (!found) throw new LogMismatch(`${nameOf(line)}: expected a receipt, got none`);
      if (!found.follows)
        throw new LogMismatch(`${nameOf(line)}: the receipt does not match this line and the one before; one of them was changed`);
      before = found.receipt;
    }
    if (line.type === "end") {
      stating = line;
      continue;
    }
    if (line.type === "model") {
      if (stating) checkWhole(stating, events);
      [stating, events] = [line, 0];
    } else events++;
    yield line;
  }
  if (!stating) throw new LogMismatch("expected an exported log, got an empty one");
  checkWhole(stating, events);
}

function checkWhole(stating: HeadLine | (EndLine & Origin), events: number): void {
  const { lines } = stating;
  if (events !== lines) throw new LogMismatch(`${nameOf(stating)}: expected ${lines} events, got ${events}; export the log again`);
}

function parsed(text: string, line: number): HeadLine | EventLine | (EndLine & Origin) {
  let read: HeadLine | EventLine | EndLine | undefined;
  try {
    read = JSON.parse(text);
    return { ...checkedLine(logLine, read), line };
  } catch (error) {
    const name = isNamed(read) ? nameOf({ ...read, line }) : `line ${line}`;
    throw new LogMismatch(
      `${name}: ${error instanceof SyntaxError ? "expected a line of an exported log, got no JSON" : (error as Error).message}`,
    );
  }
}

/** Whether a line that was not checked has what its name consists of. */
function isNamed(line: HeadLine | EventLine | EndLine | undefined): line is HeadLine | EventLine | EndLine {
  const { type } = line ?? {};
  return type === "model" || type === "end" || (type !== undefined && type in EVENTS && Number.isFinite((line as EventLine).seq));
}
