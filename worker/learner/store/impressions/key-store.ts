// The table of join keys, and what a key leads to.

import type { KeyHashes } from "../../../domain/ids/join-key.ts";
import { firstIdAt, shownAtOf } from "../../../domain/ids/uuid.ts";
import type { BlockRow } from "../../../domain/impression/block.ts";
import { type ImpressionRow, type ImpressionState, listOf, type StoredImpression } from "../../../domain/impression/impression.ts";
import { plainId } from "../../../protocol/plain-id.ts";
import type { Database } from "../database.ts";
import type { BlockStore } from "./block-store.ts";
import type { DeferredStore } from "./deferred-store.ts";
import type { LinkStore } from "./link-store.ts";

/** The newest impression with a join key. */
interface Newest {
  readonly impression: string;
  readonly action: string;
  /** Whether lists with the key that were shown in its millisecond have several products. */
  readonly isOfSeveral: boolean;
}

/** What holds the impressions. */
interface Stores {
  readonly blocks: BlockStore;
  readonly deferred: DeferredStore;
  readonly links: LinkStore;
}

/** The join keys of impressions, by their hashes. The impressions of a list share keys. Every change needs a transaction of the database. */
export class KeyStore {
  readonly #database: Database;
  readonly #blocks: BlockStore;
  readonly #deferred: DeferredStore;
  readonly #links: LinkStore;

  constructor(database: Database, { blocks, deferred, links }: Stores) {
    this.#database = database;
    this.#blocks = blocks;
    this.#deferred = deferred;
    this.#links = links;
  }

  /** Stores the keys of an impression with the first of its list. */
  insert(row: ImpressionRow): void {
    for (const [key] of row.keys) this.#database.query("INSERT OR IGNORE INTO keys VALUES (?, ?)", key, listOf(row));
  }

  /** The keys of an impression, as they are stored. */
  of(impression: Pick<StoredImpression, "id" | "decision">): string[] {
    const query = "SELECT key FROM keys WHERE impression = ? ORDER BY key";
    return this.#database.query<{ key: string }>(query, listOf(impression)).map(({ key }) => key);
  }

  /**
   * Gives the lists of one of some join keys the other keys too. Returns the ids of their live impressions, the newest list first. A list that has all
   * of the keys stays as it is.
   */
  join(keys: readonly KeyHashes[]): string[] {
    const query = "SELECT DISTINCT impression FROM keys WHERE key IN (SELECT value FROM json_each(?)) ORDER BY impression DESC";
    const lists = this.#database.query<{ impression: string }>(query, JSON.stringify(keys.flat()));
    return lists.flatMap(({ impression: first }) => {
      const known = this.of({ id: first, decision: null });
      const added = keys.filter((hashes) => !hashes.some((hash) => known.includes(hash)));
      for (const [key] of added) this.#database.query("INSERT INTO keys VALUES (?, ?)", key, first);
      const live = added.length === 0 ? [] : this.membersOf(first).filter(({ state }) => state === "live");
      for (const { row } of live) this.#links.note({ ...row, keys: added });
      return live.map(({ row }) => row.id);
    });
  }

  /** Whether an impression has one of some keys. */
  has(hashes: KeyHashes): boolean {
    const query = "SELECT 1 FROM keys WHERE key IN (SELECT value FROM json_each(?)) LIMIT 1";
    return this.#database.query(query, JSON.stringify(hashes)).length > 0;
  }

  /** Impressions with a join key. */
  impressionsOf(hashes: KeyHashes): string[] {
    const query = "SELECT DISTINCT impression FROM keys WHERE key IN (SELECT value FROM json_each(?))";
    const lists = this.#database.query<{ impression: string }>(query, JSON.stringify(hashes));
    return Array.from(new Set(lists.flatMap(({ impression }) => this.membersOf(impression).map(({ row }) => row.id))));
  }

  /** The shown impressions of the newest lists with a join key since a time: of so many lists at most. */
  shownSince(hashes: KeyHashes, since: number, most: number): BlockRow[] {
    const lists = this.#database.query<{ impression: string }>(
      `SELECT DISTINCT impression FROM keys WHERE key IN (SELECT value FROM json_each(?)) AND impression >= ?
       ORDER BY impression DESC LIMIT ?`,
      JSON.stringify(hashes),
      firstIdAt(since),
      most,
    );
    return lists.flatMap(({ impression }) => this.membersOf(impression).flatMap(({ row, state }) => (state === "deferred" ? [] : [row])));
  }

  /**
   * The newest impression with a join key, of an action or of any, that was shown between two times: of those that are not void, if there
   * are any. @param action in the form in which ids match.
   */
  newest(hashes: KeyHashes, action: string | null, from: number, before: number): Newest | undefined {
    const lists = this.#database.query<{ impression: string }>(
      `SELECT DISTINCT impression FROM keys WHERE key IN (SELECT value FROM json_each(?)) AND impression >= ? AND impression < ?
       ORDER BY impression DESC`,
      JSON.stringify(hashes),
      firstIdAt(from),
      firstIdAt(before),
    );
    const newest: { live?: BlockRow; void?: BlockRow } = {};
    let shown: { readonly at?: number; readonly actions: Set<string> } = { actions: new Set() };
    for (const { impression } of lists) {
      const at = shownAtOf(impression);
      // The impressions of a list were shown in one millisecond.
      if (newest.live !== undefined && shownAtOf(newest.live.id) > at) break;
      if (shown.at !== at) shown = { at, actions: new Set() };
      const members = this.membersOf(impression).filter(({ row }) => action === null || plainId(row.action) === action);
      for (const { row, state } of members) {
        if (state !== "void") shown.actions.add(row.action);
        if (state !== "deferred" && row.id > (newest[state]?.id ?? "")) newest[state] = row;
      }
    }
    const found = newest.live ?? newest.void;
    if (!found) return undefined;
    // The others of a list may be left out by the sampling.
    const isOfSeveral = shown.actions.size > 1 || listOf(found) !== found.id;
    return { impression: found.id, action: plainId(found.action), isOfSeveral: isOfSeveral && newest.live !== undefined };
  }

  /**
   * Whether the newest lists with a join key that were shown between two times, here and in other shards, have several products. Then a
   * conversion that names none belongs to none of them. @param own the newest impression here.
   */
  isOfSeveral(hashes: KeyHashes, from: number, before: number, own = this.newest(hashes, null, from, before)): boolean {
    const link = this.#links.newest(hashes, null, from, before);
    if (!own || !link) return (own ?? link)?.isOfSeveral ?? false;
    const later = shownAtOf(own.impression) - shownAtOf(link.impression);
    if (later !== 0) return (later > 0 ? own : link).isOfSeveral;
    return own.isOfSeveral || link.isOfSeveral || own.action !== link.action;
  }

  /** The impressions of a list, by the id of its first. */
  membersOf(first: string): { readonly row: BlockRow; readonly state: ImpressionState }[] {
    const shownAt = shownAtOf(first);
    const blocks = this.#blocks.around(shownAt, shownAt);
    const members = blocks.flatMap(({ state, block }) => {
      const places = block.held().filter((place) => block.shownAt(place) === shownAt);
      return places.map((place) => ({ row: block.row(place), state }));
    });
    const waiting = this.#deferred.between(firstIdAt(shownAt), firstIdAt(shownAt + 1));
    const all = [...members, ...waiting.map(({ row }) => ({ row, state: "deferred" as const }))];
    return all.filter(({ row }) => listOf(row) === first);
  }
}
