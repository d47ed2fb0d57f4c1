// Orders and refunds of Shopify as facts.

import * as v from "valibot";
import { valueAt } from "../../domain/conversion/json-path.ts";
import type { OrderFacts, Refund, Stated } from "../../domain/orders/facts.ts";
import { rounded } from "../../domain/orders/line-amounts.ts";
import { SHOPIFY_EVENTS, SHOPIFY_STATES, STANDS } from "../../domain/orders/vendor-events.ts";
import { Problem, placed } from "../../protocol/problem.ts";
import { timestamp } from "../../protocol/timestamp.ts";
import {
  amount,
  currency,
  fieldsOf,
  id,
  idsIn,
  linesOf,
  listIn,
  type RawLine,
  type Reading,
  type Sender,
  TEST_MODE,
  type Terms,
  toldBy,
  unknownState,
} from "./sender.ts";
import { checkSigned } from "./signature.ts";

const TOPICS = Object.keys(SHOPIFY_EVENTS);
const CANCELLED = "orders/cancelled";

const order = v.object({
  ...{ id, currency, created_at: timestamp, taxes_included: v.nullish(v.boolean(), false) },
  ...{ updated_at: v.nullish(timestamp), cancelled_at: v.nullish(timestamp) },
  ...{ total_price: v.nullish(amount), total_outstanding: v.nullish(amount) },
});
const line = v.object({
  ...{ id, price: amount, quantity: v.number(), current_quantity: v.nullish(v.number()) },
  discount_allocations: v.nullish(v.array(v.object({ amount })), []),
  tax_lines: v.nullish(v.array(v.object({ price: amount })), []),
});
const stated = v.array(v.object({ kind: v.nullish(v.string()), status: v.nullish(v.string()), amount }));
const refund = v.object({
  ...{ id, created_at: timestamp, order_adjustments: v.nullish(stated, []), transactions: v.nullish(stated, []) },
  refund_line_items: v.nullish(
    v.array(v.object({ quantity: v.nullish(v.number(), 0), subtotal: amount, line_item: v.object({ id }) })),
    [],
  ),
});
const dispute = v.object({ id, order_id: id, amount, type: v.nullish(v.string()), status: v.string(), initiated_at: v.nullish(timestamp) });

/** Shopify: https://shopify.dev/docs/apps/build/webhooks. Amounts are in the shop's currency. */
export function shopify(secrets: readonly string[]): Sender {
  return {
    verify: (request) => checkSigned("x-shopify-hmac-sha256", "AFTERCLICK_SHOPIFY_SECRET", secrets, request),
    read(payload, terms): Reading {
      const type = terms.headers.get("x-shopify-topic") ?? "";
      const form = Object.hasOwn(SHOPIFY_EVENTS, type) ? SHOPIFY_EVENTS[type].form : undefined;
      if (form === "order") return orderReading(type, payload, terms);
      if (form === "refund") {
        const orderId = valueAt("order_id", payload);
        return { type, orderId, isOurs: isOurs(payload, terms), told: toldBy(() => ({ facts: refundFacts(payload), lines: [] })) };
      }
      if (form === "dispute") return { type, told: toldBy(() => ({ facts: disputeFacts(payload, terms), lines: [] })) };
      return { type };
    },
  };
}

/** An order and its refunds so far. */
function orderReading(type: string, payload: unknown, terms: Terms): Reading {
  const ofCart = idsIn(payload, "note_attributes", "name");
  const lines = listIn(payload, "line_items").map((raw, place): RawLine => {
    return { raw, place, attribution: terms.attribute([...idsIn(raw, "properties", "name"), ...ofCart], payload, raw) };
  });
  const common = { type, orderId: valueAt("id", payload), isOrder: true, isOurs: lines.some(({ attribution }) => attribution) };
  if (lines.length === 0) return common;
  if (valueAt("test", payload) === true && !terms.tests) return { ...common, told: TEST_MODE };
  const status = valueAt("financial_status", payload) ?? "paid";
  const state = Object.hasOwn(SHOPIFY_STATES, String(status)) ? SHOPIFY_STATES[String(status)] : undefined;
  if (!state) return { ...common, told: unknownState("financial_status", status) };
  const told = toldBy(() => {
    const { id: name, currency, created_at: boughtAt, updated_at, cancelled_at, ...own } = fieldsOf(order, payload);
    // The signature does not cover the topic.
    if (type === CANCELLED && !cancelled_at) {
      throw new Problem(422, `cancelled_at: expected the time of the cancellation, as the topic is ${CANCELLED}`);
    }
    // Several topics report one revision, and orders without a revision are told apart by their topic.
    const at = (updated_at ?? boughtAt) + TOPICS.indexOf(type);
    const refunds = listIn(payload, "refunds").map((raw, place) => placed(`refunds.${place}`, () => fieldsOf(refund, raw)));
    const refundedOf = (line: string) =>
      refunds
        .flatMap(({ refund_line_items }) => refund_line_items.filter(({ line_item }) => line_item.id === line))
        .reduce((sum, { quantity }) => sum + quantity, 0);
    const read = linesOf(
      lines,
      (raw, place) => placed(`line_items.${place}`, () => fieldsOf(v.object({ id }), raw).id),
      (raw, place) => {
        const item = placed(`line_items.${place}`, () => fieldsOf(line, raw));
        return { boughtAt, ...lineOf(item, refundedOf(item.id), { gross: terms.gross, included: own.taxes_included }) };
      },
    );
    const sum = read.lines.reduce((all, { amount = 0 }) => all + amount, 0);
    const { total_price: total, total_outstanding: open } = own;
    const paid = state === "part" && total && open ? rounded((sum * Math.max(total - open, 0)) / total) : null;
    const facts = {
      ...(valueAt("source_name", payload) === "subscription_contract" && { renewal: true }),
      ...{ names: [name], currency: { at, is: currency }, state: { at, is: cancelled_at ? ("cancelled" as const) : state } },
      ...{ lines: { at, is: read.lines }, paid: { at, is: paid } },
      refunds: Object.fromEntries(refunds.map((each) => [each.id, refundOf(each)])),
    };
    return { facts, lines: read.own };
  });
  return { ...common, told };
}

/** A line after its discounts. Units that were removed by an edit, and not by a refund, do not count. */
function lineOf(
  { price, quantity, current_quantity, discount_allocations, tax_lines }: v.InferOutput<typeof line>,
  refunded: number,
  { gross, included }: { readonly gross: boolean; readonly included: boolean },
) {
  const stated = price * quantity - sumOf(discount_allocations);
  const taxes = tax_lines.reduce((sum, { price }) => sum + price, 0);
  const whole = stated + (included ? (gross ? 0 : -taxes) : gross ? taxes : 0);
  const removed = Math.max(quantity - (current_quantity ?? quantity) - refunded, 0);
  const amount = quantity > 0 ? rounded((whole * (quantity - removed)) / quantity) : 0;
  // A refund states its lines as prices do, with or without taxes.
  return { amount, ...(stated > 0 && whole !== stated && { scale: whole / stated }) };
}

/** Whether a line of a refund has an impression. */
function isOurs(payload: unknown, { attribute }: Terms): boolean {
  return listIn(payload, "refund_line_items").some((each) => {
    const item = (each as { readonly line_item?: unknown } | null)?.line_item;
    return attribute(idsIn(item, "properties", "name"), payload, item);
  });
}

/** A refund alone. */
function refundFacts(payload: unknown): OrderFacts {
  const { order_id: name } = fieldsOf(v.object({ order_id: id }), payload);
  const own = fieldsOf(refund, payload);
  return { names: [name], refunds: { [own.id]: refundOf(own) } };
}

function refundOf({
  created_at: at,
  refund_line_items: items,
  order_adjustments,
  transactions,
}: v.InferOutput<typeof refund>): Stated<Refund> {
  const differences = order_adjustments.filter(({ kind }) => kind === "refund_discrepancy");
  const paid = transactions.filter(({ kind, status }) => kind === "refund" && (status ?? "success") === "success");
  // Without lines and adjustments, the payments alone state the amount.
  const rest = items.length + order_adjustments.length === 0 ? sumOf(paid) : -sumOf(differences);
  const subtotal = items.reduce((sum, item) => sum + item.subtotal, 0);
  // Less than the lines' amounts may have been paid back.
  const share = rest < 0 && subtotal > 0 ? Math.max(subtotal + rest, 0) / subtotal : 1;
  const lines = items.map(({ subtotal, line_item }) => ({ line: line_item.id, amount: rounded(subtotal * share) }));
  return { at, is: { lines, rest: rounded(Math.max(rest, 0)), madeAt: at, stands: true } };
}

/** A dispute. Shopify states no time of its change, so the time of its arrival counts. */
function disputeFacts(payload: unknown, { now }: Terms): OrderFacts {
  const { id: own, order_id: name, amount, type, status, initiated_at } = fieldsOf(dispute, payload);
  const stands = type !== "inquiry" && (STANDS.dispute[status] ?? true);
  return {
    names: [name],
    refunds: { [`dispute ${own}`]: { at: now, is: { lines: [], rest: amount, madeAt: initiated_at ?? now, stands } } },
  };
}

const sumOf = (amounts: readonly { readonly amount: number }[]): number => amounts.reduce((sum, { amount }) => sum + amount, 0);
