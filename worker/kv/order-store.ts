import type { Order, Refund } from "../domain/conversion/order.ts";
import { KV_WRITE_MS } from "../domain/model/publication.ts";

/** How long a refund waits for its order, in seconds. Senders repeat a message for two days at most. */
const WAITS_S = 7 * 86_400;
/** KV allows no shorter life. */
const LEAST_S = 60;

/** The orders of one sender in KV, for refunds that name an order and not its lines. Join keys are not stored. */
export class OrderStore {
  readonly #kv: KVNamespace;
  readonly #sender: string;

  constructor(kv: KVNamespace, sender: string) {
    this.#kv = kv;
    this.#sender = sender;
  }

  async find(id: string): Promise<Order | undefined> {
    return (await this.#kv.get<Order>(this.#key("order", id), "json")) ?? undefined;
  }

  /** Stores an order for some seconds. Returns the refunds that wait for it. */
  async put({ lines, ...order }: Order, lifeS: number): Promise<Refund[]> {
    const named = lines.map(({ attribution, ...line }) => (attribution && "impressionId" in attribution ? { ...line, attribution } : line));
    await this.#write(this.#key("order", order.id), { ...order, lines: named }, Math.max(Math.ceil(lifeS), LEAST_S));
    const { keys } = await this.#kv.list({ prefix: `${this.#key("refund", order.id)}/` });
    const refunds = await Promise.all(keys.map(({ name }) => this.#kv.get<Refund>(name, "json")));
    return refunds.filter((refund) => refund !== null);
  }

  /** Keeps a refund until its order comes. */
  async wait({ lines, ...refund }: Refund): Promise<void> {
    const named = lines.map(({ attribution: _, ...line }) => line);
    await this.#write(`${this.#key("refund", refund.order)}/${refund.id}`, { ...refund, lines: named }, WAITS_S);
  }

  async #write(key: string, value: object, expirationTtl: number): Promise<void> {
    const write = () => this.#kv.put(key, JSON.stringify(value), { expirationTtl });
    await write().catch(async () => {
      // Two messages of an order may come within a second, and KV takes one write of a key.
      await scheduler.wait(KV_WRITE_MS);
      await write();
    });
  }

  #key(kind: "order" | "refund", id: string): string {
    return `${kind}/${this.#sender}/${id}`;
  }
}
