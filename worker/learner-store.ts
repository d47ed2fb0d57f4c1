import type { Policy } from "afterclick";
import type { ConversionEvent } from "./event-store.ts";
import type { ModelConfig } from "./model.ts";
import type { Action } from "./schema.ts";
import { firstIdAt, shownAtOf } from "./token.ts";

type AppendedImpression = ReturnType<Policy["append"]>;

const SCHEMA = `
  CREATE TABLE model (
    only INTEGER PRIMARY KEY CHECK (only = 1), name TEXT NOT NULL, config TEXT NOT NULL,
    seq INTEGER NOT NULL DEFAULT 0, watermark INTEGER NOT NULL);
  CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE actions (place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, content TEXT NOT NULL);
  CREATE TABLE impressions (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, key TEXT UNIQUE, action TEXT NOT NULL, features BLOB NOT NULL,
    slot INTEGER NOT NULL, round INTEGER NOT NULL, version INTEGER NOT NULL, decision TEXT, reward REAL);
  CREATE TABLE conversions (
    seq INTEGER PRIMARY KEY, impression TEXT NOT NULL, goal TEXT NOT NULL, event TEXT NOT NULL, reward REAL NOT NULL, at INTEGER NOT NULL,
    status TEXT NOT NULL, previous REAL, total REAL,
    UNIQUE (impression, goal, event, at, reward));
  CREATE TABLE snapshots (seq INTEGER NOT NULL, chunk INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (seq, chunk));
`;

/** A Durable Object's row holds 2 MB at most. */
const CHUNK_BYTES = 1_500_000;

export type CounterName = "impressions" | "converted" | "applied" | "duplicate" | "late" | "conflict" | "orphan";
export type RowStatus = "applied" | "conflict" | "late" | "orphan";

/** How an impression was decided. */
export interface Decision {
  readonly score: number;
  readonly mean: number;
  readonly width: number;
  readonly probability?: number;
  /** Place in the ranked list, from 0. */
  readonly place: number;
  /** How many actions were considered; null if the policy chose in its own domain. */
  readonly candidates: number | null;
}

export interface ImpressionRow {
  readonly id: string;
  /** Names a registration, so that its repetition is known. */
  readonly key: string | null;
  readonly action: string;
  readonly features: Float64Array;
  /** Version of the model that decided. */
  readonly version: number;
  /** Null if it was decided elsewhere. */
  readonly decision: Decision | null;
}

/** What its policy made of an impression. */
export type Mark = Pick<AppendedImpression, "slot" | "round">;

export interface StoredImpression extends ImpressionRow, Mark {
  /** Of all its conversions that count; null until one does. */
  readonly reward: number | null;
}

/** The reward of an impression is now `total`; it was `previous`, null until its first conversion. */
export interface Movement {
  readonly impression: AppendedImpression;
  readonly previous: number | null;
  readonly total: number;
}

/** A row to go through again: an impression, or the movement of one. */
export type ReplayRow = { readonly shown: AppendedImpression } | { readonly moved: Movement };

/** The durable state of one model, in the SQLite of its Durable Object. Impressions and conversions share one sequence. */
export class LearnerStore {
  readonly #storage: DurableObjectStorage;
  readonly #sql: SqlStorage;
  // Valid within a transaction, which writes them once at its end.
  #seq = 0;
  #deltas = new Map<CounterName, number>();

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#sql = storage.sql;
  }

  /** Runs a change that happens whole or not at all. */
  transact<T>(change: () => T): T {
    return this.#storage.transactionSync(() => {
      this.#seq = this.seq;
      this.#deltas = new Map();
      const result = change();
      this.#sql.exec("UPDATE model SET seq = ?", this.#seq);
      for (const [name, delta] of this.#deltas) {
        this.#sql.exec("INSERT INTO counters VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = value + ?2", name, delta);
      }
      return result;
    });
  }

  count(name: CounterName, delta = 1): void {
    this.#deltas.set(name, (this.#deltas.get(name) ?? 0) + delta);
  }

  /** Whether a model was ever configured; the tables of a mere name are not made. */
  get exists(): boolean {
    return this.#first("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'model'") !== undefined;
  }

  create(name: string, config: ModelConfig, watermark: number): void {
    this.#storage.transactionSync(() => {
      this.#sql.exec(SCHEMA);
      this.#sql.exec("INSERT INTO model (only, name, config, watermark) VALUES (1, ?, ?, ?)", name, JSON.stringify(config), watermark);
    });
  }

  get model(): { readonly name: string; readonly config: ModelConfig } {
    const { name, config } = this.#sql.exec<{ name: string; config: string }>("SELECT name, config FROM model").one();
    return { name, config: JSON.parse(config) };
  }

  /** Number of the last row: the version of the model. */
  get seq(): number {
    return this.#sql.exec<{ seq: number }>("SELECT seq FROM model").one().seq;
  }

  /** Buckets that end at it or before are closed, in ms since 1970. */
  get watermark(): number {
    return this.#sql.exec<{ watermark: number }>("SELECT watermark FROM model").one().watermark;
  }

  /** The watermark never goes back. */
  raiseWatermark(to: number): void {
    this.#sql.exec("UPDATE model SET watermark = max(watermark, ?)", to);
  }

  counters(): Record<CounterName, number> {
    const counters = { impressions: 0, converted: 0, applied: 0, duplicate: 0, late: 0, conflict: 0, orphan: 0 };
    for (const { name, value } of this.#sql.exec<{ name: CounterName; value: number }>("SELECT name, value FROM counters"))
      counters[name] = value;
    return counters;
  }

  /** Impressions shown at a time or later, and how many of them converted. **Cost:** linear in them. */
  shownSince(time: number): { readonly impressions: number; readonly converted: number } {
    return this.#sql
      .exec<{ impressions: number; converted: number }>(
        "SELECT count(*) AS impressions, count(reward) AS converted FROM impressions WHERE id >= ?",
        firstIdAt(time),
      )
      .one();
  }

  /** The catalogue, in the order it was put. */
  actions(): Action[] {
    return Array.from(this.#sql.exec<{ content: string }>("SELECT content FROM actions ORDER BY place"), ({ content }) =>
      JSON.parse(content),
    );
  }

  replaceActions(actions: readonly Action[]): void {
    this.#sql.exec("DELETE FROM actions");
    actions.forEach((action, place) => {
      this.#sql.exec("INSERT INTO actions VALUES (?, ?, ?)", place, action.id, JSON.stringify(action));
    });
  }

  impression(id: string): StoredImpression | undefined {
    return impressionOf(this.#first("SELECT * FROM impressions WHERE id = ?", id));
  }

  /** The impression of that id, or registered under that key. */
  registered(id: string, key: string | null): StoredImpression | undefined {
    return this.impression(id) ?? (key === null ? undefined : impressionOf(this.#first("SELECT * FROM impressions WHERE key = ?", key)));
  }

  addImpression({ id, key, action, features, version, decision }: ImpressionRow, { slot, round }: Mark): void {
    this.#sql.exec(
      "INSERT INTO impressions (seq, id, key, action, features, slot, round, version, decision) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      ++this.#seq,
      id,
      key,
      action,
      features.slice().buffer,
      slot,
      round,
      version,
      decision && JSON.stringify(decision),
    );
    this.count("impressions");
  }

  /** The stored conversions of an impression, in order of arrival. */
  conversions(impression: string): (ConversionEvent & { readonly status: RowStatus })[] {
    return this.#sql
      .exec<{ impression: string; goal: string; event: string; reward: number; at: number; status: RowStatus }>(
        "SELECT impression, goal, event, reward, at, status FROM conversions WHERE impression = ? ORDER BY seq",
        impression,
      )
      .toArray();
  }

  addConversion(event: ConversionEvent, status: RowStatus): void {
    this.#sql.exec(
      "INSERT INTO conversions (seq, impression, goal, event, reward, at, status) VALUES (?, ?, ?, ?, ?, ?, ?)",
      ++this.#seq,
      event.impression,
      event.goal,
      event.event,
      event.reward,
      event.at,
      status,
    );
    this.count(status);
  }

  /** Takes orphans of an impression out, to be added again as what they are now. */
  removeOrphans(impression: string): ConversionEvent[] {
    const orphans = this.#sql
      .exec<{ impression: string; goal: string; event: string; reward: number; at: number }>(
        "DELETE FROM conversions WHERE impression = ? AND status = 'orphan' RETURNING impression, goal, event, reward, at",
        impression,
      )
      .toArray();
    if (orphans.length > 0) this.count("orphan", -orphans.length);
    return orphans;
  }

  /** The last row moved the reward of its impression. */
  moveReward(impression: StoredImpression, total: number): Movement {
    const { reward: previous } = impression;
    this.#sql.exec("UPDATE impressions SET reward = ? WHERE id = ?", total, impression.id);
    this.#sql.exec("UPDATE conversions SET previous = ?, total = ? WHERE seq = ?", previous, total, this.#seq);
    if (previous === null) this.count("converted");
    return { impression: appendedOf(impression), previous, total };
  }

  /** Time of the oldest impression that something is stored of, shown at a time or later. */
  oldestSince(time: number): number | undefined {
    const { id } = this.#sql
      .exec<{ id: string | null }>(
        `SELECT min(id) AS id FROM (SELECT min(id) AS id FROM impressions WHERE id >= ?1
         UNION ALL SELECT min(impression) FROM conversions WHERE impression >= ?1)`,
        firstIdAt(time),
      )
      .one();
    return id === null ? undefined : shownAtOf(id);
  }

  /** Forgets what was shown before a time. */
  prune(time: number): void {
    this.#sql.exec("DELETE FROM conversions WHERE impression < ?", firstIdAt(time));
    this.#sql.exec("DELETE FROM impressions WHERE id < ?", firstIdAt(time));
  }

  /** The newest snapshot. */
  snapshot(): { readonly seq: number; readonly bytes: Uint8Array } | undefined {
    const rows = this.#sql
      .exec<{ seq: number; bytes: ArrayBuffer }>(
        "SELECT seq, bytes FROM snapshots WHERE seq = (SELECT max(seq) FROM snapshots) ORDER BY chunk",
      )
      .toArray();
    if (rows.length === 0) return undefined;
    const bytes = new Uint8Array(rows.reduce((length, row) => length + row.bytes.byteLength, 0));
    let offset = 0;
    for (const row of rows) {
      bytes.set(new Uint8Array(row.bytes), offset);
      offset += row.bytes.byteLength;
    }
    return { seq: rows[0].seq, bytes };
  }

  /** Keeps a snapshot of the state after the last row, in place of the one before. */
  saveSnapshot(bytes: Uint8Array): void {
    this.#sql.exec("DELETE FROM snapshots");
    for (let chunk = 0; chunk * CHUNK_BYTES < bytes.length; chunk++) {
      const part = bytes.slice(chunk * CHUNK_BYTES, (chunk + 1) * CHUNK_BYTES);
      this.#sql.exec("INSERT INTO snapshots VALUES (?, ?, ?)", this.#seq, chunk, part.buffer);
    }
  }

  /** What happened after a row, in order. */
  *after(seq: number): Generator<ReplayRow> {
    type Row = Mark & { id: string; features: ArrayBuffer; previous: number | null; total: number | null };
    const rows = this.#sql.exec<Row & Record<string, SqlStorageValue>>(
      `SELECT seq, id, features, slot, round, NULL AS previous, NULL AS total FROM impressions WHERE seq > ?1
       UNION ALL
       SELECT c.seq, i.id, i.features, i.slot, i.round, c.previous, c.total FROM conversions c JOIN impressions i ON i.id = c.impression
       WHERE c.seq > ?1 AND c.total IS NOT c.previous
       ORDER BY seq`,
      seq,
    );
    for (const { features, previous, total, ...row } of rows) {
      const impression = appendedOf({ ...row, features: new Float64Array(features) });
      yield total === null ? { shown: impression } : { moved: { impression, previous, total } };
    }
  }

  #first(query: string, ...bindings: unknown[]): Record<string, SqlStorageValue> | undefined {
    return this.#sql.exec(query, ...bindings).toArray()[0];
  }
}

function impressionOf(row: Record<string, SqlStorageValue> | undefined): StoredImpression | undefined {
  if (!row) return undefined;
  const stored = row as unknown as Omit<StoredImpression, "features" | "decision"> & { features: ArrayBuffer; decision: string | null };
  return { ...stored, features: new Float64Array(stored.features), decision: stored.decision && JSON.parse(stored.decision) };
}

function appendedOf({ id, features, slot, round }: Mark & Pick<ImpressionRow, "id" | "features">): AppendedImpression {
  return { features, slot, round, now: shownAtOf(id) };
}
