// Reads the log of one model twice: first for which line of each event stands, then for these lines. Few bytes of an event stay in memory.

import { impressionOf, type MarkLine } from "../../worker/domain/log/log-line.ts";
import { AwaitedConversions } from "./awaited.ts";
import { Column } from "./column.ts";
import { type EventLine, type HeadLine, LogMismatch, nameOf, type Origin } from "./event-line.ts";
import { IdTable } from "./id-table.ts";
import { LoggedReports } from "./logged-reports.ts";

const PROGRESS_EVERY = 256;

/** Called now and then with the number of events done, and of all so far. */
export type Progress = (done: number, all: number) => void;

/** Returns the lines of a log from the beginning at each call. */
export type Log = () => AsyncIterable<HeadLine | EventLine>;

interface Reading {
  readonly progress: Progress;
  /** Whether the caller needs a mark. */
  readonly keeps: (line: MarkLine) => boolean;
  /** Called with each line of the first reading, also if it does not stand. */
  readonly visit?: (line: EventLine) => void;
}

/** The events of one model's log, each once, also if the file has several exports of it. */
export interface DistinctLines {
  readonly model: string;
  /** When the latest of its exports was made, in ms since 1970. */
  readonly end: number;
  /** The marks of shard 0 that the caller needs, in the order of their numbers. */
  readonly marks: readonly (MarkLine & Origin)[];
  /** Number of events. */
  readonly events: number;
  /** Number of lines that stood in the log before. */
  readonly repeated: number;
  readonly reports: LoggedReports;
  /** Numbers of impressions. */
  readonly ids: IdTable;
  /** Conversions that the present reading has not come to. */
  readonly awaited: AwaitedConversions;
  /** Reads the lines that stand. Can be called once. @throws {LogMismatch} at two lines of one impression. */
  lines(progress: Progress): AsyncGenerator<EventLine>;
}

/** The place among the events of the file, from 1, of the line that stands for an event, and the number of its identity. */
interface Standing {
  readonly places: Column;
  readonly identities: Column;
}

/**
 * Reads which lines stand. If several exports have an event, the line of the latest export stands, because a rollback or an erasure changes
 * earlier lines. **Memory:** 29 to 35 bytes per impression, 8 more for each other event, and 25 to 31 per impression with conversions.
 * @throws {LogMismatch} at the head of another model or generation, and at two lines of one number.
 */
export async function distinctLines(log: Log, { progress, keeps, visit }: Reading): Promise<DistinctLines> {
  const ids = new IdTable();
  const awaited = new AwaitedConversions();
  const reports = new LoggedReports();
  /** Each shard numbers its lines by itself. */
  const shards = new Map<number, Standing>();
  const exports: { readonly after: number; readonly exportedAt: number }[] = [];
  const marks = new Map<number, MarkLine & Origin>();
  let head: HeadLine | undefined;
  let [end, all, place, repeated] = [0, 0, 0, 0];
  const standingOf = ({ shard = 0 }: EventLine): Standing => {
    const standing = shards.get(shard) ?? { places: new Column(Uint32Array), identities: new Column(Uint32Array) };
    shards.set(shard, standing);
    return standing;
  };
  for await (const line of log()) {
    if (line.type === "model") {
      head ??= line;
      checkSame(head, line);
      exports.push({ after: place, exportedAt: line.exportedAt });
      [end, all] = [Math.max(end, line.exportedAt), all + line.lines];
      progress(place, all);
      continue;
    }
    if (++place % PROGRESS_EVERY === 0) progress(place, all);
    if (line.type === "conversion") awaited.count(line.impression);
    visit?.(line);
    const { places, identities } = standingOf(line);
    const identity = ids.add(identityOf(line));
    reports.note(line, identity);
    const before = places.get(line.seq);
    if (before > 0) {
      if (identities.get(line.seq) !== identity) throw differing(await lineAt(log, before), line);
      repeated++;
      const earlier = exports.findLast(({ after }) => after < before);
      if (earlier && earlier.exportedAt >= exports[exports.length - 1].exportedAt) continue;
    }
    places.set(line.seq, place);
    identities.set(line.seq, identity);
    if (line.type === "mark" && !line.shard && keeps(line)) marks.set(line.seq, line);
  }
  const events = place - repeated;
  // Without a repeated line, every line stands.
  if (repeated === 0) shards.clear();

  async function* lines(progress: Progress): AsyncGenerator<EventLine> {
    const shown = new Column(Uint8Array);
    let place = 0;
    for await (const line of log()) {
      if (line.type === "model") continue;
      if (++place % PROGRESS_EVERY === 1) progress(place - 1, events + repeated);
      if (line.type === "conversion") awaited.pass(line.impression);
      if (repeated > 0 && standingOf(line).places.get(line.seq) !== place) continue;
      if (line.type === "impression" && line.state === "live") {
        const id = ids.add(line.id);
        if (shown.get(id))
          throw new LogMismatch(`${nameOf(line)}: expected each impression once, got its id under two numbers; export the log again`);
        shown.set(id, 1);
      }
      yield line;
    }
    progress(place, place);
  }

  const ordered = Array.from(marks.values()).sort((a, b) => a.seq - b.seq);
  return { model: head?.model ?? "", end, marks: ordered, events, repeated, reports, ids, awaited, lines };
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

function differing(before: EventLine, line: EventLine): LogMismatch {
  return new LogMismatch(
    `${nameOf(line)}: expected one line of event ${line.seq}, got two that differ, of ${identityOf(before)} and ${identityOf(line)}: export the log again`,
  );
}

async function lineAt(log: Log, at: number): Promise<EventLine> {
  let place = 0;
  for await (const line of log()) if (line.type !== "model" && ++place === at) return line;
  throw new LogMismatch("expected a log that stays as it is, got one that changed while it was read");
}

/** An erased line has the id of its impression, or of the impression of its conversion. */
const identityOf = (line: EventLine): string => (line.type === "mark" ? line.mark : impressionOf(line));
