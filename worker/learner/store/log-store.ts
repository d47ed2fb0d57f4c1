import type { Movement, StoredConversion } from "./conversion-store.ts";
import { type Shown, type StoredImpression, shownOf } from "./impression-store.ts";
import type { LearnerStore } from "./learner-store.ts";

/** Lines that are read at a time, and about how many bytes: a remote call takes 32 MiB. */
const PAGE_LINES = 1000;
const PAGE_BYTES = 4_000_000;

/** A line of the log: what happened, in order. */
export type LogRow =
  | ({ readonly type: "impression" } & StoredImpression & { readonly keys: readonly string[] })
  | ({ readonly type: "conversion" } & StoredConversion)
  | { readonly type: "mark"; readonly seq: number; readonly mark: string; readonly content: string };

/** A row to go through again: an impression, or the movement of one. */
export type ReplayRow = { readonly shown: Shown } | { readonly moved: Movement };

/** All that happened to a model, in order of the sequence that its tables share. */
export class LogStore {
  readonly #store: LearnerStore;

  constructor(store: LearnerStore) {
    this.#store = store;
  }

  /** The next lines after a row; none at the end. */
  page(seq: number): LogRow[] {
    const sequence = this.#store.query<{ seq: number; type: LogRow["type"] }>(
      `SELECT seq, 'impression' AS type FROM impressions WHERE seq > ?1 UNION ALL SELECT seq, 'conversion' FROM conversions WHERE seq > ?1
       UNION ALL SELECT seq, 'mark' FROM marks WHERE seq > ?1 ORDER BY seq LIMIT ?2`,
      seq,
      PAGE_LINES,
    );
    const lines: LogRow[] = [];
    for (let bytes = 0; lines.length < sequence.length && bytes < PAGE_BYTES; ) {
      const line = this.#line(sequence[lines.length]);
      if (line.type === "impression") bytes += line.features.byteLength + JSON.stringify([line.context, line.decision]).length;
      if (line.type === "mark") bytes += line.content.length;
      lines.push(line);
    }
    return lines;
  }

  countAfter(seq: number): number {
    const counts = ["impressions", "conversions", "marks"].map((table) => `(SELECT count(*) FROM ${table} WHERE seq > ?1)`);
    return this.#store.query<{ count: number }>(`SELECT ${counts.join(" + ")} AS count`, seq)[0].count;
  }

  #line({ seq, type }: { readonly seq: number; readonly type: LogRow["type"] }): LogRow {
    if (type === "conversion") return { type, ...(this.#store.conversions.at(seq) as StoredConversion) };
    if (type === "impression") {
      const impression = this.#store.impressions.at(seq) as StoredImpression;
      return { type, ...impression, keys: this.#store.impressions.keysOf(impression.id) };
    }
    const [mark] = this.#store.query<{ mark: string; content: string }>("SELECT type AS mark, content FROM marks WHERE seq = ?", seq);
    return { type, seq, ...mark };
  }

  /** What the policies have to go through again after a row. */
  *replay(seq: number): Generator<ReplayRow> {
    type Row = { id: string; features: ArrayBuffer; slots: string; round: number; previous: number | null; total: number | null };
    const rows = this.#store.sql.exec<Row & Record<string, SqlStorageValue>>(
      `SELECT seq, id, features, slots, round, NULL AS previous, NULL AS total FROM impressions WHERE seq > ?1 AND state = 'live'
       UNION ALL
       SELECT c.seq, i.id, i.features, i.slots, i.round, c.previous, c.total FROM conversions c JOIN impressions i ON i.id = c.impression
       WHERE c.seq > ?1 AND c.total IS NOT c.previous AND i.state = 'live'
       ORDER BY seq`,
      seq,
    );
    for (const { features, previous, total, slots, ...row } of rows) {
      const impression = shownOf({ ...row, slots: JSON.parse(slots), features: new Float64Array(features) });
      yield total === null ? { shown: impression } : { moved: { impression, previous, total } };
    }
  }
}
