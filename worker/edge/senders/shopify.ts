// Orders and refunds of Shopify as sales.

import * as v from "valibot";
import { valueAt } from "../../domain/conversion/json-path.ts";
import { dividedRefund, type Order, type Refund } from "../../domain/conversion/order.ts";
import { Problem, placed, unauthorised } from "../../protocol/problem.ts";
import { timestamp } from "../../protocol/timestamp.ts";
import { type Attribute, amount, currency, fieldsOf, id, type Reading, refundSales, revisedAt, type Sale, type Sender } from "./sender.ts";
import { bytesOf, isSigned } from "./signature.ts";

/** Names of the line item property and of the cart attribute that carry an impression id. */
const NAMES = ["_afterclick", "afterclick"];

/** Topics of an order, in the order of its life. */
const ORDER_TOPICS = ["orders/create", "orders/paid", "orders/edited", "orders/updated"];
const CANCELLED = "orders/cancelled";

const order = v.object({
  ...{ id, currency, created_at: timestamp },
  ...{ updated_at: v.nullish(timestamp), cancelled_at: v.nullish(timestamp) },
});
const line = v.object({
  ...{ id, price: amount, quantity: v.number() },
  discount_allocations: v.nullish(v.array(v.object({ amount })), []),
});
const stated = v.array(v.object({ kind: v.nullish(v.string()), status: v.nullish(v.string()), amount }));
const refund = v.object({
  ...{ id, created_at: timestamp, order_adjustments: v.nullish(stated, []), transactions: v.nullish(stated, []) },
  refund_line_items: v.array(
    v.object({
      ...{ id, subtotal: amount, line_item: v.object({ id }) },
      subtotal_set: v.nullish(v.object({ shop_money: v.object({ currency_code: currency }) })),
    }),
  ),
});

/** Shopify: https://shopify.dev/docs/apps/build/webhooks. Amounts are in the shop's currency. */
export function shopify(secrets: readonly string[]): Sender {
  return {
    async verify({ headers, body }) {
      const signature = bytesOf(headers.get("x-shopify-hmac-sha256") ?? "", "base64");
      if (signature.length !== 32) throw unauthorised("x-shopify-hmac-sha256: expected the base64 of 32 bytes");
      if (await isSigned(await body(), [signature], secrets)) return;
      throw unauthorised("x-shopify-hmac-sha256: no value of AFTERCLICK_SHOPIFY_SECRET made it from the raw body");
    },
    read(payload, headers, attribute): Reading {
      const type = headers.get("x-shopify-topic") ?? "";
      if (type === CANCELLED || ORDER_TOPICS.includes(type)) {
        return { type, orderId: valueAt("id", payload), ...orderReading(type, payload, attribute) };
      }
      return { type, sales: [], ...(type === "refunds/create" && refundReading(payload, attribute)) };
    },
  };
}

/** The sales of an order and of its refunds so far. A cancellation takes back whatever the refunds have left. */
function orderReading(topic: string, payload: unknown, attribute: Attribute): Pick<Reading, "sales" | "order"> {
  const ofCart = idsIn(payload, "note_attributes");
  const lines = listIn(payload, "line_items").map((raw, place) => {
    return { raw, place, attribution: attribute([...idsIn(raw, "properties"), ...ofCart], payload, raw) };
  });
  if (lines.every(({ attribution }) => !attribution)) return { sales: [] };
  const { id, currency, created_at, updated_at, cancelled_at } = fieldsOf(order, payload);
  // The signature does not cover the topic.
  if (topic === CANCELLED && !cancelled_at)
    throw new Problem(422, `cancelled_at: expected the time of the cancellation, as the topic is ${CANCELLED}`);
  const known: Order = {
    ...{ id, currency },
    lines: lines.map(({ raw, place, attribution }) => {
      // Only the lines with an impression have to be whole.
      if (!attribution && !v.is(line, raw)) return { id: "", amount: 0 };
      const own = placed(`line_items.${place}`, () => fieldsOf(line, raw));
      return { id: own.id, amount: netOf(own), attribution };
    }),
  };
  const refunds = listIn(payload, "refunds").map((raw, place) =>
    placed(`refunds.${place}`, () => refundOf(raw, { id, currency, payload, attribute })),
  );
  const at = revisedAt(created_at, Math.max(updated_at ?? created_at, created_at + 1000 * ORDER_TOPICS.indexOf(topic)));
  const bought = topic === CANCELLED ? [] : known.lines.map((each) => saleOf(each, { event: `shopify line ${each.id}`, at, currency }));
  const paidBack = refunds.flatMap((each) => dividedRefund(each, known));
  const left = known.lines.map(({ id, amount, attribution }) => {
    const back = paidBack.reduce((sum, { line, amount }) => (line === id ? sum + amount : sum), 0);
    return saleOf({ amount: Math.min(back - amount, 0), attribution }, { event: `shopify cancel ${id}`, at: cancelled_at ?? 0, currency });
  });
  const sales = [
    ...bought.flat(),
    ...refunds.flatMap((each) => refundSales("shopify", each, known)),
    ...(cancelled_at ? left.flat().filter(({ reward }) => reward < 0) : []),
  ];
  return { order: known, sales };
}

/** The sale of a line, if it has an impression. */
function saleOf(
  { amount, attribution }: Pick<Order["lines"][number], "amount" | "attribution">,
  sale: Omit<Sale, "reward" | "attribution">,
): Sale[] {
  return attribution ? [{ ...sale, attribution, reward: rounded(amount) }] : [];
}

/** A refund alone. It repeats the lines that it names, and not those of its order. */
function refundReading(payload: unknown, attribute: Attribute): Pick<Reading, "refund"> {
  const orderId = v.safeParse(v.object({ order_id: id }), payload);
  const isOurs = listIn(payload, "refund_line_items").some((each) => refundAttribution(each, payload, attribute));
  const ofOrder = orderId.success ? orderId.output.order_id : "";
  return { refund: { order: ofOrder, isOurs, read: () => refundOf(payload, { id: ofOrder, payload, attribute }) } };
}

interface Refunding {
  /** Id of the order. */
  readonly id: string;
  readonly currency?: string;
  readonly payload: unknown;
  readonly attribute: Attribute;
}

function refundOf(raw: unknown, { id: order, currency, payload, attribute }: Refunding): Refund {
  const { id, created_at: at, refund_line_items: items, order_adjustments, transactions } = fieldsOf(refund, raw);
  const rawItems = listIn(raw, "refund_line_items");
  const lines = items.map(({ id, subtotal, line_item }, place) => {
    return { id, line: line_item.id, amount: subtotal, attribution: refundAttribution(rawItems[place], payload, attribute) };
  });
  const differences = order_adjustments.filter(({ kind }) => kind === "refund_discrepancy");
  const paid = transactions.filter(({ kind, status }) => kind === "refund" && (status ?? "success") === "success");
  // Without lines and adjustments, the payments alone state the amount.
  const rest = items.length + order_adjustments.length === 0 ? sumOf(paid) : -sumOf(differences);
  const own = items.find(({ subtotal_set }) => subtotal_set)?.subtotal_set?.shop_money.currency_code;
  return { id, order, at, currency: own ?? currency, lines, rest: rounded(rest) };
}

function refundAttribution(item: unknown, payload: unknown, attribute: Attribute): ReturnType<Attribute> {
  const { line_item } = (item ?? {}) as { readonly line_item?: unknown };
  return attribute(idsIn(line_item, "properties"), payload, line_item);
}

/** Price of a line after its discounts. */
function netOf({ price, quantity, discount_allocations }: v.InferOutput<typeof line>): number {
  return rounded(price * quantity - sumOf(discount_allocations));
}

const sumOf = (amounts: readonly { readonly amount: number }[]): number => amounts.reduce((sum, { amount }) => sum + amount, 0);

/** Removes the error of a product of decimal fractions. */
const rounded = (amount: number): number => Math.round(amount * 1e6) / 1e6;

/** The values of the attributes of a list that may carry an impression id. */
function idsIn(value: unknown, list: string): unknown[] {
  const attributes = listIn(value, list) as readonly { readonly name?: unknown; readonly value?: unknown }[];
  return NAMES.flatMap((name) => attributes.filter((each) => each?.name === name).map(({ value }) => value));
}

/** The list in a field as Shopify sent it, in which a key may have any place. */
function listIn(value: unknown, name: string): readonly unknown[] {
  const list = (value as Readonly<Record<string, unknown>> | null | undefined)?.[name];
  return Array.isArray(list) ? list : [];
}
