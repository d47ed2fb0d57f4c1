// `POST /v1/hooks/:sender`: messages of Stripe, Shopify and others, as conversions of the impressions in their orders.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import { valueAt } from "../../domain/conversion/json-path.ts";
import type { Order, Refund } from "../../domain/conversion/order.ts";
import type { TokenSigner } from "../../domain/ids/token.ts";
import { type Environment, graceMs } from "../../environment.ts";
import { OrderStore } from "../../kv/order-store.ts";
import { conversions as answer } from "../../protocol/answers.ts";
import { exactJson } from "../../protocol/exact-json.ts";
import { about } from "../../protocol/figures.ts";
import { type Operations, withBody } from "../../protocol/operation.ts";
import { Problem } from "../../protocol/problem.ts";
import { bodyBy, valid } from "../../protocol/validation.ts";
import { forgeryLimit, type Signed } from "../access/rate-limit.ts";
import { countOrder } from "../order-figures.ts";
import { type HookQuery, hookQuery } from "../senders/hook-query.ts";
import { type Attribute, type Reading, type RefundMessage, refundSales, type Sale } from "../senders/sender.ts";
import { senderOf } from "../senders/sender-of.ts";
import { tokenSigner } from "../token-signer.ts";
import { type ConversionResult, ingestNamed } from "./conversions.ts";

/** Most sales of one payload, as of a webhook. */
const MOST_SALES = 500;

/** Most characters of an impression id. */
const MOST_ID = 2048;

const DEFAULT_GOAL = "purchase";

/** Texts that programs write for a missing value. */
const MISSING = /^(undefined|null|none|nan|\[object \w+\])?$/i;

/** The payload of a sender, in the sender's own form. */
const hookBody = () => v.looseObject({});

const ignored = () => v.strictObject({ ignored: about(v.string(), "Type of the message, as its sender names it.") });

export const hooks = new Hono<Signed>().post("/v1/hooks/:sender", forgeryLimit, valid("query", hookQuery), async (c) => {
  const taken = await takeHook(c, c.req.param("sender"), c.req.valid("query"));
  return "ignored" in taken ? c.json(taken, 200) : c.json(taken, 202);
});

/** The answer to a message of a sender: a result for each sale, or the type of a message that reports none. */
type Hooked = { readonly conversions: ConversionResult[] } | { readonly ignored: string };

/**
 * Verifies a message of a sender and takes its sales as conversions.
 *
 * @throws {Problem} 404 without such a sender, 401 if the signature is wrong, 400 and 422 if the payload is, 422 if all sales are refused,
 * and 503 if KV, which relates refunds to their orders, fails. The sales of the message are taken nevertheless.
 */
async function takeHook(c: Context<Signed>, name: string, query: HookQuery): Promise<Hooked> {
  const { env, req } = c;
  const sender = senderOf(env, name);
  const { headers } = req.raw;
  await sender.verify({ headers, body: () => bodyBy(() => req.arrayBuffer()), now: Date.now() });
  c.set("verified", true);
  const { goal = DEFAULT_GOAL, ...options } = { ...query, ...sender.options };
  const signer = tokenSigner(env);
  const reading = sender.read(payloadOf(await req.text()), headers, attributionBy(options, signer));
  const refunds = await refundsOf(env, name, reading, signer);
  const sales = [...reading.sales, ...(refunds ?? [])];
  if (sales.length > MOST_SALES) throw new Problem(422, `expected at most ${MOST_SALES} lines with an impression, got ${sales.length}`);
  const orderId = textOf(reading.orderId);
  // A message that is refused comes again.
  const count = () => orderId && c.executionCtx.waitUntil(countOrder(env, name, orderId, sales.length > 0 || reading.order !== undefined));
  if (sales.length === 0 && refunds) {
    count();
    console.info(JSON.stringify({ sender: name, ignored: reading.type }));
    return { ignored: reading.type };
  }
  const conversions = await ingestNamed(
    env,
    sales.map((sale) => namedConversion(goal, sale)),
  );
  const [first] = conversions;
  if (first && conversions.every(({ status }) => status === "refused")) throw new Problem(422, first.detail ?? "all sales were refused");
  count();
  if (!refunds) throw new Problem(503, "KV cannot relate the order and its refunds: send the message again");
  return { conversions };
}

function payloadOf(text: string): unknown {
  try {
    return exactJson(text);
  } catch {
    throw new Problem(400, "the body is not JSON");
  }
}

/** The sales of refunds that do not repeat the lines of their order, whichever of the two comes first. Undefined if KV fails. */
async function refundsOf(env: Environment, name: string, { order, refund }: Reading, signer: TokenSigner): Promise<Sale[] | undefined> {
  const orders = new OrderStore(env.EVENTS, name);
  try {
    if (order) {
      const openMs = openUntil(order, signer) + graceMs(env) - Date.now();
      const waiting = openMs > 0 ? await orders.put(order, openMs / 1000) : [];
      return waiting.flatMap((each) => refundSales(name, each, order));
    }
    return refund ? await refundOf(name, orders, refund) : [];
  } catch (error) {
    if (error instanceof Problem) throw error;
    console.error("orders in KV", error instanceof Error ? error.name : typeof error);
    return undefined;
  }
}

/**
 * The sales of a refund. It is kept before its order is looked up, and an order before its refunds. So if both come at once, one finds the
 * other.
 */
async function refundOf(name: string, orders: OrderStore, message: RefundMessage): Promise<Sale[]> {
  let refund: Refund;
  try {
    refund = message.read();
  } catch (error) {
    // Most unknown orders have no impression, and then the message does not matter.
    if (message.isOurs || !(error instanceof Problem) || (await orders.find(message.order))) throw error;
    return [];
  }
  await orders.wait(refund);
  return refundSales(name, refund, await orders.find(message.order));
}

/** When the last window of an order's impressions ends, in ms since 1970. 0 if no line has an impression id. */
function openUntil({ lines }: Order, signer: TokenSigner): number {
  const ends = lines.map(({ attribution }) => {
    const token = attribution && "impressionId" in attribution ? signer.verify(attribution.impressionId, Date.now()) : undefined;
    return token?.windowEndsAt ?? 0;
  });
  return Math.max(0, ...ends);
}

function namedConversion(goal: string, { attribution, event, at, reward, currency }: Sale) {
  const item = { ...attribution, goal, timestamp: at, reward, ...(currency && { currency }) };
  return { item, outcome: { goal, event, reward, at, ...(currency && { currency }) } };
}

/** @throws {Problem} 422 if only one of model and key is given. */
function attributionBy({ model, key: path, action: actionPath }: HookQuery, signer: TokenSigner): Attribute {
  if ((model === undefined) !== (path === undefined)) throw new Problem(422, "expected both of model and key, or none");
  return (impressionIds, document, line) => {
    const ids = impressionIds.flatMap((id) => (typeof id === "string" ? (textOf(id, MOST_ID) ?? []) : []));
    const impressionId = ids.find((id) => signer.verify(id, Date.now()));
    if (impressionId) return { impressionId };
    const key = model && path && textOf(valueAt(path, document, line));
    // Without a key, an id that is cut or of another worker gets the status `unknown`.
    if (!key) return ids.length > 0 ? { impressionId: ids[0] } : undefined;
    const action = actionPath && textOf(valueAt(actionPath, document, line));
    return { model, key, byPage: false, ...(action && { action }) };
  };
}

/** A text or number of at most so many characters that names something. */
function textOf(value: unknown, most = 256): string | undefined {
  const text = typeof value === "string" || typeof value === "number" ? String(value).trim() : "";
  return text.length <= most && !MISSING.test(text) ? text : undefined;
}

export const operations = (): Operations => ({
  "POST /v1/hooks/:sender": {
    id: "takeHook",
    summary: "Report orders, as Stripe, Shopify or another sender does",
    description:
      "The payload is the sender's own, with its own signature. An impression id in it, or a key if the query has model and key, attributes each line. Messages of other types are ignored.",
    key: "sender",
    query: hookQuery,
    body: { HookBody: hookBody() },
    examples: ({ now, impressionId }) => {
      const metadata = { afterclick_1: `${impressionId} 100` };
      const object = { id: "pi_3PgafmB7WZ01zgkW6dKueIc5", object: "payment_intent", amount_received: 100, currency: "eur", metadata };
      const message = { id: "evt_3PgafmB7WZ01zgkW6YfdG1nj", object: "event", created: Math.floor(now / 1000) };
      return {
        stripeOrder: { ...message, type: "payment_intent.succeeded", data: { object } },
        stripeOther: { ...message, type: "customer.created", data: { object: { id: "cus_1" } } },
      };
    },
    answers: {
      200: { description: "A message without a sale of an impression.", schema: { Ignored: ignored() } },
      202: { description: "Stored durably. One result for each sale.", schema: { Conversions: answer } },
    },
    problems: [...withBody, 401, 404, 422, 429, 503],
  },
});
