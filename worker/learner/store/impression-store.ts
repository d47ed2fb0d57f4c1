import type { Asked, Decision, ImpressionRow, ImpressionState, Marks, StoredImpression } from "../../domain/impression.ts";
import type { KeyHashes } from "../../domain/join-key.ts";
import type { ResolvedReward } from "../../domain/reward.ts";
import { firstIdAt, nameOf, shownAtOf } from "../../domain/token.ts";
import type { Database } from "./database.ts";
import { fromBlob, toBlob } from "./feature-blob.ts";

export interface ShownImpression {
  readonly shownAt: number;
  /** Whether no conversion has arrived yet. */
  readonly pending: boolean;
}

/** Impressions of one action in one context. */
export interface ContextCount {
  /** The request's context as JSON. Null if there was none. */
  readonly context: string | null;
  readonly action: string;
  readonly impressions: number;
  readonly converted: number;
}

/** Columns of an impression that do not follow from the decision. */
interface Storing {
  readonly bucket: number;
  readonly state: ImpressionState;
  /** Null unless the impression is live. */
  readonly marks: Marks | null;
  /** The first impression of its list. Null if it was decided alone. */
  readonly list: string | null;
}

const SELECT = `SELECT i.*, l.context AS list_context, l.asked FROM impressions i LEFT JOIN lists l ON l.first = i.list`;

/**
 * Whether impression i is of the list that begins with the impression `first`, or is that impression itself. A list is shown in one
 * millisecond, which the first 13 characters of its ids state. In a CROSS JOIN the left table comes first, so that ids are sought.
 */
const membersOf = (first: string) =>
  `i.id BETWEEN substr(${first}, 1, 13) AND substr(${first}, 1, 13) || '.' AND coalesce(i.list, i.id) = ${first} AND i.action <> ''`;

/**
 * The impressions of a model and their join keys. The impressions of a list share context, restrictions and keys, which are stored once,
 * with the id of the first.
 * Every change needs a transaction of the database.
 */
export class ImpressionStore {
  readonly #database: Database;
  /** Cache of `countSince` for one time. Additions raise it; deletions and failed transactions drop it. */
  #count?: { readonly first: string; count: number };

  constructor(database: Database) {
    this.#database = database;
    database.onDrop(() => {
      this.#count = undefined;
    });
  }

  find(id: string): StoredImpression | undefined {
    return this.#first(`${SELECT} WHERE i.id = ?`, id);
  }

  /** The impression with this id, or registered under this name. */
  registered(id: string, name: string | null): StoredImpression | undefined {
    return this.find(id) ?? (name === null ? undefined : this.#first(`${SELECT} WHERE i.name = ?`, name));
  }

  /** The ids that are stored. */
  known(ids: readonly string[]): ReadonlySet<string> {
    const query = "SELECT id FROM impressions WHERE id IN (SELECT value FROM json_each(?))";
    return new Set(this.#database.query<{ id: string }>(query, JSON.stringify(ids)).map(({ id }) => id));
  }

  at(seq: number): StoredImpression | undefined {
    return this.#first(`${SELECT} WHERE i.seq = ?`, seq);
  }

  #first(query: string, value: string | number): StoredImpression | undefined {
    const [row] = this.#database.query(query, value);
    return row && impressionOf(row);
  }

  add(row: ImpressionRow, { bucket, state, marks, list }: Storing): void {
    const { id, name, action, features, arm, version, keys, byPage, sampling = 0 } = row;
    const { first: _, asked, ...decision } = row.decision ?? {};
    const shared = [row.context && JSON.stringify(row.context), asked ? JSON.stringify(asked) : null];
    if (list && shared.some((text) => text !== null)) this.#database.query("INSERT OR IGNORE INTO lists VALUES (?, ?, ?)", list, ...shared);
    this.#database.query(
      `INSERT INTO impressions
         (seq, id, name, state, bucket, arm, action, features, context, slots, round, version, decision, page, list, sampling)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      this.#database.next(),
      id,
      name,
      state,
      bucket,
      arm,
      action,
      toBlob(features),
      list ? null : shared[0],
      marks && JSON.stringify(marks.slots),
      marks?.round ?? null,
      version,
      row.decision && JSON.stringify(list ? decision : row.decision),
      Number(byPage),
      list,
      sampling,
    );
    for (const [key] of keys) this.#database.query("INSERT OR IGNORE INTO keys VALUES (?, ?)", key, list ?? id);
    if (state === "live") this.#countLive(byPage);
    if (state !== "deferred") this.#countOpen(id);
  }

  #countLive(byPage: boolean): void {
    this.#database.count("impressions");
    if (byPage) this.#database.count("fromPages");
  }

  #countOpen(id: string): void {
    if (this.#count && id >= this.#count.first) this.#count.count++;
  }

  /** Makes a deferred impression live. */
  activate({ id, byPage }: Pick<StoredImpression, "id" | "byPage">, { slots, round }: Marks): void {
    const query = "UPDATE impressions SET seq = ?, state = 'live', slots = ?, round = ? WHERE id = ? AND state = 'deferred'";
    this.#database.query(query, this.#database.next(), JSON.stringify(slots), round, id);
    this.#countLive(byPage);
    this.#countOpen(id);
  }

  setReward(id: string, resolved: ResolvedReward | null): void {
    const converted = resolved?.delay !== undefined;
    this.#database.query("UPDATE impressions SET reward = ?, converted = ? WHERE id = ?", resolved?.reward ?? null, Number(converted), id);
  }

  keysOf(id: string): string[] {
    const query = "SELECT key FROM keys WHERE impression = (SELECT coalesce(list, id) FROM impressions WHERE id = ?) ORDER BY key";
    return this.#database.query<{ key: string }>(query, id).map(({ key }) => key);
  }

  /** Impressions with a join key. */
  withKey(hashes: KeyHashes): string[] {
    const query = `SELECT DISTINCT i.id FROM keys k CROSS JOIN impressions i ON ${membersOf("k.impression")} WHERE k.key IN (SELECT value FROM json_each(?))`;
    return this.#database.query<{ id: string }>(query, JSON.stringify(hashes)).map(({ id }) => id);
  }

  /** The newest impression with a join key, of an action or of any, that was shown between two times. */
  newestWithKey(hashes: KeyHashes, action: string | null, from: number, before: number): string | undefined {
    const [newest] = this.#database.query<{ id: string }>(
      `SELECT i.id FROM keys k CROSS JOIN impressions i ON ${membersOf("k.impression")}
       WHERE k.key IN (SELECT value FROM json_each(?1)) AND k.impression >= ?2 AND k.impression < ?3
         AND i.state <> 'deferred' AND (?4 IS NULL OR i.action = ?4)
       ORDER BY i.id DESC LIMIT 1`,
      JSON.stringify(hashes),
      firstIdAt(from),
      firstIdAt(before),
      action,
    );
    return newest?.id;
  }

  /** Number of impressions shown at a time or later, without deferred ones. **Cost:** linear in their number, unless asked for the same time again. */
  countSince(time: number): number {
    const first = firstIdAt(time);
    if (this.#count?.first !== first) {
      const [{ count }] = this.#database.query<{ count: number }>(
        "SELECT count(*) AS count FROM impressions WHERE id >= ? AND state <> 'deferred'",
        first,
      );
      this.#count = { first, count };
    }
    return this.#count.count;
  }

  /**
   * Counts live impressions shown at a time or later: all, those with an observed reward, and those that converted.
   * **Cost:** linear in their number.
   */
  liveSince(time: number): { readonly impressions: number; readonly observed: number; readonly converted: number } {
    return this.#database.query<{ impressions: number; observed: number; converted: number }>(
      `SELECT count(*) AS impressions, count(reward) AS observed, coalesce(sum(converted), 0) AS converted
       FROM impressions WHERE id >= ? AND state = 'live'`,
      firstIdAt(time),
    )[0];
  }

  /** Live impressions shown at a time or later, oldest first. **Cost:** linear in their number. */
  shownSince(time: number): ShownImpression[] {
    const rows = this.#database.sql.exec<{ id: string; pending: number }>(
      "SELECT id, reward IS NULL AS pending FROM impressions WHERE id >= ? AND state = 'live' ORDER BY id",
      firstIdAt(time),
    );
    return Array.from(rows, ({ id, pending }) => ({ shownAt: shownAtOf(id), pending: pending === 1 }));
  }

  /** Counts live impressions shown from one time to before another, by context and action. **Cost:** linear in their number. */
  countsBetween(from: number, before: number): ContextCount[] {
    return this.#database.query<ContextCount & Record<string, SqlStorageValue>>(
      `SELECT coalesce(i.context, l.context) AS context, i.action, count(*) AS impressions, sum(i.converted) AS converted
       FROM impressions i LEFT JOIN lists l ON l.first = i.list
       WHERE i.id >= ? AND i.id < ? AND i.state = 'live' GROUP BY 1, 2`,
      firstIdAt(from),
      firstIdAt(before),
    );
  }

  /** Number of impressions that wait to be shown. **Cost:** linear in it. */
  get deferred(): number {
    return this.#database.query<{ count: number }>("SELECT count(*) AS count FROM impressions WHERE state = 'deferred'")[0].count;
  }

  /** Feature vectors of some impressions that no other impression has. **Cost:** linear in the number of impressions. */
  vectorsOnlyOf(ids: readonly string[]): Float64Array[] {
    const rows = this.#database.query<{ features: ArrayBuffer }>(
      `WITH ids AS (SELECT value AS id FROM json_each(?))
       SELECT features FROM impressions WHERE id IN ids AND action <> ''
       EXCEPT SELECT features FROM impressions WHERE id NOT IN ids`,
      JSON.stringify(ids),
    );
    return rows.map(({ features }) => fromBlob(features));
  }

  /** Deletes the impressions before an id, and their keys. */
  deleteBefore(first: string): void {
    this.#count = undefined;
    this.#database.query("DELETE FROM keys WHERE impression < ?", first);
    this.#database.query("DELETE FROM impressions WHERE id < ?", first);
    this.#database.query("DELETE FROM lists WHERE first < ?", first);
  }

  /** Deletes the impressions that were to be shown before a time and were not. */
  deleteDeferred(before: number): void {
    const query = "DELETE FROM impressions WHERE state = 'deferred' AND id < ? RETURNING coalesce(list, id) AS first";
    const deleted = this.#database.query<{ first: string }>(query, firstIdAt(before));
    if (deleted.length > 0) this.#deleteUnused(deleted.map(({ first }) => first));
  }

  /** Empties an impression. Its id stays, so that a repeated registration or conversion is recognised. */
  erase(id: string): void {
    const [{ first }] = this.#database.query<{ first: string }>("SELECT coalesce(list, id) AS first FROM impressions WHERE id = ?", id);
    this.#database.query(
      `UPDATE impressions SET state = 'void', action = '', features = x'', context = NULL, decision = NULL, reward = NULL,
       converted = 0, list = NULL WHERE id = ?`,
      id,
    );
    this.#deleteUnused([first]);
  }

  /** Adds an impression that was erased before it was registered. */
  addErased(id: string, bucket: number): void {
    this.#database.query(
      `INSERT INTO impressions (seq, id, name, state, bucket, arm, action, features, version)
       VALUES (?, ?, ?, 'void', ?, '', '', x'', ?)`,
      this.#database.next(),
      id,
      nameOf(id),
      bucket,
      this.#database.seq,
    );
    this.#countOpen(id);
  }

  /** Deletes what impressions shared if none of them is left. */
  #deleteUnused(firsts: readonly string[]): void {
    const unused = (first: string) =>
      `${first} IN (SELECT value FROM json_each(?)) AND NOT EXISTS (SELECT 1 FROM impressions i WHERE ${membersOf(first)})`;
    this.#database.query(`DELETE FROM lists WHERE ${unused("first")}`, JSON.stringify(firsts));
    this.#database.query(`DELETE FROM keys WHERE ${unused("impression")}`, JSON.stringify(firsts));
  }
}

function impressionOf(row: Record<string, SqlStorageValue>): StoredImpression {
  const { features, context, list_context, decision, asked, slots, converted, page, bucket: _, list, ...fields } = row;
  const parsed = (text: SqlStorageValue) => text && JSON.parse(text as string);
  return {
    ...fields,
    features: fromBlob(features as ArrayBuffer),
    context: parsed(context ?? list_context),
    decision: list === null ? parsed(decision) : ofList(parsed(decision), list, parsed(asked)),
    slots: parsed(slots),
    converted: converted === 1,
    byPage: page === 1,
    erased: fields.action === "",
  } as unknown as StoredImpression;
}

/** A decision with what the list's impressions share. */
function ofList(decision: Decision, list: SqlStorageValue, asked: Asked | null): object {
  return { ...decision, ...(decision.place > 0 && { first: list }), ...(asked && { asked }) };
}
