// The table of conversions. Whether one counts is decided by the ledger.

import type { ConversionStatus, StoredConversion } from "../../domain/conversion/conversion.ts";
import { type ByKey, type ConversionEvent, type GoalEvent, isOfPage, isOfRecord, waitingFor } from "../../domain/conversion/event.ts";
import { digestOf } from "../../domain/conversion/event-digest.ts";
import { counting, outcomeOf, resolved } from "../../domain/conversion/reward.ts";
import { countsZeros, isSilent } from "../../domain/conversion/silence.ts";
import type { KeyHashes } from "../../domain/ids/join-key.ts";
import { firstIdAt, shownAtOf } from "../../domain/ids/uuid.ts";
import { listOf, type StoredImpression } from "../../domain/impression/impression.ts";
import type { Outcome } from "../../domain/impression/outcome.ts";
import type { ConversionRow } from "../../domain/log/log-row.ts";
import { type Windows, windowOf } from "../../domain/model/goals.ts";
import { plainId } from "../../protocol/plain-id.ts";
import type { Database } from "./database.ts";
import type { ImpressionStore } from "./impressions/impression-store.ts";
import type { Link } from "./impressions/link-store.ts";
import type { ModelStore } from "./model-store.ts";

const COLUMNS = "seq, impression, goal, event, reward, at, status, key, action, restates";
/** Whether a waiting event joins an impression with its key, of action ?2 and shown at ?3. ?6: goals, and ?4: the window of the others. */
const JOINS = `(action IS NULL OR action = ?2)
  AND at BETWEEN ?3 AND ?3 + coalesce((SELECT value ->> '$.window.ms' FROM json_each(?6) WHERE json_each.key = goal), ?4)`;
/** The impression of another shard to which a waiting event is on its way. Null for one that waits for any. */
const SENT_TO = "(SELECT f.impression FROM forwarded f WHERE f.digest = 'orphan ' || conversions.seq)";
const WAITS_FOR_ANY = `status = 'orphan' AND ${SENT_TO} IS NULL`;
/** A page's report for an impression that is not shown or not registered, as the index of the schema has it. The first condition searches it. */
const WAITS_OF_PAGE = "impression > '' AND status = 'orphan' AND event = 'page ' || impression || ' ' || goal";
const COUNTS_OR_WAITS = "status IN ('applied', 'conflict', 'orphan')";
/** Conversions that are read together. */
const READ_AT_ONCE = 500;
type Row = Omit<StoredConversion, "restates"> & Record<string, SqlStorageValue> & { readonly restates: 1 | null };

/** An impression that becomes known, with its keys if they are not stored yet under their older hashes. */
export type Joining = Pick<StoredImpression, "id" | "action" | "decision"> & { readonly keys?: readonly KeyHashes[] };

/** The conversions of a model. Every change needs a transaction of the database. */
export class ConversionStore {
  readonly #database: Database;
  readonly #model: ModelStore;
  readonly #impressions: ImpressionStore;

  constructor(database: Database, model: ModelStore, impressions: ImpressionStore) {
    this.#database = database;
    this.#model = model;
    this.#impressions = impressions;
  }

  /** Conversions of an impression, in order of arrival. */
  of(impression: string): StoredConversion[] {
    return this.#database.query<Row>(`SELECT ${COLUMNS} FROM conversions WHERE impression = ? ORDER BY seq`, impression).map(stored);
  }

  /** A live impression, with the outcome that its stored conversions give. Undefined if no such impression is live. */
  recounted(id: string): { readonly impression: StoredImpression; readonly after: Outcome } | undefined {
    const impression = this.#impressions.find(id);
    if (impression?.state !== "live") return undefined;
    return { impression, after: outcomeOf(resolved(counting(this.of(id)), this.#model.state.config, shownAtOf(id))) };
  }

  /** The conversions after a row, in order: at most so many. */
  after(seq: number, limit: number): ConversionRow[] {
    return this.#database.query<Row>(`SELECT ${COLUMNS} FROM conversions WHERE seq > ? ORDER BY seq LIMIT ?`, seq, limit).map(logged);
  }

  /** The conversions of impressions shown before a time, after a row, in order. */
  *shownBefore(time: number, seq: number): Generator<ConversionRow> {
    const due = this.#database.query<{ seq: number }>(
      "SELECT seq FROM conversions WHERE impression < ? AND +seq > ? ORDER BY +seq",
      firstIdAt(time),
      seq,
    );
    const query = `SELECT ${COLUMNS} FROM conversions WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq`;
    for (let i = 0; i < due.length; i += READ_AT_ONCE) {
      const some = due.slice(i, i + READ_AT_ONCE).map(({ seq }) => seq);
      yield* this.#database.query<Row>(query, JSON.stringify(some)).map(logged);
    }
  }

  /** All conversions that count of the impressions which have one after a row, in order. */
  ofThoseAfter(seq: number): StoredConversion[] {
    const query = `SELECT ${COLUMNS} FROM conversions WHERE impression IN (SELECT impression FROM conversions WHERE seq > ?)
      AND status IN ('applied', 'conflict') ORDER BY seq`;
    return this.#database.query<Row>(query, seq).map(stored);
  }

  /**
   * Attributes a keyed event to an impression: to the one that has an event of its name already, unless a rollback undid it, else to the
   * newest impression with this key whose window was open at the time of the event. Without one, returns the name under which the event
   * waits for its impression. Undefined if the event names no action, and the newest list has several.
   */
  attribute({ key, older = [], action }: ByKey, { goal, event, reward, at }: GoalEvent, windowMs: number): string | undefined {
    const before = this.sentTo({ key, older, action }, { goal, event, reward, at });
    if (before !== undefined && this.#impressions.find(before)?.state !== "void") return before;
    const hashes = [key, ...older];
    const newest = this.#impressions.keys.newest(hashes, action, at - windowMs, at + 1);
    if (action === null && this.#impressions.keys.isOfSeveral(hashes, at - windowMs, at + 1, newest)) return undefined;
    return newest?.impression ?? waitingFor(key, at);
  }

  /** The versions of an event that wait here and name no action. */
  waitingWithoutAction({ key, older = [] }: Pick<ByKey, "key" | "older">, { goal, event }: GoalEvent): StoredConversion[] {
    if (!this.anyWaits) return [];
    const query = `SELECT ${COLUMNS} FROM conversions WHERE ${WAITS_FOR_ANY} AND key IN (SELECT value FROM json_each(?))
      AND (goal = ? OR ?) AND event = ? AND action IS NULL ORDER BY seq`;
    return this.#database.query<Row>(query, JSON.stringify([key, ...older]), goal, Number(isOfRecord(event)), event).map(stored);
  }

  /** Deletes conversions that wait, because they are entered or sent with what they lacked. */
  removeWaiting(waiting: readonly Pick<StoredConversion, "seq" | "event">[]): void {
    // After a reset, another event may have the number.
    const query = `DELETE FROM conversions WHERE seq = ? AND event = ? AND status = 'orphan' RETURNING ${COLUMNS}`;
    const removed = waiting.flatMap(({ seq, event }) => this.#database.query<Row>(query, seq, event));
    for (const each of removed) this.#count(stored(each), "orphan", -1);
  }

  /** The impression that has an event of this name already, or the name under which this very event waits. A silent one keeps no place. */
  sentTo({ key, older = [], action }: ByKey, { goal, event, reward, at }: GoalEvent): string | undefined {
    // Another version of the event that still waits does not keep this one waiting, but a repetition finds the same row.
    const sent = `SELECT impression FROM conversions WHERE key IN (SELECT value FROM json_each(?)) AND (goal = ? OR ?) AND event = ?
      AND (status <> 'orphan' AND (? OR reward IS NOT 0 OR restates) OR
        (at = ? AND reward IS ? AND (status <> 'orphan' OR ? OR action IS NOT NULL))) ORDER BY status = 'orphan' LIMIT 1`;
    // A record counts for one goal.
    const name = [goal, Number(isOfRecord(event)), event, Number(countsZeros(this.#model.state.config))];
    const named = [JSON.stringify([key, ...older]), ...name, at, reward, Number(action === null)];
    const [found] = this.#database.query<{ impression: string }>(sent, ...named);
    return found && impressionOf(found);
  }

  /** @param idle whether the conversion says nothing, so that its row makes no other version of the model. */
  insert(conversion: ConversionEvent & Partial<ByKey>, status: ConversionStatus, { idle = false } = {}): void {
    const { impression, goal, event, reward, at, ...from } = conversion;
    const name = [impression, goal, event, reward, at];
    const row = [this.#database.next(1, { idle }), ...name, status, from.key ?? null, from.action ?? null, from.restates ? 1 : null];
    const insert = `INTO conversions (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
    // Events without a reward are never the same to the database.
    if (reward === null || this.#database.query(`INSERT OR IGNORE ${insert} RETURNING seq`, ...row).length === 0) {
      // The same event was undone, or was late. That row stays in the log, and gives up the name.
      this.#database.query(
        `UPDATE conversions SET impression = impression || ' ' || seq
         WHERE impression = ? AND goal = ? AND event = ? AND reward IS ? AND at = ? AND status IN ('void', 'late')`,
        ...name,
      );
      this.#database.query(`INSERT ${insert}`, ...row);
    }
    this.#count(conversion, status, 1);
  }

  /** Counts a conversion by its status. A silent one is in no figure. */
  #count(conversion: ConversionEvent, status: ConversionStatus, by: 1 | -1): void {
    if (status === "void" || status === "refused") return;
    const { config } = this.#model.state;
    const { event, reward } = conversion;
    if (isSilent(conversion, config)) {
      if (status === "orphan") this.#database.count("waitingZeros", by);
      return;
    }
    this.#database.count(status, by);
    if (reward === null || status !== "applied") return;
    if (isOfPage(event)) this.#database.count("pageGoals", by);
  }

  /** Refuses a stored conversion that counts or waits. Returns its impression. */
  refuse(seq: number): string | undefined {
    const [row] = this.#database.query<Row>(`SELECT ${COLUMNS} FROM conversions WHERE seq = ? AND ${COUNTS_OR_WAITS}`, seq);
    if (!row) return undefined;
    this.#discount(stored(row), "refused");
    return row.impression;
  }

  /** Gives a conversion that counted a status that does not. */
  #discount(conversion: StoredConversion, status: "refused" | "late"): void {
    this.#setStatus(conversion, status);
    // A later version of the event was a conflict with this one.
    const names = new Set<string>();
    for (const each of counting(this.of(conversion.impression))) {
      if (isSilent(each, this.#model.state.config)) continue;
      const name = JSON.stringify([each.goal, each.event]);
      if (each.status === "conflict" && !names.has(name)) this.#setStatus(each, "applied");
      names.add(name);
    }
  }

  /** Makes the conversions late that count and happened after the windows. **Cost:** linear in the conversions that count. */
  expireBeyond(windows: Windows): void {
    const counted = this.#database.query<Row>(`SELECT ${COLUMNS} FROM conversions WHERE status IN ('applied', 'conflict') ORDER BY seq`);
    for (const row of counted) {
      const isLate = row.at - shownAtOf(row.impression) > windowOf(windows, row.goal);
      if (isLate) this.#discount(stored(row), "late");
    }
  }

  /**
   * Removes and returns the conversions that were late or waited under some windows, and are in time under others. The caller enters them
   * again. **Cost:** linear in the conversions that are late or wait.
   */
  removeTimely(before: Windows, after: Windows): ConversionEvent[] {
    const rows = this.#database.query<Row>(`SELECT ${COLUMNS} FROM conversions WHERE status = 'late' OR ${WAITS_FOR_ANY} ORDER BY seq`);
    return rows.flatMap((row) => {
      const impression = this.#takerOf(row, before, after);
      if (impression === undefined || this.#impressions.find(impression)?.state !== "live") return [];
      this.#database.query("DELETE FROM conversions WHERE seq = ?", row.seq);
      this.#count(stored(row), row.status, -1);
      return { ...stored(row), impression };
    });
  }

  /** The impression that a conversion did not meet under some windows, and meets under others. */
  #takerOf({ impression, key, action, goal, at }: Row, before: Windows, after: Windows): string | undefined {
    const [from, until] = [at - windowOf(after, goal), at - windowOf(before, goal)];
    if (!this.#impressions.find(impression)) {
      if (key === null || (action === null && this.#impressions.keys.isOfSeveral([key], from, at + 1))) return undefined;
      return this.#impressions.keys.newest([key], action, from, until)?.impression;
    }
    const shownAt = shownAtOf(impression);
    return shownAt >= from && shownAt < until ? impression : undefined;
  }

  #setStatus(conversion: StoredConversion, status: ConversionStatus): void {
    this.#count(conversion, conversion.status, -1);
    this.#count(conversion, status, 1);
    this.#database.query("UPDATE conversions SET status = ? WHERE seq = ?", status, conversion.seq);
  }

  /** Whether a conversion waits for its impression. Pruning does not lower the counter, so a positive count may be out of date. */
  get anyWaits(): boolean {
    return this.#database.counted("orphan") + this.#database.counted("waitingZeros") > 0;
  }

  /**
   * Removes and returns the orphans that belong to an impression, by its id or by one of its keys. The caller enters them again. Those on
   * their way to another shard stay, and so do those without an action whose newest list has several.
   */
  removeOrphans({ id, action, decision, keys = [] }: Joining, { window, goals }: Windows): ConversionEvent[] {
    if (!this.anyWaits) return [];
    const waiting = this.#database.query<Row>(
      `SELECT ${COLUMNS} FROM conversions WHERE ${WAITS_FOR_ANY} AND (impression = ?1 OR
         key IN (SELECT key FROM keys WHERE impression = ?7 UNION SELECT value FROM json_each(?5)) AND ${JOINS}) ORDER BY seq`,
      id,
      plainId(action),
      shownAtOf(id),
      window.ms,
      JSON.stringify(keys.flat()),
      JSON.stringify(goals ?? {}),
      listOf({ id, decision }),
    );
    const orphans = waiting.filter((orphan) => orphan.impression === id || this.#isClear(orphan, { window, goals }, keys));
    this.removeWaiting(orphans);
    return orphans.map((orphan) => ({ ...stored(orphan), impression: id }));
  }

  /** Whether an event by key says which product it is about: by its action, or because the newest list has one. Counts those that do not. */
  #isClear(row: Row, windows: Windows, keys: readonly KeyHashes[] = []): boolean {
    const { key, action, goal, at } = row;
    const hashes = keys.find((each) => each.includes(key as string)) ?? [key as string];
    const isClear = action !== null || !this.#impressions.keys.isOfSeveral(hashes, at - windowOf(windows, goal), at + 1);
    if (!isClear && !isSilent(stored(row), this.#model.state.config)) this.#database.count("withoutAction");
    return isClear;
  }

  /**
   * Sends the orphans of a key to an impression of another shard that has this key, and returns them in order. From now on no other
   * impression takes them. Includes those that were sent there before and are not `delivered`, so that they can be sent again.
   */
  sendOrphans(key: string, action: string, { impression, shard }: Link, { window, goals }: Windows): StoredConversion[] {
    if (!this.anyWaits) return [];
    const waiting = this.#database.query<Row & { readonly sent: string | null }>(
      `SELECT ${COLUMNS}, ${SENT_TO} AS sent FROM conversions WHERE status = 'orphan' AND key = ?5
         AND (${SENT_TO} = ?1 OR ${SENT_TO} IS NULL AND ${JOINS}) ORDER BY seq`,
      impression,
      action,
      shownAtOf(impression),
      window.ms,
      key,
      JSON.stringify(goals ?? {}),
    );
    const sent = waiting.filter((orphan) => orphan.sent !== null || this.#isClear(orphan, { window, goals }));
    for (const { seq } of sent) this.#database.query("INSERT OR IGNORE INTO forwarded VALUES (?, ?, ?)", waitingAs(seq), impression, shard);
    return sent.map(({ sent: _, ...orphan }) => stored(orphan as Row));
  }

  /** Deletes an orphan that its impression's shard has taken. */
  delivered(seq: number, impression: string): void {
    const note = "DELETE FROM forwarded WHERE digest = ? AND impression = ? RETURNING digest";
    // After a reset, another event may have the number.
    if (this.#database.query(note, waitingAs(seq), impression).length === 0) return;
    const deleted = this.#database.query<Row>(`DELETE FROM conversions WHERE seq = ? AND status = 'orphan' RETURNING ${COLUMNS}`, seq);
    for (const each of deleted) this.#count(stored(each), "orphan", -1);
  }

  /** Number of reports of pages that wait for their impression, and the time of the oldest such impression. **Cost:** linear in it. */
  waitingOfPages(): { readonly count: number; readonly oldest: number | undefined } {
    if (!this.anyWaits) return { count: 0, oldest: undefined };
    const query = `SELECT count(*) AS count, min(impression) AS id FROM conversions WHERE ${WAITS_OF_PAGE}`;
    const [{ count, id }] = this.#database.query<{ count: number; id: string | null }>(query);
    return { count, oldest: id === null ? undefined : shownAtOf(id) };
  }

  /** Deletes those whose impression was shown before a time. */
  deleteWaiting(before: number): void {
    if (!this.anyWaits) return;
    const query = `DELETE FROM conversions WHERE ${WAITS_OF_PAGE} AND impression < ? RETURNING seq`;
    this.#database.count("orphan", -this.#database.query(query, firstIdAt(before)).length);
  }

  /** Voids the counted conversions after a row. Returns their impressions. */
  undoAfter(seq: number): string[] {
    const undone = "seq > ? AND status IN ('applied', 'conflict')";
    const touched = this.#database.query<{ impression: string }>(`SELECT DISTINCT impression FROM conversions WHERE ${undone}`, seq);
    this.#database.query(`UPDATE conversions SET status = 'void' WHERE ${undone}`, seq);
    return touched.map(({ impression }) => impression);
  }

  /**
   * Makes waiting conversions late: those that happened between two times and after the window of an impression with their key. No
   * impression shown before the later time may arrive any more. One that is on its way to another shard is judged there.
   * **Cost:** linear in the conversions that wait between the times.
   */
  expire(from: number, before: number): void {
    if (!this.anyWaits || from >= before) return;
    const late = this.#database.query<Row>(
      `UPDATE conversions SET status = 'late' WHERE ${WAITS_FOR_ANY} AND key IS NOT NULL AND impression >= ? AND impression < ?
         AND EXISTS (SELECT 1 FROM keys k WHERE k.key = conversions.key AND k.impression < conversions.impression)
       RETURNING ${COLUMNS}`,
      firstIdAt(from),
      firstIdAt(before),
    );
    for (const each of late) {
      this.#count(stored(each), "orphan", -1);
      this.#count(stored(each), "late", 1);
    }
  }

  /** Empties the conversions of an impression. */
  erase(impression: string): void {
    this.#bury(this.of(impression));
    this.#database.query(
      `UPDATE conversions SET goal = '', event = seq, reward = NULL, status = 'void', key = NULL, action = NULL
       WHERE impression = ? OR impression BETWEEN ? || ' ' AND ? || ' ~'`,
      impression,
      impression,
      impression,
    );
  }

  /** The conversions of some impressions, and those that came with a join key, in order. */
  ofKey(impressions: readonly string[], hashes: KeyHashes): ConversionRow[] {
    const query = `SELECT ${COLUMNS} FROM conversions WHERE impression IN (SELECT value FROM json_each(?1))
      OR key IN (SELECT value FROM json_each(?2)) ORDER BY seq`;
    return this.#database.query<Row>(query, JSON.stringify(impressions), JSON.stringify(hashes)).map(logged);
  }

  /** Deletes the conversions that came with a join key. */
  eraseKey(hashes: KeyHashes): void {
    const erased = `DELETE FROM conversions WHERE key IN (SELECT value FROM json_each(?)) RETURNING ${COLUMNS}`;
    this.#bury(this.#database.query<Row>(erased, JSON.stringify(hashes)).map(stored));
  }

  /** Notes what is erased, so that a repeated delivery is recognised. An event that names its impression is recognised by that. */
  #bury(rows: readonly StoredConversion[]): void {
    for (const row of rows) {
      const { key, goal, event, at, status } = row;
      if (key !== null) this.#database.query("INSERT OR IGNORE INTO erased VALUES (?, ?)", digestOf(key, { goal, event }), at);
      if (status === "orphan") this.#count(row, status, -1);
    }
  }

  /** Whether an event with a join key was erased. */
  isErased({ key, older = [] }: Pick<ByKey, "key" | "older">, { goal, event }: GoalEvent): boolean {
    const digests = [key, ...older].map((hash) => digestOf(hash, { goal, event }));
    const query = "SELECT 1 FROM erased WHERE digest IN (SELECT value FROM json_each(?)) LIMIT 1";
    return this.#database.query(query, JSON.stringify(digests)).length > 0;
  }
}

/** Names an orphan among the forwarded events, whose other names are digests. */
const waitingAs = (seq: number): string => `orphan ${seq}`;

/** A conversion as its row states it. */
function stored({ restates, ...conversion }: Row): StoredConversion {
  return restates ? { ...conversion, restates: true } : conversion;
}

/** A conversion as a row of the log. */
function logged(row: Row): ConversionRow {
  return { type: "conversion", ...stored(row), impression: impressionOf(row) };
}

/** The impression of a row. A row whose event came again has its own number after it. */
const impressionOf = ({ impression }: Pick<Row, "impression">): string => impression.split(" ")[0];
