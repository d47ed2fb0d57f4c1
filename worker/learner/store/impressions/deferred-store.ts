// The table of impressions that wait to be shown.

import { firstIdAt, shownAtOf } from "../../../domain/ids/uuid.ts";
import { Block, type BlockRow, encodeBlock } from "../../../domain/impression/block.ts";
import type { Database } from "../database.ts";

/** An impression that is not shown yet. */
export interface DeferredRow {
  readonly seq: number;
  readonly row: BlockRow;
}

type Stored = { readonly seq: number; readonly content: ArrayBuffer } & Record<string, SqlStorageValue>;

/** Impressions that were decided and are not shown yet. Few are, so each has a row. Every change needs a transaction of the database. */
export class DeferredStore {
  readonly #database: Database;
  /** False if there are none. Then the oldest need not be looked for. */
  #mayHave = true;

  constructor(database: Database) {
    this.#database = database;
    database.onDrop(() => {
      this.#mayHave = true;
    });
  }

  insert(row: BlockRow): void {
    this.#mayHave = true;
    this.#database.query("INSERT INTO deferred VALUES (?, ?, ?)", row.id, this.#database.next(), encodeBlock([row]));
  }

  /** Notes that an impression was shown which is not registered yet. */
  noteShown(id: string, byPage: boolean): void {
    const insert = "INSERT INTO activations VALUES (?, ?) ON CONFLICT DO UPDATE SET page = min(page, excluded.page)";
    this.#database.query(insert, id, Number(byPage));
  }

  /** Whether an impression was shown before it was registered. The note of it goes. */
  takeShown(id: string): boolean {
    return this.#database.query("DELETE FROM activations WHERE id = ? RETURNING id", id).length > 0;
  }

  /** Deletes the notes of impressions that were shown before a time, either all or only those of pages. */
  deleteShownBefore(time: number, ofPages: boolean): void {
    this.#database.query(`DELETE FROM activations WHERE id < ?${ofPages ? " AND page" : ""}`, firstIdAt(time));
  }

  /** Replaces what is stored of an impression, except its number. */
  replace(row: BlockRow): void {
    this.#database.query("UPDATE deferred SET content = ? WHERE id = ?", encodeBlock([row]), row.id);
  }

  find(id: string): DeferredRow | undefined {
    return this.#all("id = ?", id)[0];
  }

  /** The impressions whose ids lie between two. */
  between(first: string, last: string): DeferredRow[] {
    return this.#all("id BETWEEN ? AND ?", first, last);
  }

  idsBetween(first: string, last: string): string[] {
    return this.#database.query<{ id: string }>("SELECT id FROM deferred WHERE id BETWEEN ? AND ?", first, last).map(({ id }) => id);
  }

  /** The impressions with a number above one, in order. */
  after(seq: number): DeferredRow[] {
    return this.#all("seq > ? ORDER BY seq", seq);
  }

  #all(where: string, ...values: (string | number)[]): DeferredRow[] {
    const rows = this.#database.query<Stored>(`SELECT seq, content FROM deferred WHERE ${where}`, ...values);
    return rows.map(({ seq, content }) => ({ seq, row: new Block(new Uint8Array(content)).row(0) }));
  }

  /** Number of impressions, and of notes of those that are not registered. **Cost:** linear in it. */
  get count(): number {
    const counts = "SELECT (SELECT count(*) FROM deferred) + (SELECT count(*) FROM activations) AS count";
    return this.#database.query<{ count: number }>(counts)[0].count;
  }

  /** The earliest time of an impression that a page has shown and that is not registered. */
  get oldestShownByPage(): number | undefined {
    const [{ id }] = this.#database.query<{ id: string | null }>("SELECT min(id) AS id FROM activations WHERE page");
    return id === null ? undefined : shownAtOf(id);
  }

  /** The earliest time, since another, at which an impression was to be shown. */
  oldestSince(time: number): number | undefined {
    if (!this.#mayHave) return undefined;
    const [{ id }] = this.#database.query<{ id: string | null }>("SELECT min(id) AS id FROM deferred WHERE id >= ?", firstIdAt(time));
    this.#mayHave = id !== null || time > 0;
    return id === null ? undefined : shownAtOf(id);
  }

  delete(id: string): void {
    this.#database.query("DELETE FROM deferred WHERE id = ?", id);
  }

  /** Deletes the impressions that were to be shown before a time, and returns them. */
  deleteBefore(time: number): BlockRow[] {
    const deleted = this.#database.query<Stored>("DELETE FROM deferred WHERE id < ? RETURNING seq, content", firstIdAt(time));
    return deleted.map(({ content }) => new Block(new Uint8Array(content)).row(0));
  }
}
