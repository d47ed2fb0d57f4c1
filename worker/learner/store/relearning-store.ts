// The tables in which a relearning gathers its result, until it takes over.

import type { StoredConversion } from "../../domain/conversion/conversion.ts";
import { outcomeOf, type ResolvedReward } from "../../domain/conversion/reward.ts";
import { firstIdAt } from "../../domain/ids/uuid.ts";
import type { Outcome } from "../../domain/impression/outcome.ts";
import type { ModelConfig } from "../../domain/model/model.ts";
import type { Database } from "./database.ts";
import { BlockStore } from "./impressions/block-store.ts";
import { columnsOf, type OutcomeColumns, outcomeOfColumns } from "./impressions/outcome-store.ts";
import { SnapshotStore } from "./snapshot-store.ts";

/** A running relearning. */
export interface Begun {
  readonly config: ModelConfig;
  /** When it began, in ms since 1970. */
  readonly startedAt: number;
  /** The last row of the log that is learnt. */
  readonly seq: number;
}

/** The result of learning a log again, until it takes over: blocks of the new features, outcomes and a snapshot. */
export class RelearningStore {
  readonly blocks: BlockStore;
  readonly snapshots: SnapshotStore;
  readonly #database: Database;
  #times = 0;

  #last?: { readonly startedAt: number; readonly at: number } | null;

  constructor(database: Database) {
    database.onDrop(() => {
      this.#last = undefined;
    });
    this.#database = database;
    this.blocks = new BlockStore(database, "relearnt_blocks");
    this.snapshots = new SnapshotStore(database, "relearnt_snapshots");
  }

  get begun(): Begun | undefined {
    const [row] = this.#database.query<{ config: string; startedAt: number; seq: number }>(
      "SELECT config, started_at AS startedAt, seq FROM relearning",
    );
    return row && { ...row, config: JSON.parse(row.config) };
  }

  /** How often this object began or ended a relearning. What was learnt in memory before the last time is not valid any more. */
  get times(): number {
    return this.#times;
  }

  /** Begins, after forgetting an earlier relearning. */
  begin(config: ModelConfig, now: number): void {
    this.clear();
    this.#database.query("INSERT INTO relearning VALUES (1, ?, ?, 0)", JSON.stringify(config), now);
  }

  clear(): void {
    this.#times++;
    this.blocks.deleteAfter(-1);
    for (const table of ["relearning", "relearnt_outcomes", "relearnt_snapshots"]) this.#database.query(`DELETE FROM ${table}`);
  }

  /** Saves how far the log is learnt, and the policies there. */
  save(seq: number, parts: Uint8Array[]): void {
    this.#database.query("UPDATE relearning SET seq = ?", seq);
    this.snapshots.write({ seq, parts }, false);
  }

  /** Goes back to the last saved row: forgets what was learnt after it. */
  rewind(): void {
    const seq = this.begun?.seq ?? 0;
    this.blocks.deleteAfter(seq);
    this.#database.query("DELETE FROM relearnt_outcomes WHERE seq > ?", seq);
  }

  /** Deletes what was learnt of impressions before a bound of buckets. The policies keep their sums. */
  deleteBefore(time: number): void {
    this.blocks.deleteBefore(time);
    this.#database.query("DELETE FROM relearnt_outcomes WHERE id < ?", firstIdAt(time));
  }

  /** Notes the outcome of an impression after a conversion. Conversions come in the order of their rows. */
  note({ impression, seq }: StoredConversion, resolved: ResolvedReward): void {
    const insert = "INSERT INTO relearnt_outcomes (id, seq, reward, converted, delays, amounts) VALUES (?, ?, ?, ?, ?, ?)";
    this.#database.query(insert, impression, seq, ...columnsOf(outcomeOf(resolved)));
  }

  /** Outcomes that differ from the stored ones. */
  differing(): { readonly id: string; readonly outcome: Outcome }[] {
    const newest = "(SELECT id, max(seq), reward, converted, delays, amounts FROM relearnt_outcomes GROUP BY id)";
    const rows = this.#database.query<OutcomeColumns & { id: string }>(
      `SELECT n.id, n.reward, n.converted, n.delays, n.amounts FROM ${newest} n LEFT JOIN outcomes o ON o.id = n.id
         WHERE o.id IS NULL OR o.reward <> n.reward OR o.converted <> n.converted OR o.delays IS NOT n.delays OR o.amounts IS NOT n.amounts
       UNION ALL
       SELECT o.id, NULL, NULL, NULL, NULL FROM outcomes o LEFT JOIN ${newest} n ON n.id = o.id WHERE n.id IS NULL`,
    );
    return rows.map(({ id, ...columns }) => ({ id, outcome: outcomeOfColumns(columns) }));
  }

  /** When the relearning began that last took over, and the version of the coordinator at which it did. Null if none did. */
  get last(): { readonly startedAt: number; readonly at: number } | null {
    const query = `SELECT coalesce(content ->> 'at', seq) AS at, coalesce(content ->> 'startedAt', 0) AS startedAt FROM marks
      WHERE type = 'relearnt' ORDER BY seq DESC LIMIT 1`;
    if (this.#last === undefined) this.#last = this.#database.query<{ at: number; startedAt: number }>(query)[0] ?? null;
    return this.#last;
  }

  /** Marks in the log that a relearnt model has taken over. Returns the number of the mark. */
  mark(content: object): number {
    this.#last = undefined;
    return this.#database.mark("relearnt", { ...content, time: Date.now() });
  }

  /** Puts the new blocks into the place of the old ones. */
  takeOver(): void {
    this.#database.query("DELETE FROM blocks");
    this.#database.query("INSERT INTO blocks SELECT * FROM relearnt_blocks");
    this.clear();
    this.#database.dropCaches();
  }
}
