// `POST /v1/conversions`: each event is verified, noted in KV and given to its learner. The 202 says what became of it.

import { Hono } from "hono";
import { createMiddleware } from "hono/factory";
import * as v from "valibot";
import type { ConversionEvent, GoalEvent, KeyedEvent } from "../../domain/conversion/event.ts";
import { rangeRefusal } from "../../domain/conversion/refusal.ts";
import { roundedReward } from "../../domain/conversion/reward.ts";
import { KeyHasher } from "../../domain/ids/key-hasher.ts";
import { shardName } from "../../domain/ids/shard.ts";
import { CLOCK_TOLERANCE_MS, type TokenContent } from "../../domain/ids/token.ts";
import { shownAtOf } from "../../domain/ids/uuid.ts";
import { closesAt } from "../../domain/impression/bucket.ts";
import { leftOut } from "../../domain/impression/sampling.ts";
import { type Environment, graceMs, secret } from "../../environment.ts";
import { EventJournal } from "../../kv/event-journal.ts";
import { conversions as answer } from "../../protocol/answers.ts";
import {
  actionId,
  choice,
  currency,
  fields,
  finite,
  goal,
  isObject,
  list,
  listOr,
  modelName,
  strictObject,
  text,
} from "../../protocol/forms.ts";
import { keyRefusal } from "../../protocol/join-key.ts";
import { type Operations, withBody } from "../../protocol/operation.ts";
import { plainId } from "../../protocol/plain-id.ts";
import { Problem, unauthorised } from "../../protocol/problem.ts";
import { shortened } from "../../protocol/shortened.ts";
import { timestamp } from "../../protocol/timestamp.ts";
import { bodyBy, valid } from "../../protocol/validation.ts";
import { learner } from "../../rpc/learner-client.ts";
import type { Ingested } from "../../rpc/message.ts";
import { forgeryLimit, type Signed } from "../access/rate-limit.ts";
import { tokenSigner } from "../token-signer.ts";
import { verifyWebhook } from "../webhook.ts";

const item = { goal: v.optional(goal, "conversion"), timestamp: v.optional(timestamp) };
const byImpression = { ...item, impressionId: text(2048) };
/**
 * `byPage`: a page has reported it to the sender, and its key is one that the page gave. A key that nobody can have refuses its item alone,
 * so that a batch does not lose the others.
 */
const byKey = { ...item, model: modelName, key: v.string(), action: v.optional(actionId), byPage: v.optional(v.boolean(), false) };

/** A conversion that names its impression, or a join key of the impression. */
const conversionItem = <Entries extends v.ObjectEntries>(entries: Entries) => {
  const [ofImpression, ofKey] = [strictObject({ ...byImpression, ...entries }), strictObject({ ...byKey, ...entries })];
  return choice([ofImpression, ofKey], (input): typeof ofImpression | typeof ofKey => {
    return isObject(input) && "key" in input ? ofKey : ofImpression;
  });
};
const rewarded = conversionItem({ reward: finite, currency: v.optional(currency) });
const retracted = conversionItem({});
type ConversionItem = v.InferOutput<typeof rewarded> | v.InferOutput<typeof retracted>;

const oneOrMany = <Item extends v.GenericSchema>(schema: Item) => listOr(v.pipe(list(schema, 500), v.minLength(1)), schema);

const conversionsBody = v.variant("type", [
  fields({ type: v.picklist(["conversion", "conversion.updated"]), timestamp, data: oneOrMany(rewarded) }),
  fields({ type: v.literal("conversion.retracted"), timestamp, data: oneOrMany(retracted) }),
]);

type ConversionsBody = v.InferOutput<typeof conversionsBody>;

/** Accepts a signed webhook, and notes the name of its event. @throws {Problem} 401 */
const signed = createMiddleware<Signed & { Variables: { event: string } }>(async (c, next) => {
  const webhookSecret = secret(c.env, "AFTERCLICK_WEBHOOK_SECRET");
  c.set("event", await verifyWebhook(webhookSecret, c.req.raw.headers, () => bodyBy(() => c.req.arrayBuffer()), Date.now()));
  c.set("verified", true);
  await next();
});

export const conversions = new Hono().post("/v1/conversions", forgeryLimit, signed, valid("json", conversionsBody), async (c) => {
  return c.json({ conversions: await ingestConversions(c.env, c.get("event"), c.req.valid("json")) }, 202);
});

/**
 * Takes the conversions of one verified webhook.
 *
 * @param name id of the webhook. It names a single event; a batch's events are named by it and their place.
 * @throws {Problem} as `ingestNamed` does. For a single conversion also 401 if its impression id is forged, and 422 if its reward or time
 * is refused.
 */
async function ingestConversions(env: Environment, name: string, { data, timestamp, type }: ConversionsBody): Promise<ConversionResult[]> {
  const batch = Array.isArray(data);
  const items: readonly ConversionItem[] = Array.isArray(data) ? data : [data];
  const named = items.map((item, place) => {
    return { item, outcome: outcomeOf(item, item.timestamp ?? timestamp, batch ? `${name} ${place}` : name, type) };
  });
  const results = await ingestNamed(env, named, !batch);
  const [first] = results;
  if (!batch && first.status === "refused") throw new Problem(422, first.detail ?? "the conversion was refused");
  return results;
}

function outcomeOf(item: ConversionItem, at: number, event: string, type: ConversionsBody["type"]): GoalEvent {
  const { goal } = item;
  if (!("reward" in item)) return { goal, event, reward: null, at };
  const { reward, currency } = item;
  return { goal, event, reward, at, ...(currency && { currency }), ...(type === "conversion.updated" && { restates: true }) };
}

const CONFLICT = "an event of this name came before with another reward or time; the later time counts. Give each event a name of its own";

/** Result of a conversion: the learner's, or `accepted` if only KV took it. */
type Result = Pick<Ingested, "detail"> & { readonly status: Ingested["status"] | "accepted" };

/** The reward that was sent and the one that counts, if they differ. */
interface Rounding {
  readonly rounded?: { readonly from: number; readonly to: number };
}

export type ConversionResult = Result & Rounding & ({ readonly impressionId: string } | { readonly key: string });

interface Delivery {
  /** Name of the model or of one of its shards. */
  readonly learner: string;
  readonly event: ConversionEvent | KeyedEvent;
  /** Absent for a keyed event, because only the learner can attribute it. */
  readonly journal?: EventJournal;
  /** KV lists an event for the closing of its bucket if KV has it by this time. */
  readonly journalUntil: number;
}

/** Most characters of a key that an answer repeats. No key that is taken has more. */
const MOST_KEY = 256;

/** A list of KV may be a minute old. An event that only KV has must be there this long before its bucket closes. */
const LIST_LAG_MS = 120_000;

const FORGED =
  "data.impressionId: expected an id that this worker gave, unchanged; this one is cut, altered, of another worker, or older than a change " +
  "of AFTERCLICK_TOKEN_KEY";

/** A conversion with the name of its event. */
interface NamedConversion {
  readonly item: ConversionItem;
  readonly outcome: GoalEvent;
}

/**
 * Takes verified conversions into KV and the learner. Returns one result for each.
 *
 * @param single whether a forged impression id is an error, instead of a status.
 * @throws {Problem} 401 for that error. 503 if neither store took an item. When the conversions are sent again, the taken ones are duplicates.
 */
export async function ingestNamed(env: Environment, named: readonly NamedConversion[], single = false): Promise<ConversionResult[]> {
  const signer = tokenSigner(env);
  const now = Date.now();
  const results = new Array<Result>(named.length);
  const deliveries = new Map<number, Delivery>();
  await Promise.all(
    named.map(async ({ item, outcome }, place) => {
      const token = "key" in item ? null : signer.verify(item.impressionId, now);
      const left = token && leftOut(token);
      const refusal =
        untimely(token, outcome.at, now) ?? rangeRefusal(outcome.reward) ?? ("key" in item ? refusedKey(item.key) : undefined);
      if (token === undefined) results[place] = { status: "unknown" };
      else if (left) results[place] = left;
      else if (refusal) results[place] = { status: "refused", detail: refusal };
      else if (token) deliveries.set(place, ofImpression(env, token, outcome));
      else if ("key" in item) deliveries.set(place, ofKey(env, item, outcome));
    }),
  );
  if (single && results[0]?.status === "unknown") throw unauthorised(FORGED);
  await deliver(env, deliveries, results);
  return named.map(({ item }, place) => {
    const result = { ...results[place], ...roundingOf(item, results[place]) };
    return "key" in item ? { key: shortened(item.key, MOST_KEY), ...result } : { impressionId: item.impressionId, ...result };
  });
}

/** How the learner rounds a reward that it stores. It never clips one: a reward outside the range is refused. */
function roundingOf(item: ConversionItem, { status }: Result): Rounding {
  if (!("reward" in item) || status === "refused" || status === "unknown") return {};
  const to = roundedReward(item.reward);
  return to === item.reward ? {} : { rounded: { from: item.reward, to } };
}

function refusedKey(key: string): string | undefined {
  const refusal = keyRefusal(key);
  return refusal && `key: ${refusal}`;
}

function untimely(token: TokenContent | null | undefined, at: number, now: number): string | undefined {
  if (at > now + CLOCK_TOLERANCE_MS) return "timestamp: lies in the future";
  if (token && at < shownAtOf(token.id) - CLOCK_TOLERANCE_MS) return "timestamp: lies before the impression was shown";
  return undefined;
}

function ofImpression(env: Environment, token: TokenContent, outcome: GoalEvent): Delivery {
  const { id, generation, windowEndsAt } = token;
  const learner = shardName(token.model, token.shard ?? 0);
  const shownAt = shownAtOf(id);
  const timing = { windowMs: windowEndsAt - shownAt, graceMs: graceMs(env) };
  return {
    learner,
    event: { impression: id, generation, ...outcome },
    journal: new EventJournal(env.EVENTS, learner, timing),
    journalUntil: closesAt(shownAt, timing) - LIST_LAG_MS,
  };
}

function ofKey(env: Environment, item: Extract<ConversionItem, { key: string }>, outcome: GoalEvent): Delivery {
  const { model, key, action = null, byPage } = item;
  const hasher = KeyHasher.create(secret(env, "AFTERCLICK_JOIN_KEY"));
  const hashes = { backend: hasher.hash(model, key, "backend"), page: hasher.hash(model, key, "page") };
  return { learner: model, event: { key: hashes, byPage, action: action === null ? null : plainId(action), ...outcome }, journalUntil: 0 };
}

/** Gives each event to KV and to its learner at the same time, and puts the results at the events' places. */
async function deliver(env: Environment, deliveries: ReadonlyMap<number, Delivery>, results: Result[]): Promise<void> {
  const learners = Map.groupBy(deliveries, ([, delivery]) => delivery.learner);
  const stores = Array.from(learners, async ([name, entries]) => {
    const events = entries.map(([, { event }]) => event);
    const [ingested, ...puts] = await Promise.allSettled([
      learner(env, name, (stub) => stub.ingest(events)),
      ...entries.map(([, { journal, event }]) => journal?.put(event as ConversionEvent)),
    ]);
    const settled = entries.map(async ([place, { event, journal, journalUntil }], i) => {
      if (ingested.status === "fulfilled") {
        const { erased, ...result } = (ingested.value as readonly Ingested[])[i];
        results[place] = result.status === "conflict" ? { detail: CONFLICT, ...result } : result;
        // Such an event leaves the journal. If KV fails, closing passes over the event, and it expires.
        if (erased || result.status === "refused" || result.status === "unknown")
          await journal?.delete(event as ConversionEvent).catch(() => {});
        return;
      }
      const isInTime = () => Date.now() <= journalUntil;
      const kept =
        puts[i].status === "fulfilled" &&
        isInTime() &&
        // Once more, because KV may have answered late.
        (await journal?.noteMissing(event as ConversionEvent).then(isInTime, () => false));
      if (!kept) throw new Problem(503, "no store took the conversion");
      results[place] = { status: "accepted" };
    });
    await Promise.all(settled);
  });
  await Promise.all(stores);
}

export const operations = (): Operations => ({
  "POST /v1/conversions": {
    id: "reportConversions",
    summary: "Report conversions, as a Standard Webhook",
    description:
      "The timestamp is the time of the conversion and decides whether it is inside the window. A repetition with the same webhook-id counts once. A single forged conversion gets 401, one out of range 422; in a list each has a status.",
    key: "signature",
    body: { ConversionsBody: conversionsBody, ConversionItem: rewarded, RetractionItem: retracted },
    examples: ({ now, impressionId }) => ({
      one: { type: "conversion", timestamp: now, data: { impressionId, reward: 1 } },
      byKey: {
        type: "conversion",
        timestamp: now,
        data: { model: "shop", key: "visitor-7", action: "boots", goal: "purchase", reward: 1 },
      },
      many: {
        type: "conversion",
        timestamp: new Date(now).toISOString(),
        data: [
          { impressionId, goal: "purchase", reward: 0.5 },
          { impressionId, goal: "review", reward: 0.25, timestamp: now - 1000 },
        ],
      },
      restated: { type: "conversion.updated", timestamp: now, data: { impressionId, reward: 0.75 } },
      returned: { type: "conversion.retracted", timestamp: now, data: { impressionId } },
    }),
    answers: {
      202: { description: "Stored durably. One result for each conversion, in the same order.", schema: { Conversions: answer } },
    },
    problems: [...withBody, 401, 403, 422, 429, 503],
  },
});
