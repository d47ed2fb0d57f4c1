// The storage of a Durable Object: SQLite whose writes can be lost with the isolate.

import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import type { Isolate } from "./isolate.ts";

type Row = Record<string, SqlStorageValue>;

/** The storage of a Durable Object. It outlives the isolates that run the object. */
export class Disk {
  /** Time of the alarm, ms since 1970. */
  alarm: number | null = null;
  readonly #database = new DatabaseSync(":memory:");
  readonly #statements = new Map<string, { readonly statement: StatementSync; readonly names: readonly string[] }>();
  #committedAlarm: number | null = null;

  exec(query: string, bindings: readonly SqlStorageValue[]): Row[] {
    if (/;\s*\S/.test(query)) {
      if (bindings.length > 0) throw new TypeError("bindings: expected none with several statements");
      this.#database.exec(query);
      return [];
    }
    const { statement, names } = this.#prepared(query);
    const rows = statement.all(...bindings.map(bound)) as unknown as unknown[][];
    return rows.map((row) => rowOf(names, row));
  }

  #prepared(query: string) {
    let prepared = this.#statements.get(query);
    if (!prepared) {
      const statement = this.#database.prepare(query);
      statement.setReturnArrays(true);
      prepared = { statement, names: statement.columns().map(({ name }) => name) };
      this.#statements.set(query, prepared);
    }
    return prepared;
  }

  /** Opens a transaction if none is open. */
  begin(): void {
    if (this.#database.isTransaction) return;
    this.#database.exec("BEGIN");
    this.#committedAlarm = this.alarm;
    // As in workerd, writes without waiting in between are committed together in the next turn of the event loop.
    setImmediate(() => this.commit());
  }

  commit(): void {
    if (this.#database.isOpen && this.#database.isTransaction) this.#database.exec("COMMIT");
  }

  /** Reverts to the last commit, as after a crash. */
  rollback(): void {
    if (!this.#database.isOpen || !this.#database.isTransaction) return;
    this.#database.exec("ROLLBACK");
    this.alarm = this.#committedAlarm;
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }
}

function bound(value: SqlStorageValue): SQLInputValue {
  if (value === null || typeof value === "string" || typeof value === "number") return value;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (ArrayBuffer.isView(value)) return value;
  throw new TypeError(`bindings: expected null, a string, a number or bytes, got ${typeof value}`);
}

/** Copies bytes to their own buffer. */
function rowOf(names: readonly string[], values: readonly unknown[]): Row {
  const row: Row = {};
  names.forEach((name, i) => {
    const value = values[i];
    row[name] = value instanceof Uint8Array ? value.slice().buffer : (value as SqlStorageValue);
  });
  return row;
}

class Cursor implements Iterable<Row> {
  readonly #rows: readonly Row[];
  #next = 0;

  constructor(rows: readonly Row[]) {
    this.#rows = rows;
  }

  *[Symbol.iterator](): Generator<Row> {
    while (this.#next < this.#rows.length) yield this.#rows[this.#next++];
  }

  toArray(): Row[] {
    return Array.from(this);
  }

  one(): Row {
    const rows = this.toArray();
    if (rows.length !== 1) throw new Error(`Expected exactly one result from SQL query, but got ${rows.length}.`);
    return rows[0];
  }
}

/** A disk as an isolate's code sees it. Each access is an effect at which the isolate may die. @param pause waits for the disk. */
export function durableStorage(disk: Disk, isolate: Isolate, pause = async () => {}): DurableObjectStorage {
  const exec = (query: string, ...bindings: SqlStorageValue[]): Cursor => {
    const [verb] = query.trim().split(/\s/, 1);
    isolate.effect(`sql ${verb}`);
    if (verb !== "SELECT" && verb !== "PRAGMA") disk.begin();
    return new Cursor(disk.exec(query, bindings));
  };
  const sizeOf = (pragma: string): number => Number(Object.values(disk.exec(`PRAGMA ${pragma}`, [])[0])[0]);
  const storage = {
    // Only a learner that could not start writes there.
    kv: { get: () => undefined, put: () => {}, delete: () => true },
    sql: {
      exec,
      get databaseSize() {
        return sizeOf("page_count") * sizeOf("page_size");
      },
    },
    transactionSync: <T>(change: () => T): T => transaction(disk, isolate, change),
    async setAlarm(time: number | Date) {
      isolate.effect("setAlarm");
      disk.begin();
      disk.alarm = Number(time);
    },
    async getAlarm() {
      isolate.effect("getAlarm");
      return disk.alarm;
    },
    async deleteAlarm() {
      isolate.effect("deleteAlarm");
      disk.begin();
      disk.alarm = null;
    },
    async sync() {
      await isolate.outside("sync", async () => {
        await pause();
        disk.commit();
      });
    },
    async deleteAll() {
      isolate.effect("deleteAll");
      disk.begin();
      for (const { type, name } of disk.exec("SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'", [])) {
        if (type !== "index") disk.exec(`DROP ${type} IF EXISTS "${name}"`, []);
      }
      disk.alarm = null;
    },
  };
  return storage as unknown as DurableObjectStorage;
}

let depth = 0;

function transaction<T>(disk: Disk, isolate: Isolate, change: () => T): T {
  isolate.effect("transaction");
  disk.begin();
  const { alarm } = disk;
  const savepoint = `savepoint_${++depth}`;
  disk.exec(`SAVEPOINT ${savepoint}`, []);
  try {
    const result = change();
    if (result instanceof Promise) throw new TypeError("transactionSync: expected a function that does not wait");
    isolate.effect("transaction end");
    disk.exec(`RELEASE ${savepoint}`, []);
    return result;
  } catch (error) {
    // After a crash nothing is left to revert.
    if (isolate.alive) {
      disk.exec(`ROLLBACK TO ${savepoint}`, []);
      disk.exec(`RELEASE ${savepoint}`, []);
      disk.alarm = alarm;
    }
    throw error;
  } finally {
    depth--;
  }
}
