import { impressionOf } from "../../worker/domain/log/log-line.ts";
import { type EventLine, type HeadLine, LogMismatch, nameOf } from "./event-line.ts";

/** The lines of one model's log, each event once, also if the file has several exports of it. */
export interface DistinctLines {
  readonly model: string;
  /** When the latest of its exports was made, in ms since 1970. */
  readonly end: number;
  readonly lines: readonly EventLine[];
  /** Number of lines that stood in the log before. */
  readonly repeated: number;
}

interface Reading {
  progress(done: number, all: number): void;
  /** The part of a line that the caller needs. */
  keep(line: EventLine): EventLine;
}

/**
 * Reads the lines of one model's log. If several exports have an event, the line of the latest export stands, because a rollback or an
 * erasure changes earlier lines.
 * @throws {LogMismatch} at the head of another model or generation, at two lines of one number, and at two of one impression.
 */
export async function distinctLines(log: AsyncIterable<HeadLine | EventLine>, { progress, keep }: Reading): Promise<DistinctLines> {
  const standing = new Map<string, { readonly line: EventLine; readonly exportedAt: number }>();
  let head: HeadLine | undefined;
  let [exportedAt, end, all, done, repeated] = [0, 0, 0, 0, 0];
  for await (const line of log) {
    progress(done++, all);
    if (line.type === "model") {
      head ??= line;
      checkSame(head, line);
      exportedAt = line.exportedAt;
      [end, all] = [Math.max(end, exportedAt), all + line.lines];
      continue;
    }
    // Each shard numbers its lines by itself.
    const event = `${line.shard ?? 0} ${line.seq}`;
    const before = standing.get(event);
    if (before) {
      checkEvent(before.line, line);
      repeated++;
    }
    if (!before || exportedAt > before.exportedAt) standing.set(event, { line: keep(line), exportedAt });
  }
  const lines = Array.from(standing.values(), ({ line }) => line);
  checkIds(lines);
  return { model: head?.model ?? "", end, lines, repeated };
}

function checkSame(before: HeadLine, head: HeadLine): void {
  const { model, generation } = head;
  if (before.model === model && before.generation === generation) return;
  const [expected, got] =
    before.model === model
      ? [`generation ${before.generation}`, `generation ${generation}, which is later or earlier than a reset`]
      : [`model ${before.model}`, `model ${model}`];
  throw new LogMismatch(`${nameOf(head)}: expected the log of one model, ${expected}, got lines of ${got} too: use each log by itself`);
}

function checkEvent(before: EventLine, line: EventLine): void {
  const [first, second] = [identityOf(before), identityOf(line)];
  if (first === second) return;
  throw new LogMismatch(
    `${nameOf(line)}: expected one line of event ${line.seq}, got two that differ, of ${first} and ${second}: export the log again`,
  );
}

/** An erased line has the id of its impression, or of the impression of its conversion. */
const identityOf = (line: EventLine): string => (line.type === "mark" ? line.mark : impressionOf(line));

function checkIds(lines: readonly EventLine[]): void {
  const ids = new Set<string>();
  for (const line of lines) {
    if (line.type !== "impression" || line.state !== "live") continue;
    if (ids.has(line.id))
      throw new LogMismatch(`${nameOf(line)}: expected each impression once, got its id under two numbers; export the log again`);
    ids.add(line.id);
  }
}
