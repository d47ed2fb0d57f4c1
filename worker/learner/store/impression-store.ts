import type { ImpressionRow, ImpressionState, Marks, StoredImpression } from "../../domain/impression.ts";
import type { KeyHashes } from "../../domain/join-key.ts";
import type { ResolvedReward } from "../../domain/reward.ts";
import { firstIdAt, shownAtOf } from "../../domain/token.ts";
import type { Database } from "./database.ts";

export interface ShownImpression {
  readonly shownAt: number;
  /** Whether no conversion has arrived yet. */
  readonly pending: boolean;
}

/** The impressions of a model and their join keys. Every change needs a transaction of the database. */
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
    return this.#first("SELECT * FROM impressions WHERE id = ?", id);
  }

  /** The impression with this id, or registered under this name. */
  registered(id: string, name: string | null): StoredImpression | undefined {
    return this.find(id) ?? (name === null ? undefined : this.#first("SELECT * FROM impressions WHERE name = ?", name));
  }

  /** The ids that are stored. */
  known(ids: readonly string[]): ReadonlySet<string> {
    const query = "SELECT id FROM impressions WHERE id IN (SELECT value FROM json_each(?))";
    return new Set(this.#database.query<{ id: string }>(query, JSON.stringify(ids)).map(({ id }) => id));
  }

  at(seq: number): StoredImpression | undefined {
    return this.#first("SELECT * FROM impressions WHERE seq = ?", seq);
  }

  #first(query: string, value: string | number): StoredImpression | undefined {
    const [row] = this.#database.query(query, value);
    return row && impressionOf(row);
  }

  /** @param marks null unless the impression is live. */
  add(row: ImpressionRow, bucket: number, state: ImpressionState, marks: Marks | null): void {
    const { id, name, action, features, context, arm, version, decision, keys, byPage } = row;
    this.#database.query(
      `INSERT INTO impressions (seq, id, name, state, bucket, arm, action, features, context, slots, round, version, decision, page)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      this.#database.next(),
      id,
      name,
      state,
      bucket,
      arm,
      action,
      features.slice().buffer,
      context && JSON.stringify(context),
      marks && JSON.stringify(marks.slots),
      marks?.round ?? null,
      version,
      decision && JSON.stringify(decision),
      Number(byPage),
    );
    for (const [key] of keys) this.#database.query("INSERT OR IGNORE INTO keys VALUES (?, ?)", key, id);
    if (state === "live") this.#database.count("impressions");
    if (this.#count && id >= this.#count.first) this.#count.count++;
  }

  /** Makes a deferred impression live. */
  activate(id: string, { slots, round }: Marks): void {
    const query = "UPDATE impressions SET seq = ?, state = 'live', slots = ?, round = ? WHERE id = ? AND state = 'deferred'";
    this.#database.query(query, this.#database.next(), JSON.stringify(slots), round, id);
    this.#database.count("impressions");
  }

  setReward(id: string, resolved: ResolvedReward | null): void {
    const { reward, converted } = resolved ?? { reward: null, converted: false };
    this.#database.query("UPDATE impressions SET reward = ?, converted = ? WHERE id = ?", reward, Number(converted), id);
  }

  keysOf(id: string): string[] {
    return this.#database.query<{ key: string }>("SELECT key FROM keys WHERE impression = ? ORDER BY key", id).map(({ key }) => key);
  }

  /** Impressions with a join key. */
  withKey(hashes: KeyHashes): string[] {
    const query = "SELECT DISTINCT impression FROM keys WHERE key IN (SELECT value FROM json_each(?))";
    return this.#database.query<{ impression: string }>(query, JSON.stringify(hashes)).map(({ impression }) => impression);
  }

  /** Number of impressions of any state shown at a time or later. **Cost:** linear in their number, unless asked for the same time again. */
  countSince(time: number): number {
    const first = firstIdAt(time);
    if (this.#count?.first !== first) {
      const [{ count }] = this.#database.query<{ count: number }>("SELECT count(*) AS count FROM impressions WHERE id >= ?", first);
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

  /** Deletes the impressions in a range of ids, and their keys. Without a state it deletes those of any state. */
  delete(from: string, before: string, state?: ImpressionState): void {
    this.#count = undefined;
    const ids = `SELECT id FROM impressions WHERE id >= ?1 AND id < ?2 AND (?3 IS NULL OR state = ?3)`;
    this.#database.query(`DELETE FROM keys WHERE impression IN (${ids})`, from, before, state ?? null);
    this.#database.query(`DELETE FROM impressions WHERE id IN (${ids})`, from, before, state ?? null);
  }

  /** Empties an impression. Its id stays, so that a repeated registration or conversion is recognised. */
  erase(id: string): void {
    this.#database.query("DELETE FROM keys WHERE impression = ?", id);
    this.#database.query(
      `UPDATE impressions SET state = 'void', name = NULL, action = '', features = x'', context = NULL, decision = NULL, reward = NULL,
       converted = 0 WHERE id = ?`,
      id,
    );
  }
}

function impressionOf(row: Record<string, SqlStorageValue>): StoredImpression {
  const { features, context, decision, slots, converted, page, bucket: _, ...fields } = row;
  return {
    ...fields,
    features: new Float64Array(features as ArrayBuffer),
    context: context && JSON.parse(context as string),
    decision: decision && JSON.parse(decision as string),
    slots: slots && JSON.parse(slots as string),
    converted: converted === 1,
    byPage: page === 1,
    erased: fields.action === "",
  } as unknown as StoredImpression;
}
