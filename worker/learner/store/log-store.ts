import type { StoredConversion } from "../../domain/conversion.ts";
import type { Outcome } from "../../domain/event.ts";
import type { Goals } from "../../domain/goals.ts";
import { type AppendedImpression, appendedOf, type StoredImpression } from "../../domain/impression.ts";
import { differs, type ResolvedReward, type RewardChange, resolved } from "../../domain/reward.ts";
import { shownAtOf } from "../../domain/token.ts";
import type { LogRow } from "../../rpc/log-row.ts";
import type { ConversionStore } from "./conversion-store.ts";
import type { Database } from "./database.ts";
import { fromBlob } from "./feature-blob.ts";
import type { ImpressionStore } from "./impression-store.ts";

/** Most rows of a page, and about as many bytes. A remote call takes 32 MiB. */
const PAGE_LINES = 1000;
const PAGE_BYTES = 4_000_000;

/** A step of a replay: an impression to append, or a change of reward to observe. */
export type ReplayStep = { readonly appended: AppendedImpression; readonly place: number } | { readonly changed: RewardChange };

/** The event log of a model: the rows of several tables in the order of their common sequence. */
export class LogStore {
  readonly #database: Database;
  readonly #impressions: ImpressionStore;
  readonly #conversions: ConversionStore;

  constructor(database: Database, impressions: ImpressionStore, conversions: ConversionStore) {
    this.#database = database;
    this.#impressions = impressions;
    this.#conversions = conversions;
  }

  /** The next page of rows after a row; empty at the end. */
  page(seq: number): LogRow[] {
    const sequence = this.#database.query<{ seq: number; type: LogRow["type"] }>(
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
    return this.#database.query<{ count: number }>(`SELECT ${counts.join(" + ")} AS count`, seq)[0].count;
  }

  #line({ seq, type }: { readonly seq: number; readonly type: LogRow["type"] }): LogRow {
    if (type === "conversion") return { type, ...(this.#conversions.at(seq) as StoredConversion) };
    if (type === "impression") {
      const impression = this.#impressions.at(seq) as StoredImpression;
      return { type, ...impression, keys: this.#impressions.keysOf(impression.id) };
    }
    const [mark] = this.#database.query<{ mark: string; content: string }>("SELECT type AS mark, content FROM marks WHERE seq = ?", seq);
    return { type, seq, ...mark };
  }

  /**
   * The steps that bring policies from the state after a row to the newest state. Changes of rewards follow from the conversions
   * themselves, also from those before that row. So the policies observe what they observed when the conversions arrived.
   */
  *replay(seq: number, goals: Goals | null): Generator<ReplayStep> {
    type Row = {
      seq: number;
      id: string;
      blob: ArrayBuffer;
      slots: string;
      round: number;
      place: number | null;
      goal: string | null;
      restates: 1 | null;
    } & Omit<Outcome, "goal" | "restates">;
    const rows = this.#database.sql.exec<Row & Record<string, SqlStorageValue>>(
      `SELECT seq, id, features AS blob, slots, round, decision ->> 'place' AS place, NULL AS goal, NULL AS event,
         NULL AS reward, NULL AS at, NULL AS restates
       FROM impressions WHERE seq > ?1 AND state = 'live'
       UNION ALL
       SELECT c.seq, i.id, i.features, i.slots, i.round, NULL, c.goal, c.event, c.reward, c.at, c.restates
       FROM conversions c JOIN impressions i ON i.id = c.impression
       WHERE c.impression IN (SELECT impression FROM conversions WHERE seq > ?1) AND c.status IN ('applied', 'conflict') AND i.state = 'live'
       ORDER BY seq`,
      seq,
    );
    const known = new Map<string, { readonly events: readonly Outcome[]; readonly before: ResolvedReward | null }>();
    for (const { seq: at, id, blob, slots, round, place, goal, restates, ...event } of rows) {
      const impression = appendedOf({ id, round, slots: JSON.parse(slots), features: fromBlob(blob) });
      if (goal === null) {
        yield { appended: impression, place: place ?? 0 };
        continue;
      }
      const { events: earlier, before } = known.get(id) ?? { events: [], before: null };
      const events = [...earlier, { goal, ...event, restates: restates === 1 }];
      const after = resolved(events, goals, shownAtOf(id));
      known.set(id, { events, before: after });
      if (at > seq && differs(before, after)) yield { changed: { impression, before, after } };
    }
  }
}
