import { receiptIn } from "../../worker/domain/ids/receipt.ts";
import { type EventLine, type HeadLine, LogMismatch, nameOf } from "./event-line.ts";
import { lineFault } from "./line-fault.ts";

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
