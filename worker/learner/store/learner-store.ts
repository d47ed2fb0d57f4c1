import { bucketAt, bucketEnd } from "../../domain/bucket.ts";
import { changeBetween, changedBy } from "../../domain/catalogue.ts";
import type { ModelConfig } from "../../domain/model.ts";
import { counting, worthOf } from "../../domain/reward.ts";
import { firstIdAt, shownAtOf } from "../../domain/token.ts";
import type { Action } from "../../protocol/schema.ts";
import { ConversionStore } from "./conversion-store.ts";
import { ImpressionStore } from "./impression-store.ts";
import { LogStore } from "./log-store.ts";
import { SnapshotStore, type StoredSnapshot } from "./snapshot-store.ts";
import { SCHEMA, TABLES } from "./tables.ts";

/** What goes back with a rollback; what else was counted did happen. */
const LEARNT = ["impressions", "converted", "retracted", "applied", "conflict"] as const;
const DELIVERIES = ["duplicate", "late", "orphan"] as const;
const INCIDENTS = ["missed", "refused", "dropped", "keptOut"] as const;
const COUNTERS = [...LEARNT, ...DELIVERIES, ...INCIDENTS];
export type CounterName = (typeof COUNTERS)[number];
/** How many conversions that count had a delay of this bar. */
type DelayCounter = `delay ${number}`;

interface ModelRow {
  readonly name: string;
  readonly config: string;
  readonly generation: number;
  readonly seq: number;
  readonly watermark: number;
  readonly audited: number;
  readonly horizon: number;
  readonly published: number;
  readonly published_at: number | null;
  readonly lag: number | null;
  readonly heard: number | null;
}

/** The durable state of one model, in the SQLite of its Durable Object. All that happens shares one sequence. */
export class LearnerStore {
  readonly sql: SqlStorage;
  readonly impressions = new ImpressionStore(this);
  readonly conversions = new ConversionStore(this);
  readonly log = new LogStore(this);
  readonly snapshots: SnapshotStore;
  readonly #storage: DurableObjectStorage;
  // Valid within a transaction, which writes them once at its end.
  #next?: number;
  #deltas = new Map<string, number>();
  #heard?: number;
  #row?: ModelRow;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.sql = storage.sql;
    this.snapshots = new SnapshotStore(storage.sql);
  }

  query<Row extends Record<string, SqlStorageValue>>(query: string, ...bindings: unknown[]): Row[] {
    return this.sql.exec<Row>(query, ...bindings).toArray();
  }

  /** Runs a change that happens whole or not at all. */
  transact<T>(change: () => T): T {
    try {
      return this.#storage.transactionSync(() => {
        this.#next = this.seq;
        this.#deltas = new Map();
        this.#heard = undefined;
        const result = change();
        if (this.#next !== this.#model.seq) this.#set("seq = ?, heard = coalesce(?, heard)", this.#next, this.#heard ?? null);
        for (const [name, delta] of this.#deltas) {
          if (delta === 0) continue;
          this.query("INSERT INTO counters VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = value + ?2", name, delta);
        }
        return result;
      });
    } catch (error) {
      this.#row = undefined;
      throw error;
    } finally {
      this.#next = undefined;
    }
  }

  /** Number of a new row, or of a change that leaves none but makes the model another version. */
  next(): number {
    this.#next = this.seq + 1;
    return this.#next;
  }

  count(name: CounterName | DelayCounter, delta = 1): void {
    this.#deltas.set(name, (this.#deltas.get(name) ?? 0) + delta);
  }

  /** The count of a name with what this transaction adds to it. */
  counted(name: CounterName): number {
    const [row] = this.query<{ value: number }>("SELECT value FROM counters WHERE name = ?", name);
    return (row?.value ?? 0) + (this.#deltas.get(name) ?? 0);
  }

  /** Whether a model was ever configured; the tables of a mere name are not made. */
  get exists(): boolean {
    return this.#row !== undefined || this.query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'model'").length > 0;
  }

  /** Nothing that happened before `watermark` is taken. */
  create(name: string, config: ModelConfig, generation: number, watermark: number): void {
    this.#storage.transactionSync(() => {
      this.sql.exec(SCHEMA);
      this.#row = undefined;
      this.query(
        "INSERT INTO model (only, name, config, generation, watermark, audited, horizon) VALUES (1, ?1, ?2, ?3, ?4, ?4, 0)",
        name,
        JSON.stringify(config),
        generation,
        watermark,
      );
      this.transact(() => this.#mark("configuration", config));
    });
  }

  /** Forgets all but the name, the actions, and that nothing shown before `now` is taken, which is later than the generation. */
  reset(config: ModelConfig, now: number): void {
    const { name } = this.#model;
    const actions = this.actions();
    this.transact(() => {
      for (const table of TABLES) this.query(`DROP TABLE ${table}`);
      this.create(name, config, now, 0);
      this.replaceActions(actions);
      this.#set("horizon = ?", now);
    });
  }

  reconfigure(config: ModelConfig): void {
    this.transact(() => {
      this.#set("config = ?", JSON.stringify(config));
      this.#mark("configuration", config);
    });
  }

  get #model(): ModelRow {
    if (!this.#row) {
      this.#row = this.query<ModelRow & Record<string, SqlStorageValue>>("SELECT * FROM model")[0];
      // A model of before this column was.
      if (this.#row.heard === undefined) this.query("ALTER TABLE model ADD COLUMN heard INTEGER");
    }
    return this.#row;
  }

  #set(assignments: string, ...values: unknown[]): void {
    this.query(`UPDATE model SET ${assignments}`, ...values);
    this.#row = undefined;
  }

  get name(): string {
    return this.#model.name;
  }

  get config(): ModelConfig {
    return JSON.parse(this.#model.config);
  }

  /** When the model began, in ms since 1970: another one of the same name is another model. */
  get generation(): number {
    return this.#model.generation;
  }

  /** Number of the last row: the version of the model. */
  get seq(): number {
    return this.#next ?? this.#model.seq;
  }

  /** Buckets that end at it or before are closed, in ms since 1970. */
  get watermark(): number {
    return this.#model.watermark;
  }

  /** Buckets that end at it or before have been compared with the journal once more. */
  get audited(): number {
    return this.#model.audited;
  }

  /** Nothing is kept of what was shown before it. */
  get horizon(): number {
    return this.#model.horizon;
  }

  /** Version of the snapshot that KV was given last, and when; -1 before the first. */
  get published(): { readonly version: number; readonly at: number | null } {
    const { published, published_at } = this.#model;
    return { version: published, at: published_at };
  }

  /** Time from being shown to being registered, of the newest impression, in ms. */
  get lagMs(): number | null {
    return this.#model.lag;
  }

  /** When a conversion arrived last, by this clock, whenever it happened; null before the first. */
  get heardAt(): number | null {
    return this.#model.heard;
  }

  /** A conversion has arrived. */
  hear(now: number): void {
    this.#heard = now;
  }

  setLag(ms: number): void {
    if (ms !== this.#model.lag) this.#set("lag = ?", ms);
  }

  /** Bytes of everything that is stored. */
  get bytes(): number {
    return this.sql.databaseSize;
  }

  setPublished(version: number, at: number): void {
    this.#set("published = max(published, ?), published_at = ?", version, at);
  }

  raiseAudited(to: number): void {
    this.#set("audited = max(audited, ?)", to);
  }

  counters(): Record<CounterName, number> {
    const counts = this.#counts();
    return Object.fromEntries(COUNTERS.map((name) => [name, counts.get(name) ?? 0])) as Record<CounterName, number>;
  }

  /** Conversions that count by delay: how many had one of `bar`. */
  delays(): Map<number, number> {
    const bars = Array.from(this.#counts()).filter(([name, value]) => name.startsWith("delay ") && value > 0);
    return new Map(bars.map(([name, value]) => [Number(name.slice("delay ".length)), value]));
  }

  #counts(): Map<string, number> {
    return new Map(this.query<{ name: string; value: number }>("SELECT name, value FROM counters").map(({ name, value }) => [name, value]));
  }

  /** The catalogue, in the order it was put. */
  actions(): Action[] {
    return this.query<{ content: string }>("SELECT content FROM actions ORDER BY place").map(({ content }) => JSON.parse(content));
  }

  replaceActions(actions: readonly Action[]): void {
    this.#mark("actions", changeBetween(this.actions(), actions));
    this.query("DELETE FROM actions");
    actions.forEach((action, place) => {
      this.query("INSERT INTO actions VALUES (?, ?, ?)", place, action.id, JSON.stringify(action));
    });
  }

  /** Time of the oldest impression that something is stored of, shown at a time or later. */
  oldestSince(time: number): number | undefined {
    const [{ id }] = this.query<{ id: string | null }>(
      `SELECT min(id) AS id FROM (SELECT min(id) AS id FROM impressions WHERE id >= ?1
       UNION ALL SELECT min(impression) FROM conversions WHERE impression >= ?1)`,
      firstIdAt(time),
    );
    return id === null ? undefined : shownAtOf(id);
  }

  /** Closes the books of what was shown before a time. What is still deferred was never shown. The watermark never goes back. */
  close(before: number): void {
    this.impressions.delete(firstIdAt(this.watermark), firstIdAt(before), "deferred");
    this.summarise(this.watermark, before);
    this.#set("watermark = max(watermark, ?)", before);
  }

  /** Sums up by bucket and arm what was shown from a time, and before another; both bound buckets. */
  summarise(from: number, before: number): void {
    this.query("DELETE FROM closed WHERE bucket >= ? AND bucket < ?", from, before);
    this.query(
      `INSERT INTO closed SELECT bucket, arm, count(*), sum(converted), total(reward), total(reward * reward)
       FROM impressions WHERE id >= ? AND id < ? AND state = 'live' GROUP BY bucket, arm`,
      firstIdAt(from),
      firstIdAt(before),
    );
  }

  /** Forgets what was shown before a time, and marks that stand before all that is left. */
  prune(time: number): void {
    const first = firstIdAt(time);
    this.query("DELETE FROM conversions WHERE impression < ?", first);
    this.impressions.delete("", first);
    const left = ["impressions", "conversions", "snapshots"].map((table) => `SELECT min(seq) AS seq FROM ${table}`).join(" UNION ALL ");
    const [{ seq }] = this.query<{ seq: number | null }>(`SELECT min(seq) AS seq FROM (${left})`);
    this.#pruneMarks(seq ?? 0);
    this.#set("horizon = max(horizon, ?)", time);
  }

  /** Forgets the marks before a row, but for what configuration and catalogue were then. */
  #pruneMarks(before: number): void {
    const marks = this.query<{ seq: number; type: string; content: string }>("SELECT * FROM marks WHERE seq < ? ORDER BY seq", before);
    this.query("DELETE FROM marks WHERE seq < ?", before);
    const keep = (type: string, content: (all: string[]) => string): void => {
      const of = marks.filter((mark) => mark.type === type);
      const last = of.at(-1);
      if (last) this.query("INSERT INTO marks VALUES (?, ?, ?)", last.seq, type, content(of.map((mark) => mark.content)));
    };
    keep("configuration", (all) => all[all.length - 1]);
    keep("actions", (all) => {
      const changed = all.reduce((actions: readonly Action[], each) => changedBy(actions, JSON.parse(each)), []);
      return JSON.stringify(changeBetween([], changed));
    });
  }

  /** Takes what is known of an impression away; that it was there stays. Sums of a closed bucket are those of what is left in it. */
  erase(id: string): void {
    this.conversions.erase(id);
    this.impressions.erase(id);
    const [shownAt, windowMs] = [shownAtOf(id), this.config.window.ms];
    if (shownAt < this.watermark) this.summarise(bucketAt(shownAt, windowMs), bucketEnd(shownAt, windowMs));
    this.#mark("erasure", { impression: id });
  }

  /** Stores a snapshot of the state after the last row: to start from, or, if it is kept, to go back to as well. */
  saveSnapshot(parts: Uint8Array[], { digest, kept }: { readonly digest: string; readonly kept: boolean }): void {
    const seq = this.#mark("snapshot", { digest, counts: this.#learntCounts() });
    this.snapshots.write({ seq, parts }, kept);
  }

  /**
   * Undoes what was learnt after a kept snapshot. Impressions and conversions since then stay known, so that none of them is
   * taken again, and count for nothing. Snapshots since then are of what never was.
   */
  rollBack({ seq: version, parts }: StoredSnapshot): void {
    const touched = this.conversions.undoAfter(version);
    this.query("UPDATE impressions SET state = 'void' WHERE seq > ? AND state = 'live'", version);
    for (const id of touched) this.impressions.setWorth(id, worthOf(counting(this.conversions.of(id)), this.config.goals));
    const [mark] = this.query<{ content: string }>("SELECT content FROM marks WHERE seq = ?", version);
    const { counts } = JSON.parse(mark.content) as { counts: Record<string, number> };
    for (const [name, value] of Object.entries(this.#learntCounts())) this.count(name as CounterName, (counts[name] ?? 0) - value);
    const [oldest] = this.query<{ bucket: number }>("SELECT bucket FROM impressions ORDER BY id LIMIT 1");
    if (oldest) this.summarise(oldest.bucket, this.watermark);
    this.snapshots.deleteAfter(version);
    this.snapshots.write({ seq: this.#mark("rollback", { to: version, counts }), parts }, true);
  }

  /** What follows from what was learnt, as it was counted before this transaction. */
  #learntCounts(): Record<string, number> {
    const names: readonly string[] = LEARNT;
    return Object.fromEntries(Array.from(this.#counts()).filter(([name]) => names.includes(name) || name.startsWith("delay ")));
  }

  #mark(type: string, content: object): number {
    const seq = this.next();
    this.query("INSERT INTO marks VALUES (?, ?, ?)", seq, type, JSON.stringify(content));
    return seq;
  }
}
