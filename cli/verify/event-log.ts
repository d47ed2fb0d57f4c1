import { receiptIn } from "../../worker/domain/ids/receipt.ts";
import { type EventLine, type HeadLine, LogMismatch, nameOf } from "./event-line.ts";
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
    if (line.type === "model") {
      if (head) checkWhole(head, events);
      [head, events] = [line, 0];
    } else events++;
    yield line;
  }
  if (!head) throw new LogMismatch("expected an exported log, got an empty one");
  checkWhole(head, events);
}

/** Lines that another program wrote may have a head without a number. */
function checkWhole(head: HeadLine, events: number): void {
  const { lines = events } = head as Partial<HeadLine>;
  if (events !== lines) throw new LogMismatch(`${nameOf(head)}: expected ${lines} events after it, got ${events}; export the log again`);
}

function parsed(text: string, number: number): HeadLine | EventLine {
  try {
    const line = JSON.parse(text);
    if (["model", "impression", "conversion", "mark", "erased"].includes(line?.type)) return { ...line, line: number };
  } catch {}
  throw new LogMismatch(`line ${number}: expected a line of an exported log`);
}
