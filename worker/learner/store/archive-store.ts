// Remembers how far the archive reaches. It writes no file.

import { firstIdAt } from "../../domain/ids/uuid.ts";
import { bucketAt, bucketEnd } from "../../domain/impression/bucket.ts";
import type { LogRow } from "../../domain/log/log-row.ts";
import type { ArchivedFile } from "../../rpc/message.ts";
import type { ConversionStore } from "./conversion-store.ts";
import type { Database } from "./database.ts";
import type { ImpressionStore } from "./impressions/impression-store.ts";
import { inOrder } from "./in-order.ts";
import { marksBetween } from "./log-store.ts";

const DAY_MS = 86_400_000;

/** The rows of a day while they move to the archive. */
export interface Volume {
  /** Start of the day (UTC). Times are ms since 1970. */
  readonly day: number;
  /** Rows shown from this time on, before `until`. */
  readonly from: number;
  readonly until: number;
  /** Marks from this number on, below `marksBefore`: the number of the first impression or conversion that stays. */
  readonly marksFrom: number;
  readonly marksBefore: number;
  /** Version of the model when the volume began. */
  readonly version: number;
}

/** A part that the bucket has confirmed. */
export interface Part extends ArchivedFile {
  readonly day: number;
  readonly part: number;
  readonly from: number;
  readonly until: number;
  /** Number of its last row. */
  readonly last: number;
  /** The digests that the file may have: the noted one, and those of rewritings whose end is not known. */
  readonly digests: string;
}

type PartRow = Part & Record<string, SqlStorageValue>;
const COLUMNS = "key, day, part, since AS 'from', until, last, rows, substr(sha256, 1, 64) AS sha256, sha256 AS digests";

/** How far the archive reaches. Every change needs a transaction of the database. */
export class ArchiveStore {
  readonly #database: Database;
  readonly #impressions: ImpressionStore;
  readonly #conversions: ConversionStore;

  constructor(database: Database, impressions: ImpressionStore, conversions: ConversionStore) {
    this.#database = database;
    this.#impressions = impressions;
    this.#conversions = conversions;
  }

  /** The volume that has begun and is not finished. */
  get volume(): Volume | undefined {
    const [row] = this.#database.query<{ volume: string | null }>("SELECT volume FROM archive");
    return row?.volume ? JSON.parse(row.volume) : undefined;
  }

  /** Begins the volume of the day in which the bucket of the oldest row begins. */
  begin(oldest: number, windowMs: number, from: number): Volume {
    const { day, until } = dayOf(oldest, windowMs);
    const [{ marks }] = this.#database.query<{ marks: number }>("SELECT coalesce(max(marks), 0) AS marks FROM archive");
    const volume = { day, from, until, marksFrom: marks, marksBefore: this.#firstLeft(until), version: this.#database.seq };
    this.#set(marks, volume);
    return volume;
  }

  /** Gives a volume up, because its rows have changed. Its day begins again with its first part. */
  giveUp({ until, marksFrom }: Volume): void {
    this.#database.query("DELETE FROM archived WHERE until = ?", until);
    this.#set(marksFrom, null);
  }

  /** Notes that the rows of the volume are in the archive and pruned. */
  finish({ marksBefore }: Volume): void {
    this.#set(marksBefore, null);
  }

  #set(marks: number, volume: Volume | null): void {
    this.#database.query("INSERT OR REPLACE INTO archive VALUES (1, ?, ?)", marks, volume && JSON.stringify(volume));
  }

  /** Number of the first impression or conversion that pruning leaves. */
  #firstLeft(until: number): number {
    const first = firstIdAt(until);
    const [{ seq }] = this.#database.query<{ seq: number | null }>(
      `SELECT min(seq) AS seq FROM (
         SELECT min(seq) AS seq FROM blocks WHERE first >= ?1
         UNION ALL SELECT min(seq) FROM deferred WHERE id >= ?2
         UNION ALL SELECT min(seq) FROM conversions WHERE impression >= ?2)`,
      until,
      first,
    );
    return seq ?? this.#database.seq + 1;
  }

  /** Whether a rollback or learning the log again has changed rows since the volume began. */
  isUndone({ version }: Volume): boolean {
    return this.#database.query("SELECT 1 FROM marks WHERE type IN ('rollback', 'relearnt') AND seq > ? LIMIT 1", version).length > 0;
  }

  /** The rows of a volume after a row, in order. */
  rows({ until, marksFrom, marksBefore }: Volume, after: number): Generator<LogRow> {
    return inOrder<LogRow>(
      this.#impressions.logged(this.#impressions.shownBefore(until, after)),
      this.#conversions.shownBefore(until, after),
      marksBetween(this.#database, Math.max(marksFrom, after + 1), { before: marksBefore }),
    );
  }

  /** The confirmed parts in order, of days or of all. */
  parts(days?: readonly number[]): Part[] {
    const ofDays = "?1 IS NULL OR day IN (SELECT value FROM json_each(?1))";
    return this.#database.query<PartRow>(
      `SELECT ${COLUMNS} FROM archived WHERE ${ofDays} ORDER BY until, part`,
      days ? JSON.stringify(days) : null,
    );
  }

  /** The files whose rows are pruned. */
  files(prunedBefore: number): ArchivedFile[] {
    return this.parts().flatMap(({ key, rows, sha256, until }) => (until <= prunedBefore ? [{ key, rows, sha256 }] : []));
  }

  insert({ key, day, part, from, until, last, rows, sha256 }: Omit<Part, "digests">): void {
    this.#database.query("INSERT INTO archived VALUES (?, ?, ?, ?, ?, ?, ?, ?)", key, day, part, from, until, last, rows, sha256);
  }

  /** Forgets all parts, whose files are deleted. */
  deleteParts(): void {
    const { volume } = this;
    this.#database.query("DELETE FROM archived");
    if (volume) this.giveUp(volume);
  }

  /** Notes the digest that a file is about to get. An interruption leaves it with this one or one before. */
  announce(key: string, sha256: string): void {
    this.#database.query("UPDATE archived SET sha256 = sha256 || ' ' || ?1 WHERE key = ?2 AND instr(sha256, ?1) = 0", sha256, key);
  }

  /** Notes that a file was written again. */
  replace(key: string, sha256: string): void {
    this.#database.query("UPDATE archived SET sha256 = ? WHERE key = ?", sha256, key);
  }
}

/** The day (UTC) in which the bucket of a time begins, and the end of the last bucket that begins in it. */
export function dayOf(time: number, windowMs: number): { readonly day: number; readonly until: number } {
  const bucket = bucketAt(time, windowMs);
  const day = bucket - (bucket % DAY_MS);
  return { day, until: bucketEnd(day + DAY_MS - 1, windowMs) };
}
