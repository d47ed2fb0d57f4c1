import { env } from "cloudflare:workers";
import { createHmac } from "node:crypto";
import { expect } from "vitest";
import { call, type Reply } from "./client.ts";
import { seconds } from "./sent.ts";

// Messages in the form that vendors give them.

let events = 0;
export const event = (type: string, object: object, more: object = {}) => ({
  ...{ id: `evt_${++events}`, object: "event", api_version: "2026-09-30.clover", created: seconds(), livemode: true, type },
  data: { object: { currency: "eur", ...object } },
  ...more,
});
export const intent = (object: object) =>
  event("payment_intent.succeeded", { id: "pi_1", object: "payment_intent", status: "succeeded", ...object });
export const ignored = (reason: string | RegExp) => ({ status: 200, body: { reason: expect.stringMatching(reason) } });
export const text = (at: number) => new Date(at).toISOString();

export function woocommerce(topic: string, payload: object, { env: bindings = {} } = {}): Promise<Reply> {
  const body = JSON.stringify(payload);
  const signature = createHmac("sha256", env.AFTERCLICK_WOOCOMMERCE_SECRET as string)
    .update(body)
    .digest("base64");
  const headers = { "x-wc-webhook-topic": topic, "x-wc-webhook-signature": signature };
  return call("POST", "/v1/hooks/woocommerce", body, { key: null, headers, env: bindings });
}

/** An order as WooCommerce's REST API states it, with the fields that matter and some that do not. */
export const stockOrder = (id: string, more: object = {}) => ({
  ...{
    id: 727,
    parent_id: 0,
    number: "727",
    order_key: "wc_order_58d2d042d1d",
    created_via: "checkout",
    version: "10.3.0",
    status: "processing",
  },
  ...{ currency: "EUR", date_created: text(Date.now()).slice(0, 19), date_created_gmt: text(Date.now()).slice(0, 19) },
  ...{
    date_modified_gmt: text(Date.now()).slice(0, 19),
    discount_total: "0.00",
    shipping_total: "10.00",
    total: "58.00",
    total_tax: "8.00",
  },
  ...{ prices_include_tax: false, customer_id: 0, date_paid_gmt: null, meta_data: [{ id: 13106, key: "_other", value: { nested: true } }] },
  line_items: [
    {
      ...{ id: 315, name: "Boots", product_id: 93, variation_id: 0, quantity: 1, subtotal: "40.00", total: "40.00", total_tax: "8.00" },
      ...{ taxes: [{ id: 75, total: "8", subtotal: "8" }], sku: "", price: 40, meta_data: [{ id: 2095, key: "_afterclick", value: id }] },
    },
  ],
  ...{ tax_lines: [], shipping_lines: [], fee_lines: [], coupon_lines: [], refunds: [] },
  ...more,
});
export const FORM = { "content-type": "application/x-www-form-urlencoded" };
export const modified = (seconds: number) => ({ date_modified_gmt: text(Date.now() + 1000 * seconds).slice(0, 19) });
