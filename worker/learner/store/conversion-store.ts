import { waitingFor } from "../../domain/join-key.ts";
import type { Worth } from "../../domain/reward.ts";
import { firstIdAt, shownAtOf } from "../../domain/token.ts";
import type { ConversionEvent, KeyedEvent } from "../../kv/event-journal.ts";
import { type Shown, type StoredImpression, shownOf } from "./impression-store.ts";
import type { LearnerStore } from "./learner-store.ts";

/** Void: it was undone, and is known when it comes again. */
export type RowStatus = "applied" | "conflict" | "late" | "orphan" | "void";

export interface StoredConversion extends ConversionEvent {
  readonly seq: number;
  readonly status: RowStatus;
  /** With which key it came, and what it said of the action; null if it named its impression. */
  readonly key: string | null;
  readonly action: string | null;
}

/** The reward of an impression is now `total`; it was `previous`, null until its first conversion. */
export interface Movement {
  readonly impression: Shown;
  readonly previous: number | null;
  readonly total: number;
}

const COLUMNS = "seq, impression, goal, event, reward, at, status, key, action";
type Row = StoredConversion & Record<string, SqlStorageValue>;

/** The conversions of a model. Changes are made within a transaction of the store. */
export class ConversionStore {
  readonly #store: LearnerStore;

  constructor(store: LearnerStore) {
    this.#store = store;
  }

  /** Those of an impression, in order of arrival. */
  of(impression: string): StoredConversion[] {
    return this.#store.query<Row>(`SELECT ${COLUMNS} FROM conversions WHERE impression = ? ORDER BY seq`, impression);
  }

  at(seq: number): StoredConversion | undefined {
    return this.#store.query<Row>(`SELECT ${COLUMNS} FROM conversions WHERE seq = ?`, seq)[0];
  }

  /**
   * The impression that a key leads to: where this event went before, else the newest one under that key that was shown before
   * it and within its window; else none, by a name under which the event waits for it.
   */
  attribute({ key, action, goal, event, at }: KeyedEvent, windowMs: number): string {
    const sent = "SELECT impression FROM conversions WHERE key = ? AND goal = ? AND event = ?";
    const [before] = this.#store.query<{ impression: string }>(sent, key, goal, event);
    if (before) return before.impression;
    const [newest] = this.#store.query<{ id: string }>(
      `SELECT i.id FROM keys k JOIN impressions i ON i.id = k.impression
       WHERE k.key = ?1 AND k.impression >= ?2 AND k.impression < ?3 AND i.state <> 'deferred' AND (?4 IS NULL OR i.action = ?4)
       ORDER BY k.impression DESC LIMIT 1`,
      key,
      firstIdAt(at - windowMs),
      firstIdAt(at + 1),
      action,
    );
    return newest?.id ?? waitingFor(key, at);
  }

  add({ impression, goal, event, reward, at, ...from }: ConversionEvent & Partial<KeyedEvent>, status: RowStatus): void {
    this.#store.query(
      `INSERT INTO conversions (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      this.#store.next(),
      impression,
      goal,
      event,
      reward,
      at,
      status,
      from.key ?? null,
      from.action ?? null,
    );
    if (status === "void") return;
    this.#store.count(status);
    if (reward === null) return;
    this.#store.hear(Date.now());
    if (status === "applied") this.#store.count(`delay ${delayBar(at - shownAtOf(impression))}`);
  }

  /** Takes out what waits for an impression, by its id or by one of its keys, to be added again as what it is now. */
  removeOrphans({ id, action }: Pick<StoredImpression, "id" | "action">, windowMs: number): ConversionEvent[] {
    // Most wait for nothing. What is deleted otherwise stays in the count, which is then looked at in vain.
    if (this.#store.counted("orphan") === 0) return [];
    const shownAt = shownAtOf(id);
    const orphans = this.#store.query<Row>(
      `DELETE FROM conversions WHERE status = 'orphan' AND (impression = ?1 OR
         key IN (SELECT key FROM keys WHERE impression = ?1) AND (action IS NULL OR action = ?2) AND at BETWEEN ?3 AND ?4)
       RETURNING ${COLUMNS}`,
      id,
      action,
      shownAt,
      shownAt + windowMs,
    );
    this.#store.count("orphan", -orphans.length);
    return orphans.toSorted((a, b) => a.seq - b.seq).map((orphan) => ({ ...orphan, impression: id }));
  }

  /** The last row may have changed what an impression is worth; undefined if that is what the policy knows. */
  move(impression: StoredImpression, worth: Worth | null): Movement | undefined {
    const { id, reward: previous } = impression;
    if (worth === null || (worth.reward === previous && worth.converted === impression.converted)) return undefined;
    const { reward: total, converted } = worth;
    this.#store.impressions.setWorth(id, worth);
    this.#store.query("UPDATE conversions SET previous = ?, total = ? WHERE seq = ?", previous, total, this.#store.seq);
    this.#store.count("converted", Number(converted) - Number(impression.converted));
    this.#store.count("retracted", Number(!converted) - Number(previous !== null && !impression.converted));
    return total === previous ? undefined : { impression: shownOf(impression), previous, total };
  }

  /** Undoes what was learnt of those after a row. Returns the impressions that they were of. */
  undoAfter(seq: number): string[] {
    const undone = "seq > ? AND status IN ('applied', 'conflict')";
    const touched = this.#store.query<{ impression: string }>(`SELECT DISTINCT impression FROM conversions WHERE ${undone}`, seq);
    this.#store.query(`UPDATE conversions SET status = 'void', previous = NULL, total = NULL WHERE ${undone}`, seq);
    return touched.map(({ impression }) => impression);
  }

  /** Takes away what is known of those of an impression. */
  erase(impression: string): void {
    this.#store.query(
      `UPDATE conversions SET goal = '', event = seq, reward = NULL, status = 'void', previous = NULL, total = NULL, key = NULL, action = NULL
       WHERE impression = ?`,
      impression,
    );
  }

  /** Deletes what came with a key. */
  eraseKey(key: string): void {
    this.#store.query("DELETE FROM conversions WHERE key = ?", key);
  }
}

/** Delays fall into bars that double: bar 0 is below a second, bar n from 2^(n-1) to 2^n seconds. */
function delayBar(ms: number): number {
  return ms < 1000 ? 0 : Math.floor(Math.log2(ms / 1000)) + 1;
}
