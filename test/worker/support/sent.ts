import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { createHmac } from "node:crypto";
import { call, createModel, type Reply, show } from "./client.ts";
import { MINUTE_MS, tick } from "./clock.ts";
import { stripeSigned } from "./stripe-payloads.ts";

// Signed messages of senders, and what an order's impressions have brought.

export const goals = { purchase: { weight: 1, value: { currency: "EUR" } } };
export const rewardOf = async (id: string) => (await call("GET", `/v1/impressions/${id}`)).body.reward;
export const seconds = () => Math.floor(Date.now() / 1000);

export async function stripe(message: object, { changed = "", at = Date.now(), query = "" } = {}): Promise<Reply> {
  const body = JSON.stringify(message);
  const headers = await stripeSigned(body, undefined, at);
  return call("POST", `/v1/hooks/stripe${query}`, body + changed, { key: null, headers });
}

/** @param payload an object, or the text of one. */
export function shopify(topic: string, payload: object | string, { changed = "", query = "", env: bindings = {} } = {}): Promise<Reply> {
  const body = typeof payload === "string" ? payload : JSON.stringify(payload);
  const signature = createHmac("sha256", env.AFTERCLICK_SHOPIFY_SECRET as string)
    .update(body)
    .digest("base64");
  const headers = { "x-shopify-topic": topic, "x-shopify-hmac-sha256": signature };
  return call("POST", `/v1/hooks/shopify${query}`, body + changed, { key: null, headers, env: bindings });
}

/** Forgets the orders of earlier tests, so that each may use the same ids. */
export async function forgetOrders(): Promise<void> {
  await runInDurableObject(env.LEARNER.get(env.LEARNER.idFromName("~orders")), (_, { storage }) => {
    for (const table of ["order_records", "order_names"]) storage.sql.exec(`DROP TABLE IF EXISTS ${table}`);
  });
}

export async function shown(count: number): Promise<{ model: string; ids: string[] }> {
  await forgetOrders();
  const model = await createModel({ goals });
  const ids = await show(model, ...Array.from({ length: count }, () => ({})));
  tick(MINUTE_MS);
  return { model, ids };
}

export const metadataOf = (ids: readonly string[], amounts: readonly number[]) =>
  Object.fromEntries(ids.map((id, place) => [`afterclick_${place + 1}`, `${id} ${amounts[place]}`]));
export const session = (object: object) => ({
  ...{ type: "checkout.session.completed", created: seconds() },
  data: { object: { id: "cs_1", payment_status: "paid", currency: "eur", client_reference_id: null, ...object } },
});
export const refund = (object: object, before: number) => ({
  ...{ type: "charge.refunded", created: seconds() },
  data: { object: { currency: "eur", ...object }, previous_attributes: { amount_refunded: before } },
});

/** Sends a message of a configured sender with hexadecimal signatures in x-signature. */
export function sent(name: string, sender: { readonly secret: string }, payload: object | string): Promise<Reply> {
  const body = typeof payload === "string" ? payload : JSON.stringify(payload);
  const signature = createHmac("sha256", sender.secret).update(body).digest("hex");
  const AFTERCLICK_SENDERS = JSON.stringify({ [name]: { header: "x-signature", ...sender } });
  return call("POST", `/v1/hooks/${name}`, body, { key: null, headers: { "x-signature": signature }, env: { AFTERCLICK_SENDERS } });
}
