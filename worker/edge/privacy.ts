// The requests about personal data that Shopify sends to every app: https://shopify.dev/docs/apps/build/compliance/privacy-law-compliance.

import * as v from "valibot";
import { valueAt } from "../domain/conversion/json-path.ts";
import type { Environment } from "../environment.ts";
import { about, count } from "../protocol/figures.ts";
import { keyRefusal } from "../protocol/join-key.ts";
import { Problem } from "../protocol/problem.ts";
import { parsed } from "../protocol/validation.ts";
import { learner } from "../rpc/learner-client.ts";
import { hashedKeys } from "./hashed-keys.ts";
import { eraseOrders } from "./order-figures.ts";
import type { HookQuery } from "./senders/hook-query.ts";

const id = v.union([v.string(), v.number()]);
const shop = { shop_domain: v.string() };
const customer = v.nullish(v.object({ id: v.nullish(id), email: v.nullish(v.string()), phone: v.nullish(v.string()) }));
/** The topic of a message is not signed. No order has the fields of a request, so none can be taken for one. */
const requests = {
  "customers/redact": v.object({ ...shop, customer, orders_to_redact: v.array(id) }),
  "customers/data_request": v.object({ ...shop, customer, orders_requested: v.array(id), data_request: v.object({ id }) }),
  "shop/redact": v.object({ ...shop, shop_id: id, customer: v.optional(v.never()) }),
};
type Topic = keyof typeof requests;

export const privacyAnswer = () =>
  v.strictObject({
    request: about(v.picklist(Object.keys(requests) as Topic[]), "The topic of the message."),
    erased: about(v.strictObject({ impressions: count, orders: count }), "What was erased, before this answer."),
    left: about(v.nullable(v.string()), "What the shop has to do itself. Null if nothing is left."),
  });
export type PrivacyAnswer = v.InferOutput<ReturnType<typeof privacyAnswer>>;

/**
 * Does what a verified request about personal data asks for: erases a customer's impressions and orders, or the orders of a shop.
 *
 * @param options the model and the path of its key, as the hook's address names them.
 * @returns undefined if the message is no such request. @throws {Problem} 400 if its payload is none, and 503 if something is not erased.
 */
export async function takePrivacyRequest(
  env: Environment,
  sender: string,
  { topic, payload, options: { model, key: path } }: { readonly topic: string; readonly payload: unknown; readonly options: HookQuery },
): Promise<PrivacyAnswer | undefined> {
  if (sender !== "shopify" || !Object.hasOwn(requests, topic)) return undefined;
  const request = topic as Topic;
  const read = parsed(requests[request], payload);
  const nothing = { impressions: 0, orders: 0 };
  if (request === "shop/redact") {
    const left = model
      ? `the model ${model} knows no shops: erase all of it by DELETE /v1/models/${model}/archive and DELETE /v1/models/${model}`
      : null;
    return { request, erased: { ...nothing, orders: await eraseOrders(env, sender, null) }, left };
  }
  if ("data_request" in read) {
    const left = `read all that is stored under each key of the customer by GET /v1/models/${model ?? "MODEL"}/keys/KEY`;
    return { request, erased: nothing, left };
  }
  const { customer, orders_to_redact } = read as v.InferOutput<(typeof requests)["customers/redact"]>;
  const orders = orders_to_redact.map(String);
  // Which of them are keys depends on what the shop gave with its recommendations.
  const named = [path && valueAt(path, payload), customer?.id, customer?.email, customer?.phone, ...orders];
  const keys = named.map((each) => String(each ?? "")).filter((key) => keyRefusal(key) === undefined);
  const impressions = model ? await erased(env, model, Array.from(new Set(keys))) : 0;
  return { request, erased: { impressions, orders: await eraseOrders(env, sender, orders) }, left: null };
}

/** Erases the impressions of some keys. Returns their number. A model that is deleted has none. */
async function erased(env: Environment, model: string, keys: readonly string[]): Promise<number> {
  const { backend, page } = hashedKeys(env, model, keys, true);
  const erase = learner(env, model, (stub) => stub.eraseKey([...backend, ...page].flat()));
  return erase.catch((error) => {
    if (error instanceof Problem && error.status === 404) return 0;
    throw error;
  });
}
