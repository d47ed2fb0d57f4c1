// `POST /v1/hooks/:sender`: messages of Stripe, Shopify, WooCommerce and others, as conversions of the impressions in their orders.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import { valueAt } from "../../domain/conversion/json-path.ts";
import type { TokenSigner } from "../../domain/ids/token.ts";
import { bucketMs } from "../../domain/impression/bucket.ts";
import type { OrderRecord } from "../../domain/orders/order-record.ts";
import { countsTests, type Environment, graceMs, isGross } from "../../environment.ts";
import { conversions as answer } from "../../protocol/answers.ts";
import { exactJson } from "../../protocol/exact-json.ts";
import { about } from "../../protocol/figures.ts";
import { isNobody } from "../../protocol/join-key.ts";
import { type Operations, withBody } from "../../protocol/operation.ts";
import { Problem } from "../../protocol/problem.ts";
import { bodyBy, valid } from "../../protocol/validation.ts";
import { forgeryLimit, type Signed } from "../access/rate-limit.ts";
import { countOrder, takeOrder } from "../order-figures.ts";
import { type PrivacyAnswer, privacyAnswer, takePrivacyRequest } from "../privacy.ts";
import { type HookQuery, hookQuery } from "../senders/hook-query.ts";
import type { Attribute, Attribution, Ignored, OrderMessage, Reading, ReadLine } from "../senders/sender.ts";
import { senderOf } from "../senders/sender-of.ts";
import { tokenSigner } from "../token-signer.ts";
import { type ConversionResult, ingestNamed } from "./conversions.ts";

/** Most lines of an order that have an impression, as of a webhook. */
const MOST_LINES = 500;

/** Most characters of an impression id. */
const MOST_ID = 2048;

const DEFAULT_GOAL = "purchase";

/** The unsigned message with which WooCommerce tries an address out. */
const PING = /^webhook_id=\d{1,20}$/;
const DAY_MS = 86_400_000;
/** How long an order without an impression is kept, in case a later message names one. Senders repeat a message for three days at most. */
const WAITS_MS = 7 * DAY_MS;
/** The fields of a conversion by which the model or the worker refuses it. Anything else is a malformed line. */
const FIELD = /^(key|action|currency|goal|reward|timestamp|renewal): (.*)$/s;
/** The reason of an order without an amount, which is in order. */
const WAITS = "waits";
/** The longest window of a model. Only the learner knows the window of a key. */
const LONGEST_MS = 366 * DAY_MS;

/** The payload of a sender, in the sender's own form. */
const hookBody = () => v.looseObject({});

const ignored = () =>
  v.strictObject({
    ignored: about(v.string(), "Type of the message, as its sender names it."),
    reason: v.optional(about(v.string(), "Why it is ignored. Absent if the message reports no order of an impression.")),
  });

export const hooks = new Hono<Signed>().post("/v1/hooks/:sender", forgeryLimit, valid("query", hookQuery), async (c) => {
  const taken = await takeHook(c, c.req.param("sender"), c.req.valid("query"));
  return "conversions" in taken ? c.json(taken, 202) : c.json(taken, 200);
});

/** The answer to a message of a sender: a result for each amount, or the type of a message that changes none, and why. */
type Hooked = { readonly conversions: ConversionResult[] } | { readonly ignored: string; readonly reason?: string } | PrivacyAnswer;

/**
 * Verifies a message of a sender and takes it. What sending the message again cannot mend is ignored with its reason, because a sender
 * switches an address off that refuses its messages.
 *
 * @throws {Problem} 404 without such a sender, 401 if the signature is wrong, 400 if the body is no message, and 503 if the order cannot be
 * stored. Then the sender sends the message again.
 */
async function takeHook(c: Context<Signed>, name: string, query: HookQuery): Promise<Hooked> {
  const { env, req } = c;
  const sender = senderOf(env, name);
  const { headers } = req.raw;
  const now = Date.now();
  const body = () => bodyBy(() => req.arrayBuffer());
  // No message of an order is a form.
  const isForm = headers.get("content-type")?.startsWith("application/x-www-form-urlencoded");
  if (isForm && PING.test(new TextDecoder().decode(await body()))) return { ignored: "ping" };
  await sender.verify({ headers, body, now });
  c.set("verified", true);
  const { goal = DEFAULT_GOAL, ...options } = { ...query, ...sender.options };
  const attribute = attributionBy(options, tokenSigner(env));
  const terms = { headers, attribute, gross: isGross(env), tests: countsTests(env), now };
  const payload = payloadOf(await req.text());
  const request = await takePrivacyRequest(env, name, { topic: headers.get("x-shopify-topic") ?? "", payload, options });
  if (request) return request;
  const reading = sender.read(payload, terms);
  const { conversions = [], ignored } = await taken(env, name, reading, goal);
  const { type, isOurs = false } = reading;
  const reason = ignored && ignored.reason !== WAITS ? ignored.reason : null;
  if (reason ? isOurs : reading.isOrder) {
    // An order that is malformed may lack its id.
    const id = textOf(reading.orderId) ?? (reason ? "?" : undefined);
    const attributed = isOurs || conversions.length > 0;
    if (id) c.executionCtx.waitUntil(countOrder(env, name, id, { attributed, reason }));
  }
  if (conversions.length > 0) return { conversions };
  console.info(JSON.stringify({ sender: name, ignored: type, ...(reason && { reason }) }));
  return { ignored: type, ...(ignored && { reason: `${ignored.reason}: ${ignored.detail}` }) };
}

/** What became of a message: a result for each amount of its order, and why some or all of it was ignored. */
interface Taken {
  readonly conversions?: ConversionResult[];
  readonly ignored?: Ignored;
}

/** Adds a message to its order, and takes the order's amounts as conversions. */
async function taken(env: Environment, sender: string, { told, isOurs }: Reading, goal: string): Promise<Taken> {
  if (!told) return {};
  if ("reason" in told) return { ignored: told };
  const { length } = told.lines;
  if (length > MOST_LINES) {
    return { ignored: { reason: "too many lines", detail: `expected at most ${MOST_LINES} lines with an impression, got ${length}` } };
  }
  const order = await takeOrder(env, sender, told.facts, keptUntil(env, told));
  const results = await ingestNamed(env, salesOf(order, told.lines, goal));
  const conversions = [...results, ...told.lines.flatMap(({ attribution, detail }) => (detail ? refusedLine(attribution, detail) : []))];
  const refused = conversions.filter(({ status }) => status === "refused");
  if (refused.length > 0) {
    const [{ detail: text = "" }] = refused;
    const [, reason = "malformed", detail = text] = FIELD.exec(text) ?? [];
    const ignored = { reason, detail };
    return { ignored, ...(refused.length < conversions.length && { conversions }) };
  }
  const state = order.facts.state?.is;
  if (conversions.length > 0 || (state && !isOurs)) return { conversions };
  return { ignored: { reason: WAITS, detail: `the order is ${state ?? "not known yet"}, and has no amount` } };
}

const refusedLine = (attribution: Attribution, detail: string): ConversionResult => ({
  ...("impressionId" in attribution ? attribution : { key: attribution.key }),
  ...{ status: "refused", detail },
});

function payloadOf(text: string): unknown {
  let payload: unknown;
  try {
    payload = exactJson(text);
  } catch {
    throw new Problem(400, "the body is not JSON");
  }
  if (typeof payload === "object" && payload !== null) return payload;
  throw new Problem(400, "the body is no JSON object");
}

/** How long an order is kept, in ms since 1970: until its impressions take no conversions any more. */
function keptUntil(env: Environment, { lines }: OrderMessage): number {
  const now = Date.now();
  const ends = lines.map(({ attribution }) => {
    if (!("impressionId" in attribution)) return now + LONGEST_MS;
    const token = tokenSigner(env).verify(attribution.impressionId, now);
    return token ? token.windowEndsAt + bucketMs(LONGEST_MS) : 0;
  });
  return graceMs(env) + Math.max(now + WAITS_MS, ...ends);
}

/** The amounts of an order as named conversions. Those of a line that a key attributes need the key in the message. */
function salesOf({ facts, told }: OrderRecord, lines: readonly ReadLine[], goal: string): Parameters<typeof ingestNamed>[1] {
  const keys = new Map(lines.map(({ id, attribution }) => [id, attribution]));
  const { renewal } = facts;
  const currency = facts.currency?.is;
  return told.flatMap(({ event, line, impressionId, at, amount }) => {
    const attribution = impressionId ? { impressionId } : keys.get(line);
    if (!attribution) return [];
    const outcome = { goal, event, reward: amount, at, ...(currency && { currency }), ...(renewal && { renewal }) };
    return [{ item: { ...attribution, goal, timestamp: at, reward: amount, ...(currency && { currency }) }, outcome }];
  });
}

/** @throws {Problem} 422 if only one of model and key is given. */
function attributionBy({ model, key: path, action: actionPath }: HookQuery, signer: TokenSigner): Attribute {
  if ((model === undefined) !== (path === undefined)) throw new Problem(422, "expected both of model and key, or none");
  return (impressionIds, document, line) => {
    const ids = impressionIds.flatMap((id) => (typeof id === "string" ? (textOf(id, MOST_ID) ?? []) : []));
    const impressionId = ids.find((id) => signer.verify(id, Date.now()));
    if (impressionId) return { impressionId };
    // A key that is nobody's is refused with its reason, as at every door.
    const key = model && path && String(valueAt(path, document, line) ?? "");
    // Without a key, an id that is cut or of another worker gets the status `unknown`.
    if (!key) return ids.length > 0 ? { impressionId: ids[0] } : undefined;
    const action = actionPath && textOf(valueAt(actionPath, document, line));
    return { model, key, byPage: false, ...(action && { action }) };
  };
}

/** A text or number of at most so many characters that names something. */
function textOf(value: unknown, most = 256): string | undefined {
  const text = typeof value === "string" || typeof value === "number" ? String(value).trim() : "";
  // The number 0 is nobody's key, but may be an order's id.
  const isMissing = isNobody(text) && typeof value !== "number";
  return text.length <= most && !isMissing ? text : undefined;
}

export const operations = (): Operations => ({
  "POST /v1/hooks/:sender": {
    id: "takeHook",
    summary: "Report orders, as Stripe, Shopify, WooCommerce or another sender does",
    description:
      "The payload is the sender's own, with its own signature. An impression id in it, or a key if the query has model and key, attributes each line. Whatever sending a message again cannot mend is ignored, with its reason.",
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
      200: {
        description: "A message that changes no amount of an impression, and why.",
        schema: { Ignored: v.union([ignored(), privacyAnswer()]) },
      },
      202: {
        description: "Stored durably. One result for each amount of the order: of its lines, and of their refunds.",
        schema: { Conversions: answer },
      },
    },
    problems: [...withBody, 401, 404, 422, 429, 503],
  },
});
