// SQL of one learner: transactions, the sequence of rows, and counters. It knows no table of a model's contents.

import { type Reports, withReport } from "../../domain/figures/reports.ts";
import type { CounterName, DelayCounter, GoalCounter } from "../../rpc/counters.ts";

/** Arrivals of conversions are kept by quarter of an hour, for four weeks: as long as the alarm remembers their rhythm. */
const SLOT_MS = 900_000;
const SLOTS = 4 * 7 * 96;

/** Among the counters: the number of newest rows that say nothing. */
const IDLE = "idleEnd";

/** Deliveries of a goal, as a learner remembers them. */
interface Heard {
  /** When the last conversion arrived. */
  readonly at: number;
  /** Null if no arrival was a first report. */
  readonly reports: Reports | null;
}

/** The single row of the table `progress`: what nearly every transaction changes. */
export interface Progress {
  /** Number of the last row. */
  readonly seq: number;
  /** Time from showing the newest impression to registering it, in ms. */
  readonly lag: number | null;
  /** By goal. */
  readonly heard: Readonly<Record<string, Heard>>;
  readonly counters: Readonly<Record<string, number>>;
}

/** Changes that a transaction writes at its end, in one row. */
interface Pending {
  seq: number;
  /** Newest rows that say nothing. */
  idle: number;
  lag: number | null;
  /** By goal. */
  readonly heard: Map<string, Heard>;
  readonly counts: Map<string, number>;
}

/** The SQLite database of one learner, with everything that its tables share: transactions, the sequence of rows, and counters. */
export class Database {
  readonly sql: SqlStorage;
  readonly #storage: DurableObjectStorage;
  #pending?: Pending;
  #progress?: Progress;
  /** The last slot that is known to be stored, by goal. */
  readonly #slots = new Map<string, number>();
  readonly #listeners: (() => void)[] = [];

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.sql = storage.sql;
  }

  query<Row extends Record<string, SqlStorageValue>>(query: string, ...bindings: unknown[]): Row[] {
    return this.sql.exec<Row>(query, ...bindings).toArray();
  }

  /** Runs a change of the schema, or of an empty database, as one transaction. */
  atomically(change: () => void): void {
    try {
      this.#storage.transactionSync(change);
    } catch (error) {
      this.dropCaches();
      throw error;
    }
  }

  /** Runs a change as one transaction. If the change throws, nothing has changed. A transaction within another one joins it. */
  transact<T>(change: () => T): T {
    if (this.#pending) return change();
    try {
      return this.#storage.transactionSync(() => {
        const { seq, lag, counters } = this.progress;
        const pending: Pending = { seq, idle: counters[IDLE] ?? 0, lag, heard: new Map(), counts: new Map() };
        this.#pending = pending;
        const result = change();
        for (const [goal, { at }] of pending.heard) this.#keepArrival(goal, Math.floor(at / SLOT_MS));
        this.#write(pending);
        return result;
      });
    } catch (error) {
      this.dropCaches();
      throw error;
    } finally {
      this.#pending = undefined;
    }
  }

  /** Whether a transaction is open. */
  get isChanging(): boolean {
    return this.#pending !== undefined;
  }

  #write({ seq, idle, lag, heard: arrived, counts }: Pending): void {
    const before = this.progress;
    const changed = Array.from(counts).filter(([, delta]) => delta !== 0);
    if (seq === before.seq && lag === before.lag && changed.length === 0) return;
    const heard = arrived.size === 0 ? before.heard : { ...before.heard, ...Object.fromEntries(arrived) };
    const counters = { ...before.counters };
    for (const [name, delta] of changed) counters[name] = (counters[name] ?? 0) + delta;
    if (idle !== (counters[IDLE] ?? 0)) counters[IDLE] = idle;
    const update = "UPDATE progress SET seq = ?, lag = ?, heard = ?, counters = ?";
    this.query(update, seq, lag, JSON.stringify(heard), JSON.stringify(counters));
    this.#progress = { seq, lag, heard, counters };
  }

  /** Calls `listener` whenever a store must drop its cache: after a failed transaction, a reset and a deletion. */
  onDrop(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Drops everything cached, after a change that bypasses the stores. */
  dropCaches(): void {
    this.#progress = undefined;
    this.#slots.clear();
    for (const listener of this.#listeners) listener();
  }

  /** The last transaction's progress. */
  get progress(): Progress {
    if (!this.#progress) {
      const query = "SELECT seq, lag, heard, counters FROM progress";
      const [{ seq, lag, heard, counters }] = this.query<{ seq: number; lag: number | null; heard: string; counters: string }>(query);
      this.#progress = { seq, lag, heard: JSON.parse(heard), counters: JSON.parse(counters) };
    }
    return this.#progress;
  }

  /** Fills the empty table `progress`. */
  beginProgress(): void {
    this.query("INSERT INTO progress VALUES (1, 0, NULL, '{}', '{}')");
    this.#progress = undefined;
  }

  /** Number of the last row, which is the version of the model. */
  get seq(): number {
    return this.#pending?.seq ?? this.progress.seq;
  }

  /** Number of the last row that says something. */
  get changedAt(): number {
    return this.seq - (this.#pending?.idle ?? this.progress.counters[IDLE] ?? 0);
  }

  /** The first of the numbers for new rows. A change without a row takes a number too, because it makes another version of the model. */
  next(rows = 1, { idle = false } = {}): number {
    const current = this.#current;
    current.seq += rows;
    current.idle = idle ? current.idle + rows : 0;
    if (idle) this.count("idleRows", rows);
    return current.seq - rows + 1;
  }

  /** Notes the time from showing the newest impression to registering it, in ms. */
  setLag(ms: number): void {
    this.#current.lag = ms;
  }

  get #current(): Pending {
    if (!this.#pending) throw new Error("expected a transaction");
    return this.#pending;
  }

  /**
   * Notes the arrival of a conversion. `goal`: empty if the model declares no goals. `at`: when it happened, if this is the first report
   * of the goal after its impression.
   */
  noteArrival(goal: string, now: number, at?: number): void {
    const { heard } = this.#current;
    const reports = (heard.get(goal) ?? this.#heard(goal))?.reports ?? null;
    heard.set(goal, { at: now, reports: at === undefined ? reports : withReport(reports, at, now) });
  }

  /** Objects inherit values under some names of goals. */
  #heard(goal: string): Heard | undefined {
    const { heard } = this.progress;
    return Object.hasOwn(heard, goal) ? heard[goal] : undefined;
  }

  #keepArrival(goal: string, slot: number): void {
    if (this.#slots.get(goal) === slot) return;
    this.#slots.set(goal, slot);
    const [known] = this.query("SELECT 1 FROM arrivals WHERE goal = ? AND slot = ?", goal, slot);
    if (known) return;
    this.query("INSERT INTO arrivals VALUES (?, ?)", goal, slot);
    this.query("DELETE FROM arrivals WHERE slot <= ?", slot - SLOTS);
  }

  /**
   * Starts of the quarters of an hour in which conversions arrived, by the learner's clock, in ms since 1970. Without a goal: those of
   * all goals.
   */
  arrivals(goal?: string): number[] {
    const slots = this.query<{ slot: number }>(
      "SELECT DISTINCT slot FROM arrivals WHERE ?1 IS NULL OR goal = ?1 ORDER BY slot",
      goal ?? null,
    );
    return slots.map(({ slot }) => slot * SLOT_MS);
  }

  /** When the last conversion arrived, of a goal or of any; null before the first. */
  lastArrivalAt(goal?: string): number | null {
    if (goal !== undefined) return this.#heard(goal)?.at ?? null;
    const times = Object.values(this.progress.heard).map(({ at }) => at);
    return times.length > 0 ? Math.max(...times) : null;
  }

  /** How late the first reports of a goal come. Empty before the first. */
  reports(goal: string): Reports[] {
    const reports = this.#heard(goal)?.reports;
    return reports ? [reports] : [];
  }

  count(name: CounterName | DelayCounter | GoalCounter, delta = 1): void {
    const { counts } = this.#current;
    counts.set(name, (counts.get(name) ?? 0) + delta);
  }

  /** A counter, with the changes of the current transaction. */
  counted(name: CounterName): number {
    return (this.progress.counters[name] ?? 0) + (this.#pending?.counts.get(name) ?? 0);
  }

  /** All counters, with the changes of the current transaction. */
  counts(): Map<string, number> {
    const counts = new Map(Object.entries(this.progress.counters));
    for (const [name, delta] of this.#pending?.counts ?? []) counts.set(name, (counts.get(name) ?? 0) + delta);
    return counts;
  }

  /** Adds a mark to the log, and returns the number of its row. */
  mark(type: string, content: object): number {
    const seq = this.next();
    this.query("INSERT INTO marks VALUES (?, ?, ?)", seq, type, JSON.stringify(content));
    return seq;
  }
}
