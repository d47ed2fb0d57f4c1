// Orders of senders: what their messages tell, and how many there are. One object of no model keeps them, because a message may name
// neither an impression nor a model. Only that object has the tables.

import type { OrderFacts } from "../../domain/orders/facts.ts";
import { type OrderRecord, withFacts } from "../../domain/orders/order-record.ts";
import type { Implemented, OrdersRpc } from "../../rpc/learner.ts";
import type { CountedOrder, OrderDay } from "../../rpc/message.ts";
import type { Parts } from "../parts.ts";

const DAY_MS = 86_400_000;
/** Days that an order is counted, so that its later messages count no second time. */
const DAYS = 14;

export class Orders implements Implemented<OrdersRpc> {
  readonly #storage: DurableObjectStorage;
  #days?: readonly OrderDay[];

  constructor(_: Parts, storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** Messages of one order come one after the other here, so none overwrites what another one tells, as in KV. */
  async takeOrder(sender: string, facts: OrderFacts, keptUntil: number): Promise<OrderRecord> {
    const { sql } = this.#storage;
    return this.#storage.transactionSync(() => {
      this.#open();
      const stored = sql.exec<{ id: string; kept: number; record: string }>(
        `SELECT DISTINCT r.id, r.kept, r.record FROM order_records r JOIN order_names n ON n.sender = r.sender AND n.id = r.id
         WHERE r.sender = ? AND n.name IN (SELECT value FROM json_each(?)) ORDER BY r.id`,
        sender,
        JSON.stringify(facts.names),
      );
      const rows = stored.toArray();
      const record = withFacts(
        sender,
        rows.map((row) => JSON.parse(row.record) as OrderRecord),
        facts,
      );
      const kept = Math.max(keptUntil, ...rows.map((row) => row.kept));
      for (const { id } of rows.slice(1)) sql.exec("DELETE FROM order_records WHERE sender = ? AND id = ?", sender, id);
      sql.exec("INSERT OR REPLACE INTO order_records VALUES (?, ?, ?, ?)", sender, record.id, kept, JSON.stringify(record));
      for (const name of record.facts.names) sql.exec("INSERT OR REPLACE INTO order_names VALUES (?, ?, ?)", sender, name, record.id);
      const gone = sql.exec<{ sender: string; id: string }>("DELETE FROM order_records WHERE kept < ? RETURNING sender, id", Date.now());
      for (const { sender, id } of gone.toArray()) sql.exec("DELETE FROM order_names WHERE sender = ? AND id = ?", sender, id);
      return record;
    });
  }

  async countOrder(sender: string, id: string, { attributed, reason }: CountedOrder): Promise<null> {
    const [today, gone] = [0, DAYS].map((days) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10));
    this.#storage.transactionSync(() => {
      this.#open();
      const insert = `INSERT INTO counted_orders VALUES (?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET attributed = max(attributed, excluded.attributed), reason = excluded.reason`;
      this.#storage.sql.exec(insert, sender, id, today, Number(attributed), reason);
      this.#storage.sql.exec("DELETE FROM counted_orders WHERE day <= ?", gone);
    });
    this.#days = undefined;
    return null;
  }

  async eraseOrders(sender: string, ids: readonly string[] | null): Promise<number> {
    this.#days = undefined;
    return this.#storage.transactionSync(() => {
      this.#open();
      const named = "sender = ?1 AND (?2 IS NULL OR name IN (SELECT value FROM json_each(?2)))";
      const records = `sender = ?1 AND id IN (SELECT id FROM order_names WHERE ${named})`;
      const counted = "sender = ?1 AND (?2 IS NULL OR id IN (SELECT value FROM json_each(?2)))";
      // The names lead to the records, so they go last.
      const erased = [
        ["counted_orders", counted],
        ["order_records", records],
        ["order_names", records],
      ].map(([table, where]) => {
        return this.#storage.sql.exec(`DELETE FROM ${table} WHERE ${where} RETURNING id`, sender, ids && JSON.stringify(ids)).toArray()
          .length;
      });
      return Math.max(...erased.slice(0, 2));
    });
  }

  async orders(): Promise<readonly OrderDay[]> {
    this.#open();
    const query = `SELECT sender, day, reason, count(*) AS orders, sum(attributed) AS attributed FROM counted_orders
      GROUP BY sender, day, reason ORDER BY day DESC, reason`;
    this.#days ??= this.#storage.sql.exec<OrderDay & Record<string, SqlStorageValue>>(query).toArray();
    return this.#days;
  }

  #open(): void {
    this.#storage.sql.exec(`
      CREATE TABLE IF NOT EXISTS counted_orders
        (sender TEXT, id TEXT, day TEXT, attributed INTEGER, reason TEXT, PRIMARY KEY (sender, id)) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS counted_orders_by_day ON counted_orders (day);
      CREATE TABLE IF NOT EXISTS order_records (sender TEXT, id TEXT, kept INTEGER, record TEXT, PRIMARY KEY (sender, id)) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS order_records_by_end ON order_records (kept);
      CREATE TABLE IF NOT EXISTS order_names (sender TEXT, name TEXT, id TEXT, PRIMARY KEY (sender, name)) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS order_names_by_id ON order_names (sender, id)`);
  }
}
