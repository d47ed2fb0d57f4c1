// Verifies a log or an archive in two passes, and says at which line it is wrong.

import { ArchivedLog, type ArchivedVolume, wholeLog } from "../archive/whole-log.ts";
import { type EventLine, type HeadLine, LogMismatch } from "../log/event-line.ts";
import { linesOf, type Texts } from "../log/event-log.ts";
import { type Needs, needsOf } from "../log/needs.ts";
import { Replay } from "./replay.ts";

const PROGRESS_EVERY = 256;

/** Called now and then with the number of events, in the first reading and in the second one. */
interface Progress {
  checked(done: number, all: number): void;
  verified(done: number, all: number): void;
}

/**
 * Reads a log twice. The first pass checks receipts and finds the states that later events need. The second pass replays the log.
 * @param texts returns the log's lines from the beginning at each call. @param archive the rows that the model has forgotten. @returns the head of the log, the number of its events, the number of the last
 * event, and what was verified.
 * @throws {LogMismatch} naming the first event that differs. @throws {ArchiveError} naming a file that is missing, differs or is damaged.
 */
export async function verify(texts: () => Texts, progress?: Progress, archive = new ArchivedLog([])) {
  const head = await headOf(texts(), archive);
  const forgotten = archive.before(head);
  const checked = (done: number) => progress?.checked(done, head.lines + forgotten.rows);
  const needs = await needsOf(wholeLog(archive, single(linesOf(texts(), { receipts: true }))), checked);
  const log = wholeLog(archive, linesOf(texts(), { receipts: false }));
  const { done, last, replay } = await replayed(log, needs, forgotten.volumes, progress);
  replay.finish(head);
  return { head, lines: done, last, tally: replay.tally };
}

/** Verifies an archive without the log after it. @throws as `verify` does. */
export async function verifyArchive(archive: ArchivedLog, head: HeadLine, progress?: Progress) {
  archive.checkWhole(head.generation, head.horizon);
  const needs = await needsOf(consecutive(archive), (done) => progress?.checked(done, archive.rows));
  const { done, last, replay } = await replayed(consecutive(archive), needs, archive.volumes, progress);
  replay.settle(Number.POSITIVE_INFINITY);
  return { head, lines: done, last, tally: replay.tally };
}

/** The rows of an archive up to the first that it lacks. Of the later ones, the conversions of the impressions so far. */
async function* consecutive(archive: ArchivedLog): AsyncGenerator<EventLine> {
  const whole = Math.max(...archive.files.map(({ file }) => file.head.whole));
  const later = new Set<string>();
  for await (const line of archive.lines()) {
    if (line.seq < whole) yield line;
    else if (line.type === "impression") later.add(line.id);
    else if (line.type === "conversion" && !later.has(line.impression)) yield line;
  }
}

async function replayed(
  lines: AsyncIterable<HeadLine | EventLine>,
  needs: Needs,
  volumes: readonly ArchivedVolume[],
  progress?: Progress,
): Promise<{ readonly done: number; readonly last: number; readonly replay: Replay }> {
  const replay = new Replay(needs);
  const settling = settlingOf(volumes, needs);
  progress?.verified(0, needs.lines);
  let [last, done] = [0, 0];
  for await (const line of lines) {
    if (line.type === "model") continue;
    for (; settling.length > 0 && settling[0].after < line.seq; settling.shift()) replay.settle(settling[0].until);
    await replay.replay(line);
    last = line.seq;
    if (++done % PROGRESS_EVERY === 0) progress?.verified(done, needs.lines);
  }
  return { done, last, replay };
}

/**
 * The events after which the impressions of each volume do not change: its last one, or the last rollback that its rows show. They stay in
 * the order of days, because a late conversion of one day may come after the last row of the next.
 */
function settlingOf(volumes: readonly ArchivedVolume[], { shards }: Needs): { readonly until: number; readonly after: number }[] {
  const rollbacks = shards.get(0)?.rollbacks ?? [];
  return volumes.map(({ until, last, version }) => {
    const shown = rollbacks.filter(({ to, at }) => to < last && at <= version);
    return { until, after: Math.max(last, ...shown.map(({ at }) => at)) };
  });
}

/** The head of a log, after the checks that it needs alone. */
async function headOf(texts: Texts, archive: ArchivedLog): Promise<HeadLine> {
  let head: HeadLine | undefined;
  for await (const line of linesOf(texts, { receipts: true })) {
    if (line.type === "model") head = line;
    break;
  }
  const { after, generation, horizon, shards = 1 } = head as HeadLine;
  if (after !== 0)
    throw new LogMismatch(`expected a log from the beginning, got one that starts after event ${after}; export it without "after"`);
  if (horizon <= generation) return head as HeadLine;
  if (shards > 1)
    throw new LogMismatch(
      `expected a complete log, as the archives of ${shards} shards cannot be put together yet; got one whose oldest events have passed the model's retention`,
    );
  const forgotten = archive.before(head as HeadLine);
  if (forgotten.files.length === 0)
    throw new LogMismatch(
      "expected a complete log, got one whose oldest events have passed the model's retention; add the archive with --archive",
    );
  await forgotten.check(head as HeadLine);
  forgotten.checkWhole(generation, horizon);
  return head as HeadLine;
}

/** The lines as they are. @throws {LogMismatch} if there are two heads. */
async function* single(lines: AsyncIterable<HeadLine | EventLine>): AsyncGenerator<HeadLine | EventLine> {
  let begun = false;
  for await (const line of lines) {
    if (line.type === "model" && begun) throw new LogMismatch("expected one head, got two");
    begun = true;
    yield line;
  }
}
