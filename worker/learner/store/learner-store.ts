// The durable state of a model. Changes of several tables are made here, in one transaction.

import type { Catalogue } from "../../domain/catalogue/catalogue.ts";
import { firstIdAt, shownAtOf } from "../../domain/ids/uuid.ts";
import { earliest } from "../../domain/impression/bucket.ts";
import type { ModelConfig } from "../../domain/model/model.ts";
import type { StoredSnapshot } from "../../domain/model/publication.ts";
import type { Action } from "../../protocol/schema.ts";
import { type CounterName, LEARNT } from "../../rpc/counters.ts";
import type { Allowance } from "../../rpc/message.ts";
import { ArchiveStore } from "./archive-store.ts";
import { CatalogueStore } from "./catalogue-store.ts";
import { ConversionStore } from "./conversion-store.ts";
import { ArmStore } from "./counts/arm-store.ts";
import { CounterStore } from "./counts/counter-store.ts";
import { DelayStore } from "./counts/delay-store.ts";
import { HoldoutStore } from "./counts/holdout-store.ts";
import { ListCounts } from "./counts/list-counts.ts";
import { Projections } from "./counts/projection.ts";
import { TallyStore } from "./counts/tally-store.ts";
import { Database } from "./database.ts";
import { BlockStore } from "./impressions/block-store.ts";
import { ImpressionStore } from "./impressions/impression-store.ts";
import { LinkStore } from "./impressions/link-store.ts";
import { OutcomeStore } from "./impressions/outcome-store.ts";
import { LogStore } from "./log-store.ts";
import { type ModelState, ModelStore } from "./model-store.ts";
import { RelearningStore } from "./relearning-store.ts";
import { SampleStore } from "./sample-store.ts";
import { checkSchema, createTables, TABLES } from "./schema.ts";
import { ShardStore } from "./shard-store.ts";
import { SnapshotStore } from "./snapshot-store.ts";

/** The first row of a model. */
type Begun = Pick<ModelState, "name" | "config" | "generation" | "watermark" | "homes">;

/** The durable state of one model: its configuration, its time boundaries, and the changes that touch several tables at once. */
export class LearnerStore {
  readonly database: Database;
  readonly tallies: TallyStore;
  readonly delays: DelayStore;
  readonly arms: ArmStore;
  readonly holdouts: HoldoutStore;
  readonly impressions: ImpressionStore;
  readonly conversions: ConversionStore;
  readonly log: LogStore;
  readonly snapshots: SnapshotStore;
  readonly archive: ArchiveStore;
  readonly relearning: RelearningStore;
  readonly links: LinkStore;
  readonly shards: ShardStore;
  readonly catalogues: CatalogueStore;
  readonly counters: CounterStore;
  readonly samples: SampleStore;
  readonly #storage: DurableObjectStorage;
  readonly #model: ModelStore;
  /**
   * Raised whenever what was made from the model is not valid any more: when it is created, reset, deleted, reconfigured, rolled back, or
   * taken over by what was relearnt. A caller that has awaited compares it with the one before.
   */
  epoch = 0;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.database = new Database(storage);
    this.#model = new ModelStore(this.database);
    this.arms = new ArmStore(this.database, this.#model);
    this.holdouts = new HoldoutStore(this.database, this.#model);
    this.counters = new CounterStore(this.database);
    this.links = new LinkStore(this.database, this.#model);
    this.shards = new ShardStore(this.database);
    this.catalogues = new CatalogueStore(this.database);
    this.samples = new SampleStore(this.database, this.#model);
    const blocks = new BlockStore(this.database);
    const outcomes = new OutcomeStore(this.database);
    this.tallies = new TallyStore(this.database, this.#model, { blocks, outcomes });
    this.delays = new DelayStore(this.database, { blocks, outcomes });
    const lists = new ListCounts(this.arms, { blocks, outcomes, holdouts: this.holdouts });
    // What follows a change of an impression.
    const projections = new Projections([outcomes, this.counters, this.tallies, this.delays, lists]);
    this.impressions = new ImpressionStore(this.database, { blocks, outcomes, links: this.links, projections });
    this.conversions = new ConversionStore(this.database, this.#model, this.impressions);
    this.log = new LogStore(this.database, this.#model, this.impressions, this.conversions);
    this.snapshots = new SnapshotStore(this.database);
    this.archive = new ArchiveStore(this.database, this.impressions, this.conversions);
    this.relearning = new RelearningStore(this.database);
    if (this.exists) checkSchema(storage.sql);
  }

  /** @see Database.transact */
  transact<T>(change: () => T): T {
    return this.database.transact(change);
  }

  /** @see ModelStore.exists */
  get exists(): boolean {
    return this.#model.exists;
  }

  /** @see ModelStore.state */
  get model(): ModelState {
    return this.#model.state;
  }

  /** Creates the model, or one of its shards. It takes nothing that was shown before `watermark`. */
  create({ name, config, ...row }: Begun): void {
    this.database.atomically(() => {
      createTables(this.database.sql);
      this.#begin({ name, config, ...row });
    });
  }

  #begin({ config, ...row }: Begun): void {
    this.epoch++;
    this.#model.insert({ ...row, config });
    this.database.beginProgress();
    this.transact(() => this.holdouts.note(config.holdout, this.database.mark("configuration", config), 0));
  }

  /**
   * Deletes everything but name, catalogue and the times of writing to KV, which takes one write a second of a key. Impressions shown
   * before `now`, the new generation, are not taken.
   */
  reset(config: ModelConfig, now: number, homes = config.shards): void {
    const { catalogue } = this;
    const { name, published, catalogued } = this.model;
    this.transact(() => {
      for (const table of TABLES) this.database.query(`DELETE FROM ${table}`);
      this.database.dropCaches();
      this.#begin({ name, config, generation: now, watermark: 0, homes });
      this.catalogues.replace(catalogue.actions);
      this.#model.set("horizon = ?, published_at = ?, catalogued_at = ?", now, published.at, catalogued.at);
    });
  }

  /** Deletes the model, its alarm and everything stored of it. */
  async deleteAll(): Promise<void> {
    await this.#storage.deleteAlarm();
    await this.#storage.deleteAll();
    this.database.dropCaches();
    this.epoch++;
  }

  /** @param since the version of the model that has the configuration, if its coordinator says so. Default: the number of the mark. */
  reconfigure(config: ModelConfig, since?: number): void {
    this.transact(() => {
      this.epoch++;
      this.#model.set("config = ?", JSON.stringify(config));
      const seq = this.database.mark("configuration", config);
      this.holdouts.note(config.holdout, seq, since ?? seq);
    });
  }

  /** The version with which the newest configuration came. */
  get configuredAt(): number {
    const query = "SELECT max(seq) AS seq FROM marks WHERE type IN ('configuration', 'relearnt')";
    return this.database.query<{ seq: number | null }>(query)[0].seq ?? 0;
  }

  /** The snapshots that isolates get: those of this learner, or merged ones. */
  get editions(): SnapshotStore {
    return this.model.coordinates ? this.shards.merged : this.snapshots;
  }

  /** Begins a shard whose model holds impressions since a time, and has been rolled back so often. */
  beginAt(horizon: number, term: number): void {
    this.#model.set("horizon = max(horizon, ?), term = ?", horizon, term);
  }

  /** Counts a rollback or a takeover of all shards. @param to the coordinator's count, by default one more. */
  raiseTerm(to = this.model.term + 1): void {
    this.#model.set("term = ?", to);
  }

  /** Takes the coordinator's catalogue. */
  coordinate(actions: readonly Action[], version: number): void {
    this.transact(() => {
      this.catalogues.replace(actions);
      this.#model.set("coordinated = ?", version);
    });
  }

  /** Whether nothing was learnt or changed after a version: there are only snapshots. */
  isUnchangedAfter(version: number): boolean {
    const snapshots = "SELECT count(*) AS count FROM marks WHERE seq > ? AND type IN ('snapshot', 'merged')";
    return this.database.query<{ count: number }>(snapshots, version)[0].count === this.seq - version;
  }

  /** Takes the part of the model's limits that the coordinator grants this shard. */
  grant(allowance: Allowance): void {
    const text = JSON.stringify(allowance);
    if (text !== JSON.stringify(this.model.granted)) this.#model.set("allowance = ?", text);
  }

  /** The part of the model's limits that this learner uses. */
  get used(): Allowance {
    return { open: this.tallies.countSince(this.model.watermark), bytes: this.bytes, deferred: this.waiting };
  }

  /** Number of deferred impressions, and of reports for impressions that are not registered. **Cost:** linear in it. */
  get waiting(): number {
    return this.impressions.waiting + this.conversions.waitingOfPages().count;
  }

  /** Time of the oldest impression that is deferred or not registered. */
  get oldestWaiting(): number | undefined {
    return earliest(this.impressions.oldestWaiting, this.conversions.waitingOfPages().oldest);
  }

  /** Deletes deferred impressions of before a time, and reports of pages for such impressions that are not registered. */
  deleteWaiting(before: number): void {
    this.impressions.deleteWaiting(before, "of pages");
    this.conversions.deleteWaiting(before);
  }

  /** @see Database.seq */
  get seq(): number {
    return this.database.seq;
  }

  /** @see Database.changedAt */
  get changedAt(): number {
    return this.database.changedAt;
  }

  /** Whether the configuration has changed after a version. */
  hasChangedAfter(version: number): boolean {
    const changes = "SELECT 1 FROM marks WHERE seq > ? AND type IN ('configuration', 'relearnt') LIMIT 1";
    return this.database.query(changes, version).length > 0;
  }

  /** Version that isolates may take from the learner, in KV or not yet; -1 before the first. */
  offered({ coordinates, published } = this.model): number {
    return (coordinates ? this.shards.merged : this.snapshots).newestKeptAfter(published.version);
  }

  /** Size of all stored data. */
  get bytes(): number {
    return this.database.sql.databaseSize;
  }

  setPublished(version: number, at: number): void {
    this.#model.set("published = max(published, ?), published_at = ?", version, at);
    const after = this.seq - Math.max(version, this.changedAt);
    this.database.count("idlePublished", this.database.counted("idleRows") - after - this.database.counted("idlePublished"));
  }

  /** The version in KV and the newest one, as if rows that say nothing had no number. They decide when the model is published. */
  get saying(): { readonly published: number; readonly newest: number } {
    const { published } = this.model;
    const [idle, before] = [this.database.counted("idleRows"), this.database.counted("idlePublished")];
    return { published: published.version - before, newest: this.seq - idle };
  }

  setCatalogued(version: number, at: number): void {
    this.#model.set("catalogued = max(catalogued, ?), catalogued_at = ?", version, at);
  }

  /** Moves the bounds of closing and audit, under another window. */
  moveBounds(watermark: number, audited: number): void {
    this.#model.set("watermark = ?, audited = ?", watermark, audited);
  }

  raiseAudited(to: number): void {
    this.#model.set("audited = max(audited, ?)", to);
  }

  /** The newest catalogue. */
  get catalogue(): Catalogue {
    return this.catalogues.newest;
  }

  /** Gives the model to relearnt policies. Earlier snapshots are of the old ones, and go. @param relearnt the content of the mark. */
  takeOver(
    relearnt: { readonly config: ModelConfig; readonly startedAt: number; readonly digest: string; readonly at?: number },
    parts: Uint8Array[],
  ): void {
    this.epoch++;
    this.#model.set("config = ?", JSON.stringify(relearnt.config));
    const seq = this.relearning.mark({ ...relearnt, counts: this.#learntCounts() });
    this.holdouts.note(relearnt.config.holdout, seq, relearnt.at ?? seq);
    this.snapshots.deleteAfter(-1);
    this.snapshots.write({ seq, parts }, true);
  }

  /** Time of the oldest impression shown at a time or later of which a row is stored. */
  oldestSince(time: number): number | undefined {
    const query = "SELECT min(impression) AS id FROM conversions WHERE impression >= ?";
    const [{ id }] = this.database.query<{ id: string | null }>(query, firstIdAt(time));
    return earliest(this.impressions.oldestSince(time), id === null ? undefined : shownAtOf(id));
  }

  /**
   * Closes all buckets before a time. Impressions that are still deferred were never shown, and keyed conversions that still wait came
   * after the window. The watermark only rises.
   */
  close(before: number): void {
    this.impressions.deleteWaiting(before, "all");
    // Earlier ones were looked at when their buckets closed. Only an import adds rows there.
    this.conversions.expire(this.model.watermark, before);
    this.#model.set("watermark = max(watermark, ?)", before);
  }

  /**
   * Deletes the rows of impressions shown before a time, and the marks before the first row that is left.
   * @param marksBefore keeps the marks from this number on, because they are not archived.
   */
  prune(time: number, marksBefore = Number.POSITIVE_INFINITY): void {
    const first = firstIdAt(time);
    this.database.query("DELETE FROM conversions WHERE impression < ?", first);
    this.database.query("DELETE FROM erased WHERE at < ?", time);
    this.impressions.deleteBefore(time, this.model.config);
    this.relearning.deleteBefore(time);
    this.links.deleteBefore(time);
    const tables = ["blocks", "deferred", "conversions", "snapshots", "merged_snapshots"];
    const left = tables.map((table) => `SELECT min(seq) AS seq FROM ${table}`).join(" UNION ALL ");
    const [{ seq }] = this.database.query<{ seq: number | null }>(`SELECT min(seq) AS seq FROM (${left})`);
    this.#pruneMarks(Math.min(seq ?? 0, marksBefore));
    this.#model.set("horizon = max(horizon, ?)", time);
  }

  /** Replaces the marks before a row by one mark each for the configuration and the catalogue of that time. */
  #pruneMarks(before: number): void {
    const marks = this.database.query<{ seq: number; type: string; content: string }>(
      "SELECT * FROM marks WHERE seq < ? ORDER BY seq",
      before,
    );
    this.database.query("DELETE FROM marks WHERE seq < ?", before);
    const insert = "INSERT INTO marks VALUES (?, ?, ?)";
    for (const kind of ["configuration", "relearnt"]) {
      const newest = marks.findLast(({ type }) => type === kind);
      if (newest) this.database.query(insert, newest.seq, kind, newest.content);
    }
    this.catalogues.renew(marks.filter(({ type }) => type === "actions"));
  }

  /** Empties an impression, registered or not, and its conversions. */
  erase(id: string): void {
    this.conversions.erase(id);
    this.relearning.blocks.erase(id);
    this.impressions.erase(id, this.model.config);
    this.database.mark("erasure", { impression: id });
  }

  /** Stores a snapshot of the newest state. A learner starts from it; a rollback can restore it only if it is `kept`. */
  saveSnapshot(parts: Uint8Array[], { digest, kept }: { readonly digest: string; readonly kept: boolean }): void {
    const seq = this.database.mark("snapshot", { digest, counts: this.#learntCounts(), time: Date.now() });
    this.snapshots.write({ seq, parts }, kept);
  }

  /** Refuses a stored conversion that the policies do not take, and counts it. The outcome of its impression is corrected. */
  skip(seq: number): void {
    const { config } = this.model;
    const touched = this.conversions.refuse(seq);
    const left = touched === undefined ? undefined : this.conversions.recounted(touched);
    if (left) this.impressions.change(left.impression, left.after, config);
    this.database.count("skipped");
  }

  /**
   * Undoes everything learnt after a kept snapshot, and deletes later snapshots. Later impressions and conversions stay as void rows, so
   * that decisions of that time can be repeated, and that closing does not bring them back. They may be sent again.
   */
  rollBack({ seq: version, parts }: StoredSnapshot): void {
    this.epoch++;
    const touched = this.conversions.undoAfter(version);
    const { config } = this.model;
    this.impressions.voidAfter(version, config);
    for (const id of touched) {
      const left = this.conversions.recounted(id);
      if (left) this.impressions.restore(left.impression, left.after, config);
    }
    const [mark] = this.database.query<{ content: string }>("SELECT content FROM marks WHERE seq = ?", version);
    const { counts } = JSON.parse(mark.content) as { counts: Record<string, number> };
    for (const [name, value] of Object.entries(this.#learntCounts())) this.database.count(name as CounterName, (counts[name] ?? 0) - value);
    this.snapshots.deleteAfter(version);
    // A log learnt again includes what is undone.
    const begun = this.relearning.begun;
    if (begun) this.relearning.begin(begun.config, begun.startedAt);
    this.snapshots.write({ seq: this.database.mark("rollback", { to: version, counts, time: Date.now() }), parts }, true);
  }

  /** Counters that a rollback restores. */
  #learntCounts(): Record<string, number> {
    const names: readonly string[] = LEARNT;
    return Object.fromEntries(Array.from(this.database.counts()).filter(([name]) => names.includes(name) || /^(delay|goal) /.test(name)));
  }
}
