import { receiptIn } from "../../worker/domain/ids/receipt.ts";
import { type EndLine, type EventLine, type HeadLine, LogMismatch, nameOf } from "./event-line.ts";
import { lineFault } from "./line-fault.ts";

/** The lines of a log. */
export type Texts = Iterable<string> | AsyncIterable<string>;

/**
 * Parses one export of a log, or several in one file. With `receipts` it checks each line's receipt.
 * @throws {LogMismatch} naming the first line that no worker exports, or the head of an export with another number of lines than it states.
 */
export async function* linesOf(texts: Texts, { receipts }: { readonly receipts: boolean }): AsyncGenerator<HeadLine | EventLine> {
  let number = 0;
  let head: HeadLine | undefined;
  /** The line that states the number of events: the head, or the end that corrects it. */
  let stating: HeadLine | EndLine | undefined;
  let events = 0;
  let before = "";
  for await (const text of texts) {
    number++;
    if (text.trim() === "") continue;
    const line = parsed(text, number);
    if (!head && line.type !== "model") throw new LogMismatch(`line ${number}: expected the head of an exported log, got ${line.type}`);
    if (receipts) {
      const found = receiptIn(text, before);
      if (!found) throw new LogMismatch(`${nameOf(line)}: expected a receipt, got none`);
      if (!found.follows)
        throw new LogMismatch(`${nameOf(line)}: the receipt does not match this line and the one before; one of them was changed`);
      before = found.receipt;
    }
    const fault = lineFault(line);
    if (fault) throw new LogMismatch(`${nameOf(line)}: ${fault}`);
    if (line.type === "end") {
      stating = line;
      continue;
    }
    if (line.type !== "model") events++;
    else {
      checkWhole(stating, events);
      [head, stating, events] = [line, line, 0];
    }
    yield line;
  }
  if (!head) throw new LogMismatch("expected an exported log, got an empty one");
  checkWhole(stating, events);
}

/** Lines that another program wrote may have a head without a number. */
function checkWhole(stating: HeadLine | EndLine | undefined, events: number): void {
  const { lines = events } = (stating ?? {}) as Partial<HeadLine>;
  if (stating && events !== lines)
    throw new LogMismatch(`${nameOf(stating)}: expected ${lines} events, got ${events}; export the log again`);
}

function parsed(text: string, number: number): HeadLine | EventLine | EndLine {
  try {
    const line = JSON.parse(text);
    if (["model", "impression", "conversion", "mark", "erased", "end"].includes(line?.type)) return { ...line, line: number };
  } catch {}
  throw new LogMismatch(`line ${number}: expected a line of an exported log`);
}
