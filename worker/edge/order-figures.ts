// Orders of senders: what their messages add up to, how many there are, and what is wrong with them.

import type { OrderFacts } from "../domain/orders/facts.ts";
import type { OrderRecord } from "../domain/orders/order-record.ts";
import { type Environment, graceMs, horizons } from "../environment.ts";
import type { SenderFigures } from "../protocol/metrics-answer.ts";
import { learner } from "../rpc/learner-client.ts";
import type { CountedOrder, OrderDay } from "../rpc/message.ts";

/** The object that keeps the orders. No model can have its name. */
const OBJECT = "~orders";
/** Fewer orders a day say nothing about the sender. */
const LEAST_ORDERS = 20;
/** Below this share of orders with an impression, the id or the key gets lost on its way. */
const LEAST_SHARE = 0.01;
/** From this share of orders that are ignored, something is wrong with all of them. */
const MOST_IGNORED = 0.1;
const HOUR_MS = 3_600_000;

/** Adds what a message tells to its order. @throws {Problem} 503 if it cannot be stored, so that the sender sends the message again. */
export const takeOrder = (env: Environment, sender: string, facts: OrderFacts, keptUntil: number): Promise<OrderRecord> =>
  learner(env, OBJECT, (stub) => stub.takeOrder(sender, facts, keptUntil));

/** Counts an order that a sender has reported. A failure is logged: it must not make the sender repeat the order. */
export async function countOrder(env: Environment, sender: string, id: string, order: CountedOrder): Promise<void> {
  await learner(env, OBJECT, (stub) => stub.countOrder(sender, id, order)).catch(report);
}

/** Erases orders of a sender: some by their ids, or all. Returns their number. @throws {Problem} 503 */
export function eraseOrders(env: Environment, sender: string, ids: readonly string[] | null): Promise<number> {
  return learner(env, OBJECT, (stub) => stub.eraseOrders(sender, ids));
}

/** How many orders of each sender had an impression, by day, the newest first. */
export async function senderFigures(env: Environment): Promise<SenderFigures[]> {
  const days = (await learner(env, OBJECT, (stub) => stub.orders()).catch(report)) ?? [];
  const bySender = new Map<string, OrderDay[]>(Object.keys(horizons(env)).map((sender) => [sender, []]));
  for (const day of days) bySender.set(day.sender, [...(bySender.get(day.sender) ?? []), day]);
  return Array.from(bySender, ([sender, own]) => {
    const days = Array.from(
      Map.groupBy(own, ({ day }) => day),
      ([day, parts]) => dayOf(day, parts),
    );
    const findings = [...findingsOf(sender, days), ...lateness(env, sender)];
    return { sender, days, finding: findings.length > 0 ? findings.join(". ") : null };
  }).filter(({ days, finding }) => days.length > 0 || finding);
}

type Day = SenderFigures["days"][number];

function dayOf(day: string, parts: readonly OrderDay[]): Day {
  const sum = (of: "orders" | "attributed") => parts.reduce((all, each) => all + each[of], 0);
  const ignored = Object.fromEntries(parts.flatMap(({ reason, orders }) => (reason === null ? [] : [[reason, orders]])));
  return { day, orders: sum("orders"), attributed: sum("attributed"), ...(Object.keys(ignored).length > 0 && { ignored }) };
}

/** The fault of the orders of the newest day that has enough of them. */
function findingsOf(sender: string, days: readonly Day[]): string[] {
  const known = days.find(({ orders }) => orders >= LEAST_ORDERS);
  if (!known) return [];
  const { day, orders, attributed, ignored = {} } = known;
  const findings = Object.entries(ignored).flatMap(([reason, count]) => {
    return count < MOST_IGNORED * orders
      ? []
      : [`${count} of ${orders} orders of ${sender} were ignored on ${day}: ${reason}. See docs/senders.md`];
  });
  if (attributed >= LEAST_SHARE * orders) return findings;
  return [
    ...findings,
    `${attributed} of ${orders} orders of ${sender} had an impression id or a key on ${day}: the page does not ` +
      "copy it into the cart, or the cart not into the order. See docs/senders.md",
  ];
}

/** Whether a sender may deliver an order later than the grace allows. */
function lateness(env: Environment, sender: string): string[] {
  const [grace, horizon] = [graceMs(env), horizons(env)[sender] ?? 0];
  if (grace >= horizon) return [];
  return [
    `${sender} repeats a message for up to ${horizon / HOUR_MS} hours, and the grace ends ${Math.round(grace / 60_000)} minutes after the window: ` +
      `orders that come later do not count. Leave AFTERCLICK_GRACE_MS empty, or set it to ${horizon}`,
  ];
}

function report(error: Error): void {
  console.error("orders of senders", error.name);
}
