// Orders of WooCommerce as facts. Each message has the whole order, as the REST API states it.

import * as v from "valibot";
import { valueAt } from "../../domain/conversion/json-path.ts";
import { rounded } from "../../domain/orders/line-amounts.ts";
import { WOOCOMMERCE_EVENTS, WOOCOMMERCE_STATES } from "../../domain/orders/vendor-events.ts";
import {
  amount,
  currency,
  fieldsOf,
  id,
  idsIn,
  linesOf,
  listIn,
  type OrderMessage,
  type Reading,
  type Sender,
  type Terms,
  toldBy,
  unknownState,
} from "./sender.ts";
import { senderTime } from "./sender-time.ts";
import { checkSigned } from "./signature.ts";

/** The fields that end in gmt state UTC without a zone. */
const time = senderTime({ zone: "UTC" });
const order = v.object({ id, currency, date_created_gmt: time, date_modified_gmt: v.nullish(time) });
const line = v.object({ id, total: amount, total_tax: v.nullish(amount, 0) });
const refund = v.object({ total: amount });
const DELETED = "order.deleted";

/** WooCommerce: https://woocommerce.github.io/woocommerce-rest-api-docs/#webhooks. Shipping and fees do not count. */
export function woocommerce(secrets: readonly string[]): Sender {
  return {
    verify: (request) => checkSigned("x-wc-webhook-signature", "AFTERCLICK_WOOCOMMERCE_SECRET", secrets, request),
    read(payload, terms): Reading {
      // The signature does not cover the topic, so a message without one is read by its content.
      const type = terms.headers.get("x-wc-webhook-topic") ?? "order";
      if (type !== "order" && !Object.hasOwn(WOOCOMMERCE_EVENTS, type)) return { type };
      if (type === DELETED) return { type, told: toldBy(() => deletion(payload, terms)) };
      const [status, paidAt] = [valueAt("status", payload), valueAt("date_paid_gmt", payload)];
      const state = WOOCOMMERCE_STATES[String(status).replace(/^wc-/, "")] ?? (paidAt ? "paid" : undefined);
      const ofOrder = idsIn(payload, "meta_data", "key");
      const lines = listIn(payload, "line_items").map((raw, place) => {
        return { raw, place, attribution: terms.attribute([...idsIn(raw, "meta_data", "key"), ...ofOrder], payload, raw) };
      });
      const common = { type, orderId: valueAt("id", payload), isOrder: true, isOurs: lines.some(({ attribution }) => attribution) };
      if (!state) return { ...common, told: unknownState("status", status) };
      const told = toldBy(() => {
        const { id: name, currency, date_created_gmt: boughtAt, date_modified_gmt } = fieldsOf(order, payload);
        const at = date_modified_gmt ?? boughtAt;
        let whole = 0;
        const read = linesOf(
          lines,
          (raw) => fieldsOf(v.object({ id }), raw).id,
          (raw) => {
            const { total, total_tax } = fieldsOf(line, raw);
            whole += total + total_tax;
            return { boughtAt, amount: rounded(terms.gross ? total + total_tax : total) };
          },
        );
        const refunded = listIn(payload, "refunds").reduce((sum: number, raw) => sum + Math.abs(fieldsOf(refund, raw).total), 0);
        const renews = valueAt("created_via", payload) === "subscription" || valueAt("meta_data[key=_subscription_renewal]", payload);
        const facts = {
          ...(renews ? { renewal: true } : {}),
          ...{ names: [name], currency: { at, is: currency }, state: { at, is: state }, lines: { at, is: read.lines } },
          // A refund states the total with taxes, which bear their share of it.
          ...{ paid: { at, is: rounded(whole) }, refunded: { at, is: rounded(refunded) } },
        };
        return { facts, lines: read.own };
      });
      return { ...common, told };
    },
  };
}

/** The message of a deletion has the id alone, so the time of its arrival counts. */
function deletion(payload: unknown, { now }: Terms): OrderMessage {
  const { id: name } = fieldsOf(v.object({ id }), payload);
  return { facts: { names: [name], state: { at: now, is: "cancelled" } }, lines: [] };
}
