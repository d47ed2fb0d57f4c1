// The tables by which a join key finds an impression of another shard.

import type { ByKey, GoalEvent } from "../../../domain/conversion/event.ts";
import { digestOf } from "../../../domain/conversion/event-digest.ts";
import { isSilent } from "../../../domain/conversion/silence.ts";
import { homeOf } from "../../../domain/ids/home.ts";
import type { KeyHashes } from "../../../domain/ids/join-key.ts";
import { firstIdAt } from "../../../domain/ids/uuid.ts";
import type { ImpressionRow } from "../../../domain/impression/impression.ts";
import { plainId } from "../../../protocol/plain-id.ts";
import type { Note } from "../../../rpc/message.ts";
import type { Database } from "../database.ts";
import type { ModelStore } from "../model-store.ts";

/** Notes that one call delivers. */
const NOTES_AT_ONCE = 1000;

/** An impression of another shard. */
export interface Link {
  readonly impression: string;
  readonly shard: number;
}

/** The newest impression of other shards with a key. */
interface NewestLink extends Link {
  readonly action: string;
  /** Whether lists with the key that were shown in its millisecond have several products. */
  readonly isOfSeveral: boolean;
}

type NoteRow = Note & Record<string, SqlStorageValue>;

/** An impression of another shard, with a key and its action. */
type Awaited = Link & Omit<Note, "seq">;

/**
 * Join keys whose impression is in another shard. Each key has a home, which knows all impressions with it. A shard notes a key of another
 * home in the transaction that adds the impression, and delivers the note later. Every change needs a transaction of the database.
 */
export class LinkStore {
  readonly #database: Database;
  readonly #model: ModelStore;

  constructor(database: Database, model: ModelStore) {
    this.#database = database;
    this.#model = model;
  }

  /** The shard that knows all impressions with a key. */
  homeOf(key: string): number {
    return homeOf(key, this.#model.state.homes);
  }

  /** Notes the keys of a live impression whose home is another shard. */
  note({ id, action, keys }: Pick<ImpressionRow, "id" | "action" | "keys">): void {
    // After a rotation of the secret, an event may wait under an older hash.
    for (const key of keys.flat()) this.#note(key, id, plainId(action));
  }

  /** Notes that an impression with some keys was erased. */
  noteErased(id: string, keys: readonly string[]): void {
    for (const key of keys) this.#note(key, id, null);
  }

  #note(key: string, impression: string, action: string | null): void {
    const home = this.homeOf(key);
    if (home === this.#model.state.shard) return;
    this.#database.query("INSERT INTO notes (home, key, impression, action) VALUES (?, ?, ?, ?)", home, key, impression, action);
  }

  /** The oldest notes for the home of the oldest one; none if all are delivered. */
  get undelivered(): { readonly home: number; readonly notes: readonly Note[] } | undefined {
    const { homes, shard } = this.#model.state;
    // The home of all keys notes none.
    if (homes === 1 && shard === 0) return undefined;
    const [oldest] = this.#database.query<{ home: number }>("SELECT home FROM notes WHERE seq > 0 ORDER BY seq LIMIT 1");
    if (!oldest) return undefined;
    const query = "SELECT seq, key, impression, action FROM notes WHERE seq > 0 AND home = ? ORDER BY seq LIMIT ?";
    const notes = this.#database.query<NoteRow>(query, oldest.home, NOTES_AT_ONCE);
    if (notes.length < NOTES_AT_ONCE) return { home: oldest.home, notes };
    // A list goes as a whole, or else its home takes it for one of fewer products.
    const { seq, impression } = notes[notes.length - 1];
    const rest = `SELECT seq, key, impression, action FROM notes WHERE seq > ? AND home = ? AND substr(impression, 1, 13) = ?`;
    return { home: oldest.home, notes: [...notes, ...this.#database.query<NoteRow>(rest, seq, oldest.home, impression.slice(0, 13))] };
  }

  /** Deletes notes that their home has taken. */
  delivered(notes: readonly Note[]): void {
    // A later note may have the number of a deleted one.
    const query = "DELETE FROM notes WHERE seq = ? AND key = ? AND impression = ? AND action IS ?";
    for (const { seq, key, impression, action } of notes) this.#database.query(query, seq, key, impression, action);
  }

  /** Takes notes of another shard. A repetition changes nothing. */
  link(notes: readonly Omit<Note, "seq">[], shard: number): void {
    for (const { key, impression, action } of notes) {
      if (action === null) this.erase(impression);
      else this.#database.query("INSERT OR IGNORE INTO links VALUES (?, ?, ?, ?)", key, impression, action, shard);
    }
  }

  /** The newest impression with a key in another shard, of an action or of any, that was shown between two times. */
  newest(hashes: KeyHashes, action: string | null, from: number, before: number): NewestLink | undefined {
    const [newest] = this.#database.query<NewestLink & Record<string, SqlStorageValue>>(
      `SELECT impression, shard, action, EXISTS (SELECT 1 FROM links o WHERE o.key IN (SELECT value FROM json_each(?1))
           AND substr(o.impression, 1, 13) = substr(l.impression, 1, 13) AND o.action <> l.action) AS isOfSeveral
         FROM links l WHERE key IN (SELECT value FROM json_each(?1)) AND impression >= ?2 AND impression < ?3
         AND (?4 IS NULL OR action = ?4) ORDER BY impression DESC LIMIT 1`,
      JSON.stringify(hashes),
      firstIdAt(from),
      firstIdAt(before),
      action,
    );
    return newest && { ...newest, isOfSeveral: Boolean(newest.isOfSeveral) };
  }

  /** Impressions of other shards with a key of which a conversion waits here, newest first. */
  awaited(): Awaited[] {
    const query = `SELECT DISTINCT l.key, l.impression, l.action, l.shard FROM links l JOIN conversions c ON c.key = l.key
      WHERE c.status = 'orphan' ORDER BY l.impression DESC`;
    return this.#database.query<Awaited & Record<string, SqlStorageValue>>(query);
  }

  /** The other shards with impressions that have one of some keys. */
  shardsOf(hashes: KeyHashes): number[] {
    const query = "SELECT DISTINCT shard FROM links WHERE key IN (SELECT value FROM json_each(?))";
    return this.#database.query<{ shard: number }>(query, JSON.stringify(hashes)).map(({ shard }) => shard);
  }

  /** Whether any impression of another shard has a key. */
  has(key: string): boolean {
    return this.#database.query("SELECT 1 FROM links WHERE key = ? LIMIT 1", key).length > 0;
  }

  /** The impression to which an event with this name was forwarded. */
  forwardedTo({ key, older = [] }: Pick<ByKey, "key" | "older">, outcome: GoalEvent): Link | undefined {
    const digests = [key, ...older].map((hash) => digestOf(hash, outcome));
    const query = "SELECT impression, shard FROM forwarded WHERE digest IN (SELECT value FROM json_each(?)) LIMIT 1";
    return this.#database.query<Link & Record<string, SqlStorageValue>>(query, JSON.stringify(digests))[0];
  }

  /** Notes that an event was forwarded, so that later events of its name go to the same impression. A silent one keeps no place. */
  noteForwarded(key: string, outcome: GoalEvent, { impression, shard }: Link): void {
    if (isSilent(outcome, this.#model.state.config)) return;
    this.#database.query("INSERT OR IGNORE INTO forwarded VALUES (?, ?, ?)", digestOf(key, outcome), impression, shard);
  }

  /** Forgets an impression of another shard. Where its events went stays, as digests. */
  erase(impression: string): void {
    this.#database.query("DELETE FROM links WHERE impression = ?", impression);
  }

  eraseKey(hashes: KeyHashes): void {
    const erased = JSON.stringify(hashes);
    this.#database.query("DELETE FROM links WHERE key IN (SELECT value FROM json_each(?))", erased);
    // Notes of erasures stay, because an earlier note may be on its way to the home.
    this.#database.query("DELETE FROM notes WHERE action IS NOT NULL AND key IN (SELECT value FROM json_each(?))", erased);
  }

  /** Forgets impressions shown before a time. */
  deleteBefore(time: number): void {
    for (const table of ["links", "forwarded", "notes"]) {
      this.#database.query(`DELETE FROM ${table} WHERE impression < ?`, firstIdAt(time));
    }
  }
}
