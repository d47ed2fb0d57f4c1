import type { Implemented, OrdersRpc } from "../../rpc/learner.ts";
import type { OrderDay } from "../../rpc/message.ts";
import type { Parts } from "../parts.ts";

const DAY_MS = 86_400_000;
/** Days that an order is remembered, so that its later messages count no second time. */
const DAYS = 14;

/**
 * Counts the orders that senders report. One object of no model does, because an order without an impression id names no model. Only
 * that object has the table.
 */
export class Orders implements Implemented<OrdersRpc> {
  readonly #storage: DurableObjectStorage;
  #days?: readonly OrderDay[];

  constructor(_: Parts, storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  async countOrder(sender: string, id: string, attributed: boolean): Promise<null> {
    const [today, gone] = [0, DAYS].map((days) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10));
    this.#storage.transactionSync(() => {
      this.#open();
      const insert = "INSERT INTO orders VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET attributed = max(attributed, excluded.attributed)";
      this.#storage.sql.exec(insert, sender, id, today, Number(attributed));
      this.#storage.sql.exec("DELETE FROM orders WHERE day <= ?", gone);
    });
    this.#days = undefined;
    return null;
  }

  async orders(): Promise<readonly OrderDay[]> {
    this.#open();
    const query =
      "SELECT sender, day, count(*) AS orders, sum(attributed) AS attributed FROM orders GROUP BY sender, day ORDER BY day DESC";
    this.#days ??= this.#storage.sql.exec<OrderDay & Record<string, SqlStorageValue>>(query).toArray();
    return this.#days;
  }

  #open(): void {
    this.#storage.sql.exec(`
      CREATE TABLE IF NOT EXISTS orders (sender TEXT, id TEXT, day TEXT, attributed INTEGER, PRIMARY KEY (sender, id)) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS orders_by_day ON orders (day)`);
  }
}
