// The memory of a coordinator: the sums of the other shards, and the merged snapshots.

import type { MarkContent } from "../../domain/log/log-line.ts";
import type { StoredSnapshot } from "../../domain/model/publication.ts";
import type { Allowance } from "../../rpc/message.ts";
import type { Database } from "./database.ts";
import { readParts, SnapshotStore, writeParts } from "./snapshot-store.ts";

type Merged = MarkContent<"merged">;

const SUMS = "shard_sums";

/** A shard as its coordinator knows it. */
export interface Shard {
  /** The last row that its sums include. */
  readonly seq: number;
  /** The version of its first snapshot, before it had learnt anything. */
  readonly first: number;
  /** Rollbacks and takeovers of all shards that it has done. */
  readonly term: number;
  /** Version of the catalogue that it has. */
  readonly catalogue: number;
  /** The version to which the newest rollback takes it back. Null before the first, and after a takeover. */
  readonly back: number | null;
  readonly used: Allowance;
  /** The most that it may use until it has confirmed less. */
  readonly committed: Allowance;
}

type Row = {
  shard: number;
  seq: number;
  first: number;
  term: number;
  catalogue: number;
  back: number | null;
  used: string;
  committed: string;
};

/** The other shards of a model as their coordinator knows them: their newest sums, and the merged snapshots. */
export class ShardStore {
  /** Snapshots of the merged sums. Isolates get these. */
  readonly merged: SnapshotStore;
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
    this.merged = new SnapshotStore(database, "merged_snapshots");
  }

  find(shard: number): Shard | undefined {
    const [row] = this.#database.query<Row>("SELECT * FROM shards WHERE shard = ?", shard);
    return row && { ...row, used: JSON.parse(row.used), committed: JSON.parse(row.committed) };
  }

  /** Numbers of the shards that have answered. The model may be about to get some of them. */
  numbers(): number[] {
    return this.#database.query<{ shard: number }>("SELECT shard FROM shards ORDER BY shard").map(({ shard }) => shard);
  }

  /** The newest sums of a shard, one snapshot of the SDK per policy. */
  sumsOf(shard: number): StoredSnapshot["parts"] | undefined {
    return readParts(this.#database.sql, SUMS, "?", shard)?.parts;
  }

  /** Stores what a shard has answered. `parts`: its sums, if they are others than before. */
  put(shard: number, { seq, first, term, catalogue, back, used, committed }: Shard, parts: StoredSnapshot["parts"] | null): void {
    const texts = [JSON.stringify(used), JSON.stringify(committed)];
    const row = [shard, seq, first, term, catalogue, back, ...texts];
    this.#database.query("INSERT OR REPLACE INTO shards VALUES (?, ?, ?, ?, ?, ?, ?, ?)", ...row);
    if (!parts) return;
    this.#database.query(`DELETE FROM ${SUMS} WHERE seq = ?`, shard);
    writeParts(this.#database.sql, SUMS, { seq: shard, parts }, true);
  }

  /** Notes the most that a shard may use until it has confirmed less. */
  commit(shard: number, committed: Allowance): void {
    this.#database.query("UPDATE shards SET committed = ? WHERE shard = ?", JSON.stringify(committed), shard);
  }

  /** Notes how far back a rollback takes a shard. Null: it takes over what it has learnt again. */
  sendBack(shard: number, to: number | null): void {
    this.#database.query("UPDATE shards SET back = ? WHERE shard = ?", to, shard);
  }

  /** Stores a merged snapshot under a new version. */
  saveMerged(parts: Uint8Array[], mark: Omit<Merged, "time">, kept: boolean): void {
    this.merged.write({ seq: this.#database.mark("merged", { ...mark, time: Date.now() }), parts }, kept);
  }

  /** The mark of a merged snapshot. */
  markOf(version: number): Merged | undefined {
    const [mark] = this.#database.query<{ content: string }>("SELECT content FROM marks WHERE seq = ? AND type = 'merged'", version);
    return mark && JSON.parse(mark.content);
  }

  /** The last row of each shard that a merged snapshot up to a version includes, by the shards' numbers. */
  includedUntil(version: number): ReadonlyMap<number, number> {
    const rows = this.#database.query<{ shard: number; seq: number }>(
      `SELECT each.key AS shard, max(each.value) AS seq FROM marks, json_each(marks.content, '$.shards') AS each
       WHERE marks.type = 'merged' AND marks.seq <= ? GROUP BY each.key`,
      version,
    );
    return new Map(rows.map(({ shard, seq }) => [shard, seq]));
  }
}
