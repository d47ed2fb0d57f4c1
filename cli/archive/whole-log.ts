// Joins the files of an archive, and an export after them, to one log in the order of its rows.

import { ArchiveError, type ArchiveFile } from "../../worker/domain/archive/archive-file.ts";
import { type EventLine, type HeadLine, LogMismatch } from "../log/event-line.ts";

/** An archived file with the name under which it lies. */
export interface NamedFile {
  readonly name: string;
  readonly file: ArchiveFile;
  /** SHA-256 of its bytes in hex. */
  sha256(): Promise<string>;
}

/** The rows of a day in the archive. */
export interface ArchivedVolume {
  /** Impressions shown before this time, in ms since 1970, have no later row that counts. */
  readonly until: number;
  /** Number of the last row. */
  readonly last: number;
  /** The rows are in the state of this version. */
  readonly version: number;
}

/** The archived files of one generation of a model, in order. */
export class ArchivedLog {
  readonly files: readonly NamedFile[];

  constructor(files: readonly NamedFile[]) {
    this.files = files.toSorted(({ file: { head: a } }, { file: { head: b } }) => a.until - b.until || a.first - b.first);
  }

  /** Number of all rows. */
  get rows(): number {
    return this.files.reduce((sum, { file }) => sum + file.head.rows, 0);
  }

  get volumes(): ArchivedVolume[] {
    const ofDays = Map.groupBy(this.files, ({ file }) => file.head.until);
    return Array.from(ofDays, ([until, parts]) => {
      const heads = parts.map(({ file }) => file.head);
      return { until, last: Math.max(...heads.map(({ last }) => last)), version: heads[0].version };
    });
  }

  /**
   * Only the files of a generation whose rows an export of it lacks.
   * @throws {LogMismatch} for a model of several shards, whose archives cannot be put together yet.
   */
  before({ model, generation, horizon, shards = 1 }: Pick<HeadLine, "model" | "generation" | "horizon" | "shards">): ArchivedLog {
    if (shards > 1 && this.files.length > 0)
      throw new LogMismatch(`expected no archive, as the model has ${shards} shards; leave out --archive`);
    const isOf = ({ file: { head } }: NamedFile) => head.model === model && head.generation === generation && head.until <= horizon;
    return new ArchivedLog(this.files.filter(isOf));
  }

  /**
   * Compares the files with those that an export names.
   * @throws {ArchiveError} naming the file that is missing or differs.
   */
  async check({ archive = [] }: Pick<HeadLine, "archive">): Promise<void> {
    const own = new Map<string, string>();
    for (const { name, sha256 } of this.files) own.set(await sha256(), name);
    for (const { key, sha256 } of archive) {
      if (own.has(sha256)) continue;
      const name = Array.from(own.values()).find((each) => each.replaceAll("\\", "/").endsWith(key));
      if (name === undefined) throw new ArchiveError(`${key}: expected this file of the archive, got none; download it`);
      throw new ArchiveError(`${name}: expected the file with SHA-256 ${sha256}, which the log names, got another; download it again`);
    }
  }

  /** @throws {LogMismatch} if the files lack a day between the beginning of the model and a time. */
  checkWhole(generation: number, horizon: number): void {
    let end = generation;
    for (const { name, file } of this.files) {
      const { from, until } = file.head;
      if (from > end) throw new LogMismatch(`${name}: expected a file with the rows shown since ${iso(end)} before it, got none`);
      end = Math.max(end, until);
    }
    if (end < horizon)
      throw new LogMismatch(
        `expected an archive of the rows shown until ${iso(horizon)}, which the model has forgotten, got one until ${iso(end)}`,
      );
  }

  /** All rows by their numbers. Few row groups are in memory at a time. */
  async *lines(columns?: readonly string[]): AsyncGenerator<EventLine> {
    const waiting = this.files.toSorted(({ file: { head: a } }, { file: { head: b } }) => b.first - a.first);
    const open: Cursor[] = [];
    for (;;) {
      const least = () => open.reduce((a, b) => (b.seq < a.seq ? b : a));
      while (waiting.length > 0 && (open.length === 0 || waiting[waiting.length - 1].file.head.first < least().seq)) {
        const cursor = new Cursor((waiting.pop() as NamedFile).file, columns);
        if (await cursor.advance()) open.push(cursor);
      }
      if (open.length === 0) return;
      const next = least();
      yield next.line;
      if (!(await next.advance())) open.splice(open.indexOf(next), 1);
    }
  }
}

/** A place in a file. */
class Cursor {
  readonly #groups: AsyncGenerator<readonly object[]>;
  readonly #archivedAt: number;
  #lines: readonly object[] = [];
  #place = -1;

  constructor(file: ArchiveFile, columns?: readonly string[]) {
    this.#groups = file.groups(columns);
    this.#archivedAt = file.head.version;
  }

  get line(): EventLine {
    return { ...this.#lines[this.#place], archivedAt: this.#archivedAt } as EventLine;
  }

  get seq(): number {
    return (this.#lines[this.#place] as EventLine).seq;
  }

  /** Moves to the next line. Returns false at the end. */
  async advance(): Promise<boolean> {
    while (++this.#place >= this.#lines.length) {
      const { done, value } = await this.#groups.next();
      if (done) return false;
      this.#lines = value;
      this.#place = -1;
    }
    return true;
  }
}

/** The lines of an export after the rows of the archive. Where both have a row, as of a catalogue, that of the archive stands. */
export async function* wholeLog(
  archive: ArchivedLog,
  log: AsyncIterable<HeadLine | EventLine>,
  columns?: readonly string[],
): AsyncGenerator<HeadLine | EventLine> {
  let archived: AsyncGenerator<EventLine> | undefined;
  let next: IteratorResult<EventLine, unknown> | undefined;
  for await (const line of log) {
    if (line.type === "model") {
      yield line;
      if (archived) continue;
      archived = archive.before(line).lines(columns);
      next = await archived.next();
      continue;
    }
    let isArchived = false;
    for (; archived && next && !next.done && next.value.seq <= line.seq; next = await archived.next()) {
      isArchived = next.value.seq === line.seq;
      yield next.value;
    }
    if (!isArchived) yield line;
  }
  for (; archived && next && !next.done; next = await archived.next()) yield next.value;
}

const iso = (time: number): string => new Date(time).toISOString();
