// The table of blocks, in which impressions lie and do not change.

import { shownAtOf } from "../../../domain/ids/uuid.ts";
import { Block, type BlockRow, encodeBlock, MOST_ROWS } from "../../../domain/impression/block.ts";
import { bucketAt } from "../../../domain/impression/bucket.ts";
import type { Marks } from "../../../domain/impression/impression.ts";
import type { Database } from "../database.ts";
import { LastAnswer } from "../last-answer.ts";

/**
 * A block is found by the time in an impression's id. Blocks are indexed by their span, which is at most one of these, in ms, and by their
 * first time: so those around a time lie together, and no index of ids is needed.
 */
const SPANS_MS = [1000, 60_000, 3_600_000];
const ALL_SPANS = SPANS_MS.map((_, span) => span).join();
/** Most characters of contexts and requests in one block, whose row may have 2 MB. One request may have 1 MiB. */
const MOST_CHARACTERS = 250_000;
/** Decoded blocks in memory, of some 15 kB each. */
const MOST_CACHED = 64;

type BlockState = "live" | "void";

/** An impression in its block. */
export interface Found {
  readonly seq: number;
  readonly state: BlockState;
  readonly row: BlockRow;
  /** Null if the policies do not know the impression. */
  readonly marks: Marks | null;
}

/** A block with the number of its first row, and the round of that impression. The others follow. */
export interface StoredBlock {
  readonly seq: number;
  readonly state: BlockState;
  /** Null if the policies do not know the impressions. */
  readonly round: number | null;
  /** Slots of each policy: one for all impressions, or one each. */
  readonly slots: readonly (number | readonly number[])[];
  readonly block: Block;
}

type Row = Record<string, SqlStorageValue> & {
  readonly seq: number;
  readonly state: BlockState;
  readonly round: number | null;
  readonly slots: string;
  readonly content: ArrayBuffer;
};
const COLUMNS = "seq, state, round, slots, content";

/** The blocks of a model. A block never reaches over the end of a bucket. Every change needs a transaction of the database. */
export class BlockStore {
  readonly #database: Database;
  readonly #table: string;
  /** Finds the blocks around a time. */
  readonly #around: string;
  readonly #cache = new Map<number, StoredBlock>();
  /** Numbers of the blocks around a time. */
  readonly #near: LastAnswer<string, readonly number[]>;

  constructor(database: Database, table = "blocks") {
    this.#database = database;
    this.#table = table;
    this.#around = SPANS_MS.map(
      (ms, span) => `SELECT seq FROM ${table} WHERE span = ${span} AND first BETWEEN ?1 - ${ms} AND ?2 AND last >= ?1`,
    ).join(" UNION ALL ");
    this.#near = new LastAnswer(database);
    database.onDrop(() => this.#cache.clear());
  }

  /**
   * Inserts impressions in their order, in as few blocks as possible.
   * @param marks of consecutive rounds; none for void impressions. @param seq number of the first row; the others follow.
   */
  insert(rows: readonly BlockRow[], marks: readonly Marks[], windowMs: number, seq: number): void {
    for (let from = 0; from < rows.length; ) {
      const count = this.#fitting(rows, from, windowMs);
      const part = rows.slice(from, from + count);
      const times = part.map(({ id }) => shownAtOf(id));
      this.#insertRow(encodeBlock(part), { count, ...timesOf(times) }, marks.slice(from, from + count), seq + from);
      from += count;
    }
  }

  /** Inserts a whole block as it is. Returns false, and does nothing, if it reaches over the end of a bucket. */
  insertBlock(block: Block, marks: readonly Marks[], windowMs: number, seq: number): boolean {
    const times = timesOf(block.map((i) => block.shownAt(i)));
    if (bucketAt(times.first, windowMs) !== bucketAt(times.last, windowMs)) return false;
    // Impressions of this time are looked for soon.
    this.#keep({ ...this.#insertRow(block.bytes, { count: block.count, ...times }, marks, seq), block });
    return true;
  }

  /** How many rows from a place on make one block. */
  #fitting(rows: readonly BlockRow[], from: number, windowMs: number): number {
    const bucket = bucketAt(shownAtOf(rows[from].id), windowMs);
    let [count, characters] = [0, 0];
    let last: BlockRow | undefined;
    for (const row of rows.slice(from, from + MOST_ROWS)) {
      const { context, decision } = row;
      if (last?.context !== context || last?.decision?.asked !== decision?.asked) characters += JSON.stringify([context, decision]).length;
      const fits = bucketAt(shownAtOf(row.id), windowMs) === bucket;
      if (count > 0 && (!fits || characters > MOST_CHARACTERS)) break;
      last = row;
      count++;
    }
    return count;
  }

  #insertRow(
    bytes: Uint8Array<ArrayBuffer>,
    { count, first, last }: Times & { readonly count: number },
    marks: readonly Marks[],
    seq: number,
  ): Omit<StoredBlock, "block"> {
    this.#near.forget();
    const [state, round, slots] = [marks.length > 0 ? "live" : "void", marks[0]?.round ?? null, slotsOf(marks)] as const;
    this.#database.query(
      `INSERT INTO ${this.#table} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      seq,
      count,
      spanOf(last - first),
      first,
      last,
      state,
      round,
      JSON.stringify(slots),
      bytes,
    );
    return { seq, state, round, slots };
  }

  find(id: string): Found | undefined {
    const holding = this.#holding(id);
    return holding && foundIn(holding.stored, holding.place);
  }

  /** The block that has an impression, and its place there. */
  #holding(id: string): { readonly stored: StoredBlock; readonly place: number } | undefined {
    const all = this.#allHolding(id);
    return all.find(({ stored }) => stored.state === "live") ?? all[0];
  }

  /** The blocks that have an impression. A rollback undid it in all but one. */
  #allHolding(id: string): { readonly stored: StoredBlock; readonly place: number }[] {
    const shownAt = shownAtOf(id);
    const places = this.around(shownAt, shownAt).map((stored) => ({ stored, place: stored.block.placeOf(id) }));
    return places.filter(({ place }) => place >= 0);
  }

  /** The blocks that may have impressions shown between two times. */
  around(from: number, to: number): StoredBlock[] {
    const read = () => this.#database.query<{ seq: number }>(this.#around, from, to).map(({ seq }) => seq);
    return this.#near.to(`${from} ${to}`, read).map((seq) => this.#numbered(seq));
  }

  /** The blocks that may have impressions shown from one time to before another, one after the other. */
  *overlapping(from: number, before: number): Generator<StoredBlock> {
    for (const { seq } of this.#database.query<{ seq: number }>(
      `SELECT seq FROM ${this.#table} WHERE last >= ? AND first < ?`,
      from,
      before,
    )) {
      yield this.#numbered(seq);
    }
  }

  /** The blocks with rows after a row, in order. */
  *after(seq: number): Generator<StoredBlock> {
    const [reaching] = this.#database.query<{ seq: number }>(
      `SELECT coalesce(max(seq), 0) AS seq FROM ${this.#table} WHERE seq <= ? AND seq + count > ? + 1`,
      seq,
      seq,
    );
    let next = reaching.seq > 0 ? reaching.seq : seq + 1;
    for (;;) {
      const [row] = this.#database.query<Row>(`SELECT ${COLUMNS} FROM ${this.#table} WHERE seq >= ? ORDER BY seq LIMIT 1`, next);
      if (!row) return;
      yield this.#stored(row);
      next = row.seq + 1;
    }
  }

  /** The blocks before a bound of buckets with rows after a row, in order. */
  *before(time: number, seq: number): Generator<StoredBlock> {
    const blocks = this.#database.query<{ seq: number }>(
      `SELECT seq FROM ${this.#table} WHERE span IN (${ALL_SPANS}) AND first < ? AND +seq + count > ? + 1 ORDER BY +seq`,
      time,
      seq,
    );
    for (const { seq } of blocks) {
      // A block may have been deleted meanwhile.
      for (const row of this.#database.query<Row>(`SELECT ${COLUMNS} FROM ${this.#table} WHERE seq = ?`, seq)) yield this.#stored(row);
    }
  }

  /** The round of the next impression. */
  get nextRound(): number {
    const newest = `SELECT round + count AS next FROM ${this.#table} WHERE state = 'live' ORDER BY seq DESC LIMIT 1`;
    return this.#database.query<{ next: number }>(newest)[0]?.next ?? 1;
  }

  /** Number of rows after a row. **Cost:** linear in the number of blocks. */
  countAfter(seq: number): number {
    const [{ count }] = this.#database.query<{ count: number }>(
      `SELECT coalesce(sum(min(count, seq + count - 1 - ?1)), 0) AS count FROM ${this.#table} WHERE seq + count - 1 > ?1`,
      seq,
    );
    return count;
  }

  /**
   * For each span, so many of the newest blocks: those that end last first, with the time when they end. Contents are read one after the
   * other.
   */
  *newest(limit: number): Generator<{ readonly last: number; readonly stored: StoredBlock }> {
    const newest = `SELECT seq, last FROM ${this.#table} WHERE span = ? ORDER BY first DESC LIMIT ?`;
    const blocks = SPANS_MS.flatMap((_, span) => this.#database.query<{ seq: number; last: number }>(newest, span, limit));
    for (const { seq, last } of blocks.sort((a, b) => b.last - a.last)) yield { last, stored: this.#numbered(seq) };
  }

  /** The earliest time shown since a bound of buckets. */
  oldestSince(time: number): number | undefined {
    const earliest = SPANS_MS.map((_, span) => `SELECT min(first) AS first FROM ${this.#table} WHERE span = ${span} AND first >= ?1`);
    const [{ first }] = this.#database.query<{ first: number | null }>(
      `SELECT min(first) AS first FROM (${earliest.join(" UNION ALL ")})`,
      time,
    );
    return first ?? undefined;
  }

  /** Makes the blocks after a row void, and returns those that were not. */
  voidAfter(seq: number): StoredBlock[] {
    const query = `UPDATE ${this.#table} SET state = 'void' WHERE seq > ? AND state = 'live' RETURNING ${COLUMNS}`;
    const voided = this.#database.query<Row>(query, seq).map((row) => this.#stored(row));
    this.#cache.clear();
    return voided;
  }

  /** Deletes the blocks after a row. */
  deleteAfter(seq: number): void {
    this.#database.query(`DELETE FROM ${this.#table} WHERE seq > ?`, seq);
    this.#near.forget();
    this.#cache.clear();
  }

  /** Empties an impression, if there is one with this id. */
  erase(id: string): void {
    for (const { stored, place } of this.#allHolding(id)) {
      const { seq, block } = stored;
      const left = block.rows().map((row, i) => (i === place ? { ...row, action: "", context: null, decision: null } : row));
      this.#database.query(`UPDATE ${this.#table} SET content = ? WHERE seq = ?`, encodeBlock(left), seq);
      this.#cache.delete(seq);
    }
  }

  /** Deletes the blocks before a bound of buckets. */
  deleteBefore(time: number): void {
    this.#database.query(`DELETE FROM ${this.#table} WHERE span IN (${ALL_SPANS}) AND first < ?`, time);
    this.#near.forget();
    this.#cache.clear();
  }

  /** The block with this number. Its content is read only if it is not in memory. */
  #numbered(seq: number): StoredBlock {
    return this.#cache.get(seq) ?? this.#stored(this.#database.query<Row>(`SELECT ${COLUMNS} FROM ${this.#table} WHERE seq = ?`, seq)[0]);
  }

  #stored({ seq, state, round, slots, content }: Row): StoredBlock {
    const cached = this.#cache.get(seq);
    if (cached) return cached;
    return this.#keep({ seq, state, round, slots: JSON.parse(slots), block: new Block(new Uint8Array(content)) });
  }

  #keep(stored: StoredBlock): StoredBlock {
    if (this.#cache.size >= MOST_CACHED) this.#cache.delete(this.#cache.keys().next().value as number);
    this.#cache.set(stored.seq, stored);
    return stored;
  }
}

/** Number of the shortest span that holds so many milliseconds. */
function spanOf(ms: number): number {
  return SPANS_MS.findIndex((span) => ms <= span);
}

/** An impression of a block, by its place. */
export function foundIn({ seq, state, round, slots, block }: StoredBlock, place: number): Found {
  const own = slots.map((each) => (typeof each === "number" ? each : each[place]));
  return { seq: seq + place, state, row: block.row(place), marks: round === null ? null : { round: round + place, slots: own } };
}

interface Times {
  readonly first: number;
  readonly last: number;
}

function timesOf(times: readonly number[]): Times {
  return { first: Math.min(...times), last: Math.max(...times) };
}

/** The slots of impressions. @see StoredBlock.slots */
function slotsOf(marks: readonly Marks[]): (number | readonly number[])[] {
  const slots = marks[0]?.slots.map((first, policy) => {
    const all = marks.map((each) => each.slots[policy]);
    return all.every((slot) => slot === first) ? first : all;
  });
  return slots ?? [];
}
