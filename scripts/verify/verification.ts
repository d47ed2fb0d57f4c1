import { type HeadLine, LogMismatch, linesOf, type Texts } from "./event-log.ts";
import { needsOf } from "./needs.ts";
import { Replay } from "./replay.ts";

const PROGRESS_EVERY = 256;

/**
 * Reads a log twice. The first pass checks receipts and finds the states that later events need. The second pass replays the log.
 * @param texts returns the log's lines from the beginning at each call. @param progress is called now and then with the number of events.
 * @returns the head of the log, the number of its events, the number of the last event, and what was verified.
 * @throws {LogMismatch} naming the first event that differs.
 */
export async function verify(texts: () => Texts, progress?: (done: number, all: number) => void) {
  const needs = await needsOf(linesOf(texts(), { receipts: true }));
  const replay = new Replay(needs);
  progress?.(0, needs.lines);
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
    if (++done % PROGRESS_EVERY === 0) progress?.(done, needs.lines);
  }
  replay.finish(head as HeadLine);
  return { head: head as HeadLine, lines: done, last, tally: replay.tally };
}

function wholeHead(line: HeadLine, before: HeadLine | undefined): HeadLine {
  if (before) throw new LogMismatch("expected one head, got two");
  if (line.after !== 0)
    throw new LogMismatch(`expected a log from the beginning, got one that starts after event ${line.after}; export it without "after"`);
  if (line.horizon > line.generation)
    throw new LogMismatch("expected a complete log, got one whose oldest events have passed the model's retention");
  return line;
}
