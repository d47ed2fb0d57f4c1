// The impressions of a model, over the tables that hold them. A caller needs to know none of these.

import type { KeyHashes } from "../../../domain/ids/join-key.ts";
import { firstIdAt, nameOf, shownAtOf } from "../../../domain/ids/uuid.ts";
import type { Block, BlockRow } from "../../../domain/impression/block.ts";
import { bucketAt, bucketEnd, earliest } from "../../../domain/impression/bucket.ts";
import { type ImpressionRow, listOf, type Marks, type StoredImpression } from "../../../domain/impression/impression.ts";
import { NOTHING, type Outcome } from "../../../domain/impression/outcome.ts";
import type { LogRow } from "../../../domain/log/log-row.ts";
import type { Windows } from "../../../domain/model/goals.ts";
import type { Change, CountedImpression, Projections } from "../counts/projection.ts";
import type { Database } from "../database.ts";
import { inOrder } from "../in-order.ts";
import { type BlockStore, type Found, foundIn, type StoredBlock } from "./block-store.ts";
import { DeferredStore } from "./deferred-store.ts";
import { KeyStore } from "./key-store.ts";
import type { LinkStore } from "./link-store.ts";
import type { OutcomeStore } from "./outcome-store.ts";
import { deferredForm, liveForm } from "./stored-impression.ts";

/** What holds impressions beside their keys, and what follows their changes. */
interface Stores {
  readonly blocks: BlockStore;
  readonly outcomes: OutcomeStore;
  readonly links: LinkStore;
  readonly projections: Projections;
}

/**
 * The impressions of a model and their join keys. Impressions lie in blocks, which do not change. Only those that are deferred, that have
 * a name or an outcome have rows of their own. The impressions of a list share keys, which are stored with the id of the first.
 * Every change needs a transaction of the database.
 */
export class ImpressionStore {
  readonly blocks: BlockStore;
  readonly keys: KeyStore;
  readonly #deferred: DeferredStore;
  readonly #database: Database;
  readonly #outcomes: OutcomeStore;
  readonly #links: LinkStore;
  readonly #projections: Projections;

  constructor(database: Database, { blocks, outcomes, links, projections }: Stores) {
    this.#database = database;
    this.blocks = blocks;
    this.#outcomes = outcomes;
    this.#links = links;
    this.#projections = projections;
    this.#deferred = new DeferredStore(database);
    this.keys = new KeyStore(database, { blocks, deferred: this.#deferred, links });
  }

  find(id: string): StoredImpression | undefined {
    const found = this.blocks.find(id);
    if (found?.state === "live") return this.#stored(found);
    const deferred = this.#deferred.find(id);
    return deferred ? deferredForm(deferred) : found && this.#stored(found);
  }

  #stored(found: Found): StoredImpression {
    return liveForm(found, this.#outcomes.of(found.row.id));
  }

  /** The impression with this id, or registered under this name. One that a rollback undid may be registered again. */
  registered(id: string, name: string | null): StoredImpression | undefined {
    const standing = (known: StoredImpression | undefined) => (known?.state === "void" && !known.erased ? undefined : known);
    const known = standing(this.find(id));
    if (known || name === null) return known;
    const [named] = this.#database.query<{ id: string }>("SELECT id FROM names WHERE name = ?", name);
    return named && standing(this.find(named.id));
  }

  /** The newest live impressions with a join key that have reached a goal: so many at most. */
  reached(hashes: KeyHashes, most: number): StoredImpression[] {
    // The ids of a list begin alike, with its time.
    const found = this.#database.query<{ id: string; list: string }>(
      `SELECT DISTINCT o.id, k.impression AS list FROM keys k CROSS JOIN outcomes o
       ON o.id >= substr(k.impression, 1, 13) AND o.id < substr(k.impression, 1, 13) || 'g'
       WHERE k.key IN (SELECT value FROM json_each(?)) AND o.delays IS NOT NULL ORDER BY o.id DESC LIMIT ?`,
      JSON.stringify(hashes),
      most,
    );
    return found.flatMap(({ id, list }) => {
      const impression = this.find(id);
      return impression?.state === "live" && listOf(impression) === list ? [impression] : [];
    });
  }

  /** Those of some ids, with their times, that are stored. */
  known(impressions: readonly { readonly id: string; readonly shownAt: number }[]): ReadonlySet<string> {
    if (impressions.length === 0) return new Set();
    const times = impressions.map(({ shownAt }) => shownAt);
    const [first, last] = [Math.min(...times), Math.max(...times)];
    const blocks = this.blocks.around(first, last);
    const deferred = new Set(this.#deferred.idsBetween(firstIdAt(first), firstIdAt(last + 1)));
    const known = new Set<string>();
    for (const { id, shownAt } of impressions) {
      if (deferred.has(id) || blocks.some(({ block }) => block.mayHave(shownAt) && block.placeOf(id) >= 0)) known.add(id);
    }
    return known;
  }

  /** The impressions after a row, deferred ones too, in order. */
  after(seq: number): Generator<StoredImpression> {
    return inOrder(this.#inBlocks(seq, this.blocks.after(seq)), this.#deferred.after(seq).map(deferredForm));
  }

  /** The impressions before a bound of buckets and after a row, deferred ones too, in order. */
  shownBefore(time: number, seq: number): Generator<StoredImpression> {
    const deferred = this.#deferred.after(seq).filter(({ row }) => shownAtOf(row.id) < time);
    return inOrder(this.#inBlocks(seq, this.blocks.before(time, seq)), deferred.map(deferredForm));
  }

  /** The impressions of some blocks after a row. */
  *#inBlocks(seq: number, blocks: Iterable<StoredBlock>): Generator<StoredImpression> {
    for (const stored of blocks) {
      const { seq: first, block } = stored;
      const ids = block.ids();
      const outcomes = this.#outcomes.ofAll(ids);
      for (let i = Math.max(0, seq + 1 - first); i < block.count; i++) {
        yield liveForm(foundIn(stored, i), outcomes.get(ids[i]));
      }
    }
  }

  /** Impressions as rows of the log. */
  *logged(impressions: Iterable<StoredImpression>): Generator<LogRow> {
    for (const impression of impressions) yield { type: "impression", ...impression, keys: this.keys.of(impression) };
  }

  /** Number of impressions after a row. **Cost:** linear in the number of blocks. */
  countAfter(seq: number): number {
    return this.blocks.countAfter(seq) + this.#deferred.after(seq).length;
  }

  /** Inserts impressions in their order. `marks`: their places in the policies; none makes them void. */
  insert(rows: readonly ImpressionRow[], marks: readonly Marks[], windows: Windows): void {
    const blockRows = rows.map(blockRow);
    const seq = this.#database.next(rows.length);
    this.blocks.insert(blockRows, marks, windows.window.ms, seq);
    if (marks.length > 0) {
      this.#show(
        blockRows.map((row, i) => ({ ...row, seq: seq + i })),
        windows,
      );
    }
    for (const row of rows) {
      this.#insertKeys(row, marks.length > 0);
      if (marks.length > 0) this.#links.note(row);
    }
  }

  /** Inserts the impressions of a block, all of them live. `keys`: those of each impression. */
  insertBlock(block: Block, marks: readonly Marks[], keys: (place: number) => readonly KeyHashes[], windows: Windows): void {
    const seq = this.#database.next(block.count);
    const isStored = this.blocks.insertBlock(block, marks, windows.window.ms, seq);
    if (!isStored) this.blocks.insert(block.rows(), marks, windows.window.ms, seq);
    this.#show(
      block.map((i) => ({ ...block.counted(i), seq: seq + i })),
      windows,
    );
    for (let i = 0; i < block.count; i++) {
      if (keys(i).length === 0) continue;
      const row = { ...block.row(i), keys: keys(i) };
      this.#insertKeys(row);
      this.#links.note(row);
    }
  }

  /** Inserts an impression that is not shown yet. */
  defer(row: ImpressionRow): void {
    this.#deferred.insert(blockRow(row));
    this.#insertKeys(row);
  }

  #insertKeys(row: ImpressionRow, counts = true): void {
    // A name that a rollback undid may come again with another time, and so with another id.
    const insert = `INSERT OR ${counts ? "REPLACE" : "IGNORE"} INTO names VALUES (?, ?)`;
    if (row.name !== null) this.#database.query(insert, row.name, row.id);
    this.keys.insert(row);
  }

  #show(impressions: readonly CountedImpression[], windows: Windows): void {
    this.#projections.apply(
      impressions.map((impression) => ({ impression, before: null, after: NOTHING })),
      windows,
    );
  }

  /** Gives a live impression another outcome. */
  change(impression: StoredImpression, after: Outcome, windows: Windows): void {
    this.#projections.apply([{ impression, before: impression, after }], windows);
  }

  /** Gives a live impression the outcome that a rollback leaves it. */
  restore(impression: StoredImpression, after: Outcome, windows: Windows): void {
    this.#projections.undo([{ impression, before: impression, after }], windows);
  }

  /** Counts the live impressions of the log anew, bucket by bucket: blocks lie within the buckets. @param before the windows so far. */
  recount(windows: Windows, before: Windows): void {
    this.#projections.rebuild(this.#live(windows), windows, before);
  }

  *#live({ window: { ms } }: Windows): Generator<Change[]> {
    for (let oldest = this.blocks.oldestSince(0); oldest !== undefined; oldest = this.blocks.oldestSince(bucketEnd(oldest, ms))) {
      const live = Array.from(this.liveBetween(bucketAt(oldest, ms), bucketEnd(oldest, ms)));
      yield live.map((impression) => ({ impression, before: null, after: impression }));
    }
  }

  /** Notes that an impression was shown before its registration, which then activates it. */
  noteShown(id: string, byPage: boolean): void {
    this.#deferred.noteShown(id, byPage);
  }

  /** Whether an impression was shown before it was registered. The note of it goes. */
  takeShown(id: string): boolean {
    return this.#deferred.takeShown(id);
  }

  /** Makes a deferred impression live. */
  activate(id: string, marks: Marks, windows: Windows): void {
    const deferred = this.#deferred.find(id);
    if (!deferred) return;
    this.#deferred.delete(id);
    const seq = this.#database.next();
    this.blocks.insert([deferred.row], [marks], windows.window.ms, seq);
    const impression = { ...deferred.row, seq };
    this.#projections.apply([{ impression, before: null, after: NOTHING, wasDeferred: true }], windows);
    this.#links.note({ ...deferred.row, keys: this.keys.of(deferred.row).map((key) => [key]) });
  }

  /** Replaces the impressions that are not shown yet, with their ids and numbers. */
  replaceDeferred(change: (impression: StoredImpression) => BlockRow): void {
    for (const deferred of this.#deferred.after(0)) this.#deferred.replace(change(deferredForm(deferred)));
  }

  /** Makes the impressions after a row void. */
  voidAfter(seq: number, windows: Windows): void {
    const gone = this.blocks.voidAfter(seq).flatMap(({ seq, block }) => block.held().map((i) => ({ ...block.counted(i), seq: seq + i })));
    const outcomes = this.#outcomes.ofAll(gone.map(({ id }) => id));
    this.#projections.undo(
      gone.map((impression) => ({ impression, before: outcomes.get(impression.id) ?? NOTHING, after: null })),
      windows,
    );
  }

  /** The live impressions shown from one time to before another, block by block. */
  *liveBetween(from: number, before: number): Generator<StoredImpression> {
    for (const stored of this.blocks.overlapping(from, before)) {
      if (stored.state !== "live") continue;
      const places = stored.block.held().filter((i) => stored.block.shownAt(i) >= from && stored.block.shownAt(i) < before);
      const outcomes = this.#outcomes.ofAll(places.map((i) => stored.block.id(i)));
      for (const found of places.map((i) => foundIn(stored, i))) yield liveForm(found, outcomes.get(found.row.id));
    }
  }

  /** The newest live impressions, newest first. */
  recent(limit: number): StoredImpression[] {
    let newest: { readonly id: string; readonly stored: StoredBlock; readonly place: number }[] = [];
    for (const { last, stored } of this.blocks.newest(limit)) {
      if (newest.length === limit && last < shownAtOf(newest[limit - 1].id)) break;
      if (stored.state !== "live") continue;
      newest = [...newest, ...stored.block.held().map((place) => ({ id: stored.block.id(place), stored, place }))]
        .sort((a, b) => (a.id < b.id ? 1 : -1))
        .slice(0, limit);
    }
    return newest.map(({ stored, place }) => this.#stored(foundIn(stored, place)));
  }

  /** Number of impressions that wait to be shown or, if they were, to be registered. **Cost:** linear in it. */
  get waiting(): number {
    return this.#deferred.count;
  }

  /** Time of the oldest one of them. */
  get oldestWaiting(): number | undefined {
    return earliest(this.#deferred.oldestSince(0), this.#deferred.oldestShownByPage);
  }

  /** Time of the oldest impression shown at a bound of buckets or later. */
  oldestSince(time: number): number | undefined {
    return earliest(this.blocks.oldestSince(time), this.#deferred.oldestSince(time));
  }

  /** Feature vectors of some impressions that no other impression has. **Cost:** linear in the number of impressions. */
  vectorsOnlyOf(ids: readonly string[]): Float64Array[] {
    const [own, others] = [new Map<string, Float64Array>(), new Set<string>()];
    for (const { id, features, erased } of this.after(0)) {
      if (erased) continue;
      const key = features.join();
      if (ids.includes(id)) own.set(key, features);
      else others.add(key);
    }
    return Array.from(own).flatMap(([key, features]) => (others.has(key) ? [] : [features]));
  }

  /** Deletes the impressions before a bound of buckets, and their keys. */
  deleteBefore(time: number, windows: Windows): void {
    const first = firstIdAt(time);
    const gone = Array.from(this.#outcomes.deleteBefore(time)).flatMap(([id, before]): Change[] => {
      const found = this.blocks.find(id);
      return found ? [{ impression: { ...found.row, seq: found.seq }, before, after: null }] : [];
    });
    this.#deferred.deleteBefore(time);
    this.blocks.deleteBefore(time);
    this.#database.query("DELETE FROM keys WHERE impression < ?", first);
    this.#database.query("DELETE FROM names WHERE id < ?", first);
    this.#projections.forget(gone, windows);
  }

  /**
   * Deletes the impressions that were to be shown before a time and were not, and the notes of those that were and are not registered.
   * @param notes the backend is believed until the bucket closes, because an isolate may register late.
   */
  deleteWaiting(before: number, notes: "of pages" | "all"): void {
    this.#deferred.deleteShownBefore(before, notes === "of pages");
    for (const row of this.#deferred.deleteBefore(before)) this.#deleteUnused(row);
  }

  #deleteUnused(row: BlockRow): void {
    const first = listOf(row);
    if (this.keys.membersOf(first).length === 0) this.#database.query("DELETE FROM keys WHERE impression = ?", first);
    if (row.name !== null && !this.find(row.id)) this.#database.query("DELETE FROM names WHERE name = ?", row.name);
  }

  /** Empties an impression. Its id stays, so that a repeated registration or conversion is recognised. */
  erase(id: string, windows: Windows): void {
    const deferred = this.#deferred.find(id);
    const found = this.blocks.find(id);
    if (found) this.#links.noteErased(id, this.keys.of(found.row));
    if (found?.state === "live" && found.row.action !== "") {
      const impression = this.#stored(found);
      if (shownAtOf(id) >= Date.now() - windows.window.ms) this.#countErased(impression);
      this.#projections.undo([{ impression, before: impression, after: null }], windows);
    }
    if (found) this.blocks.erase(id);
    else this.#insertErased(id, windows);
    this.#deferred.delete(id);
    this.#deferred.takeShown(id);
    const row = found?.row ?? deferred?.row;
    if (row) this.#deleteUnused(row);
  }

  /** Counts an erasure before the end of the window. Its final outcome stays unknown. */
  #countErased({ reward, converted, waits }: Outcome): void {
    this.#database.count("erased");
    this.#database.count("erasedObserved", Number(reward !== null && !waits));
    this.#database.count("erasedConverted", Number(converted));
  }

  /** Inserts an impression that was erased before it was shown or registered. */
  #insertErased(id: string, { window }: Windows): void {
    const erased = { name: null, action: "", features: new Float64Array(0), arm: "policy" as const, version: 0 };
    const row = { ...erased, id, context: null, decision: null, byPage: false, sampling: 0 };
    this.blocks.insert([row], [], window.ms, this.#database.next());
    this.#database.query("INSERT OR IGNORE INTO names VALUES (?, ?)", nameOf(id), id);
  }
}

function blockRow({ keys: _, ...row }: ImpressionRow): BlockRow {
  return { ...row, sampling: row.sampling ?? 0 };
}
