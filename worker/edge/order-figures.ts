import type { Environment } from "../environment.ts";
import type { SenderFigures } from "../protocol/metrics-answer.ts";
import { learner } from "../rpc/learner-client.ts";

/** The object that counts the orders. No model can have its name. */
const OBJECT = "~orders";
/** Fewer orders a day say nothing about the sender. */
const LEAST_ORDERS = 20;
/** Below this share of orders with an impression, the id or the key gets lost on its way. */
const LEAST_SHARE = 0.01;

/** Counts an order that a sender has reported. A failure is logged: it must not make the sender repeat the order. */
export async function countOrder(env: Environment, sender: string, id: string, attributed: boolean): Promise<void> {
  await learner(env, OBJECT, (stub) => stub.countOrder(sender, id, attributed)).catch(report);
}

/** How many orders of each sender had an impression, by day, the newest first. */
export async function senderFigures(env: Environment): Promise<SenderFigures[]> {
  const days = (await learner(env, OBJECT, (stub) => stub.orders()).catch(report)) ?? [];
  const bySender = Map.groupBy(days, ({ sender }) => sender);
  return Array.from(bySender, ([sender, own]) => {
    const known = own.find(({ orders }) => orders >= LEAST_ORDERS);
    const lost = known && known.attributed < LEAST_SHARE * known.orders;
    const finding = lost
      ? `${known.attributed} of ${known.orders} orders of ${sender} had an impression id or a key on ${known.day}: the page does not ` +
        "copy it into the cart, or the cart not into the order. See docs/senders.md"
      : null;
    return { sender, days: own.map(({ day, orders, attributed }) => ({ day, orders, attributed })), finding };
  });
}

function report(error: Error): void {
  console.error("orders of senders", error.name);
}
