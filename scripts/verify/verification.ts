import { type HeadLine, LogMismatch, linesOf, type Texts } from "./event-log.ts";
import { needsOf } from "./needs.ts";
import { Replay, type Tally } from "./replay.ts";

export interface Verified {
  readonly head: HeadLine;
  readonly lines: number;
  /** Number of the last event. */
  readonly last: number;
  readonly tally: Tally;
}

export interface Progress {
  start(events: number): void;
  update(events: number): void;
}

const PROGRESS_EVERY = 256;

/**
 * Goes through a log twice: to hold each line against its receipt and see which states are needed later, and to make all of it
 * again.
 * @param texts the log's lines, from the beginning at each call.
 * @throws {LogMismatch} naming the first event that is not as it comes out.
 */
export async function verify(texts: () => Texts, progress?: Progress): Promise<Verified> {
  const needs = await needsOf(linesOf(texts(), { receipts: true }));
  const replay = new Replay(needs);
  progress?.start(needs.lines);
  let head: HeadLine | undefined;
  let last = 0;
  let done = 0;
  for await (const line of linesOf(texts(), { receipts: false })) {
    if (line.type === "model") {
      head = wholeHead(line, head);
      continue;
    }
    await replay.take(line);
    last = line.seq;
    if (++done % PROGRESS_EVERY === 0) progress?.update(done);
  }
  replay.finish(head as HeadLine);
  return { head: head as HeadLine, lines: done, last, tally: replay.tally };
}

function wholeHead(line: HeadLine, before: HeadLine | undefined): HeadLine {
  if (before) throw new LogMismatch("the log has two heads");
  if (line.after !== 0) throw new LogMismatch(`the log goes on after event ${line.after}: expected one from the beginning`);
  if (line.horizon > line.generation)
    throw new LogMismatch("the log has lost what its model has forgotten: expected one from the beginning");
  return line;
}
