import * as v from "valibot";
import { Problem, unauthorised } from "../../protocol/problem.ts";
import { timestamp } from "../../protocol/schema.ts";
import { type Attribute, amount, attributed, currency, fieldsOf, id, type Reading, type Sale, type Sender } from "./sender.ts";
import { bytesOf, isSigned } from "./signature.ts";

/** Names of the line item property and of the cart attribute that carry an impression id. */
const NAMES = ["_afterclick", "afterclick"];

const attributes = v.nullish(v.array(v.object({ name: v.string(), value: v.unknown() })), []);
const line = v.object({
  ...{ id, price: amount, quantity: v.number(), properties: attributes },
  discount_allocations: v.nullish(v.array(v.object({ amount })), []),
});
const refund = v.object({
  created_at: timestamp,
  refund_line_items: v.array(
    v.object({
      ...{ id, subtotal: amount, line_item: line },
      subtotal_set: v.nullish(v.object({ shop_money: v.object({ currency_code: currency }) })),
    }),
  ),
});
const order = v.object({
  ...{ id, currency, created_at: timestamp, cancelled_at: v.nullish(timestamp), note_attributes: attributes, line_items: v.array(line) },
  refunds: v.nullish(v.array(refund), []),
});
type Line = v.InferOutput<typeof line>;
type Refund = v.InferOutput<typeof refund>;

/** Sales of each topic. Lines and refund lines have their own ids, so two topics that report one count it once. */
const TOPICS: Readonly<Record<string, (payload: unknown, attribute: Attribute) => Sale[]>> = {
  "orders/create": orderSales,
  "orders/paid": orderSales,
  "orders/cancelled": cancellation,
  "refunds/create": (payload, attribute) => refundSales(fieldsOf(refund, payload), payload, attribute),
};

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
      return { type, sales: Object.hasOwn(TOPICS, type) ? TOPICS[type](payload, attribute) : [] };
    },
  };
}

function orderSales(payload: unknown, attribute: Attribute): Sale[] {
  const { created_at: at, currency, line_items, note_attributes } = fieldsOf(order, payload);
  const ofCart = impressionIdOf(note_attributes);
  return attributed(
    line_items.map((line, place) => ({
      attribution: attribute(impressionIdOf(line.properties) ?? ofCart, payload, rawAt(payload, "line_items", place)),
      event: `shopify line ${line.id}`,
      ...{ at, currency, reward: netOf(line) },
    })),
  );
}

/** The refunds of a cancelled order, and whatever they left of its lines. */
function cancellation(payload: unknown, attribute: Attribute): Sale[] {
  const { cancelled_at: at, refunds, line_items, currency, note_attributes } = fieldsOf(order, payload);
  // The signature does not cover the topic.
  if (!at) throw new Problem(422, "cancelled_at: expected the time of the cancellation, as the topic is orders/cancelled");
  const ofCart = impressionIdOf(note_attributes);
  const refunded = (line: Line): number => {
    const own = refunds.flatMap(({ refund_line_items }) => refund_line_items).filter(({ line_item }) => line_item.id === line.id);
    return own.reduce((sum, { subtotal }) => sum + subtotal, 0);
  };
  const left = line_items.map((line, place) => ({
    attribution: attribute(impressionIdOf(line.properties) ?? ofCart, payload, rawAt(payload, "line_items", place)),
    event: `shopify cancel ${line.id}`,
    ...{ at, currency, reward: rounded(refunded(line) - netOf(line)) },
  }));
  const back = refunds.flatMap((each) => refundSales(each, payload, attribute, ofCart));
  return [...back, ...attributed(left).filter(({ reward }) => reward < 0)];
}

function refundSales({ created_at: at, refund_line_items }: Refund, payload: unknown, attribute: Attribute, ofCart?: string): Sale[] {
  return attributed(
    refund_line_items.map(({ id, subtotal, subtotal_set, line_item }) => ({
      attribution: attribute(impressionIdOf(line_item.properties) ?? ofCart, payload, line_item),
      event: `shopify refund ${id}`,
      ...{ at, reward: rounded(-subtotal) },
      ...(subtotal_set && { currency: subtotal_set.shop_money.currency_code }),
    })),
  );
}

/** Price of a line after its discounts. */
function netOf({ price, quantity, discount_allocations }: Line): number {
  return rounded(price * quantity - discount_allocations.reduce((sum, { amount }) => sum + amount, 0));
}

/** Removes the error of a product of decimal fractions. */
const rounded = (amount: number): number => Math.round(amount * 1e6) / 1e6;

function impressionIdOf(attributes: readonly { readonly name: string; readonly value?: unknown }[]): string | undefined {
  const value = attributes.find(({ name }) => NAMES.includes(name))?.value;
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A line as Shopify sent it, in which an action may have any place. */
const rawAt = (payload: unknown, list: string, place: number): unknown => (payload as Readonly<Record<string, unknown[]>>)[list][place];
