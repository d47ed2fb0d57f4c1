// Snapshots in chunks, because a row has at most 2 MB.

import type { StoredSnapshot } from "../../domain/model/publication.ts";
import type { Database } from "./database.ts";
import { LastAnswer } from "./last-answer.ts";

/** A Durable Object's row holds 2 MB at most. */
const CHUNK_BYTES = 1_500_000;
const MOST_KEPT = 8;

/** Snapshots of a model: the newest one, from which a learner starts, and the last eight kept ones, which a rollback can restore. */
export class SnapshotStore {
  readonly #sql: SqlStorage;
  readonly #table: string;
  readonly #newestKept: LastAnswer<number, number>;

  constructor(database: Pick<Database, "sql" | "onDrop">, table = "snapshots") {
    this.#sql = database.sql;
    this.#table = table;
    this.#newestKept = new LastAnswer(database);
  }

  /** Versions of the kept snapshots, newest first. */
  versions(): number[] {
    const rows = this.#sql.exec<{ seq: number }>(`SELECT DISTINCT seq FROM ${this.#table} WHERE kept = 1 ORDER BY seq DESC`);
    return Array.from(rows, ({ seq }) => seq);
  }

  /** The kept snapshots, newest first, and when each was kept. Null: an earlier version of the worker did. */
  list(): { readonly version: number; readonly at: number | null }[] {
    const query =
      "SELECT seq AS version, content ->> 'time' AS at FROM marks WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq DESC";
    return this.#sql.exec<{ version: number; at: number | null }>(query, JSON.stringify(this.versions())).toArray();
  }

  /** Version of the newest snapshot, kept or not; -1 if there is none. */
  newestVersion(): number {
    return this.#sql.exec<{ seq: number }>(`SELECT coalesce(max(seq), -1) AS seq FROM ${this.#table}`).one().seq;
  }

  /** Version of the newest kept snapshot after a version, or else that version. */
  newestKeptAfter(version: number): number {
    const query = `SELECT coalesce(max(seq), ?1) AS seq FROM ${this.#table} WHERE seq > ?1 AND kept = 1`;
    return this.#newestKept.to(version, () => this.#sql.exec<{ seq: number }>(query, version).one().seq);
  }

  newest(): StoredSnapshot | undefined {
    return this.#read(`(SELECT max(seq) FROM ${this.#table})`);
  }

  kept(version: number): StoredSnapshot | undefined {
    return this.#read("? AND kept = 1", version);
  }

  #read(seq: string, ...bindings: number[]): StoredSnapshot | undefined {
    return readParts(this.#sql, this.#table, seq, ...bindings);
  }

  /** Writes a snapshot and deletes those that are no longer needed. */
  write({ seq, parts }: StoredSnapshot, kept: boolean): void {
    this.#newestKept.forget();
    writeParts(this.#sql, this.#table, { seq, parts }, kept);
    const oldest = this.versions()[MOST_KEPT - 1] ?? 0;
    this.#sql.exec(`DELETE FROM ${this.#table} WHERE seq < ? OR (kept = 0 AND seq < ?)`, oldest, seq);
  }

  /** Deletes all but the newest. */
  deleteOlder(): void {
    this.#newestKept.forget();
    this.#sql.exec(`DELETE FROM ${this.#table} WHERE seq < (SELECT max(seq) FROM ${this.#table})`);
  }

  deleteAfter(version: number): void {
    this.#newestKept.forget();
    this.#sql.exec(`DELETE FROM ${this.#table} WHERE seq > ?`, version);
  }
}

/** Writes a snapshot into a table of chunks. */
export function writeParts(sql: SqlStorage, table: string, { seq, parts }: StoredSnapshot, kept: boolean): void {
  parts.forEach((bytes, part) => {
    for (let chunk = 0; chunk * CHUNK_BYTES < bytes.length; chunk++) {
      const buffer = bytes.slice(chunk * CHUNK_BYTES, (chunk + 1) * CHUNK_BYTES).buffer;
      sql.exec(`INSERT INTO ${table} VALUES (?, ?, ?, ?, ?)`, seq, part, chunk, Number(kept), buffer);
    }
  });
}

/** Reads a snapshot from a table of chunks. @param seq SQL of its number. */
export function readParts(sql: SqlStorage, table: string, seq: string, ...bindings: number[]): StoredSnapshot | undefined {
  const query = `SELECT seq, part, bytes FROM ${table} WHERE seq = ${seq} ORDER BY part, chunk`;
  const rows = sql.exec<{ seq: number; part: number; bytes: ArrayBuffer }>(query, ...bindings).toArray();
  if (rows.length === 0) return undefined;
  const chunks = Map.groupBy(rows, ({ part }) => part);
  return { seq: rows[0].seq, parts: Array.from(chunks.values(), (of) => joined(of.map(({ bytes }) => bytes))) };
}

function joined(chunks: readonly ArrayBuffer[]): Uint8Array {
  const bytes = new Uint8Array(chunks.reduce((length, { byteLength }) => length + byteLength, 0));
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(new Uint8Array(chunk), offset);
    offset += chunk.byteLength;
  }
  return bytes;
}
