import type { ConversionEvent, GoalEvent, KeyedEvent } from "../domain/conversion/event.ts";
import { rangeRefusal } from "../domain/conversion/refusal.ts";
import { roundedReward } from "../domain/conversion/reward.ts";
import { KeyHasher } from "../domain/ids/key-hasher.ts";
import { shardName } from "../domain/ids/shard.ts";
import { CLOCK_TOLERANCE_MS, type TokenContent, TokenSigner } from "../domain/ids/token.ts";
import { shownAtOf } from "../domain/ids/uuid.ts";
import { closesAt } from "../domain/impression/bucket.ts";
import { isKept } from "../domain/impression/sampling.ts";
import { type Environment, graceMs, secret } from "../environment.ts";
import { EventJournal } from "../kv/event-journal.ts";
import { Problem, unauthorised } from "../protocol/problem.ts";
import type { ConversionItem, ConversionsBody } from "../protocol/schema.ts";
import { learner } from "../rpc/learner-client.ts";
import type { Ingested } from "../rpc/message.ts";

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

/** A list of KV may be a minute old. An event that only KV has must be there this long before its bucket closes. */
const LIST_LAG_MS = 120_000;

const FORGED =
  "data.impressionId: expected an id that this worker gave, unchanged; this one is cut, altered, of another worker, or older than a change " +
  "of AFTERCLICK_TOKEN_KEY";

/** A conversion with the name of its event. */
export interface NamedConversion {
  readonly item: ConversionItem;
  readonly outcome: GoalEvent;
}

/**
 * Takes the conversions of one verified webhook.
 *
 * @param name id of the webhook. It names a single event; a batch's events are named by it and their place.
 * @throws {Problem} as `takeNamed` does. For a single conversion also 401 if its impression id is forged, and 422 if its reward or time
 * is refused.
 */
export async function takeConversions(
  env: Environment,
  name: string,
  { data, timestamp, type }: ConversionsBody,
): Promise<ConversionResult[]> {
  const batch = Array.isArray(data);
  const items: readonly ConversionItem[] = Array.isArray(data) ? data : [data];
  const named = items.map((item, place) => {
    return { item, outcome: outcomeOf(item, item.timestamp ?? timestamp, batch ? `${name} ${place}` : name, type) };
  });
  const results = await takeNamed(env, named, !batch);
  const [first] = results;
  if (!batch && first.status === "refused") throw new Problem(422, first.detail ?? "the conversion was refused");
  return results;
}

/**
 * Takes verified conversions into KV and the learner. Returns one result for each.
 *
 * @param single whether a forged impression id is an error, instead of a status.
 * @throws {Problem} 401 for that error. 503 if neither store took an item. When the conversions are sent again, the taken ones are duplicates.
 */
export async function takeNamed(env: Environment, named: readonly NamedConversion[], single = false): Promise<ConversionResult[]> {
  const signer = TokenSigner.create(secret(env, "AFTERCLICK_TOKEN_KEY"));
  const now = Date.now();
  const results = new Array<Result>(named.length);
  const deliveries = new Map<number, Delivery>();
  await Promise.all(
    named.map(async ({ item, outcome }, place) => {
      const token = "key" in item ? null : signer.verify(item.impressionId, now);
      const refusal = untimely(token, outcome.at, now) ?? rangeRefusal(outcome.reward);
      if (token === undefined) results[place] = { status: "unknown" };
      else if (token && !isKept(token.id, token.sampling)) results[place] = { status: "unsampled" };
      else if (refusal) results[place] = { status: "refused", detail: refusal };
      else if (token) deliveries.set(place, ofImpression(env, token, outcome));
      else if ("key" in item) deliveries.set(place, ofKey(env, item, outcome));
    }),
  );
  if (single && results[0]?.status === "unknown") throw unauthorised(FORGED);
  await deliver(env, deliveries, results);
  return named.map(({ item }, place) => {
    const result = { ...results[place], ...roundingOf(item, results[place]) };
    return "key" in item ? { key: item.key, ...result } : { impressionId: item.impressionId, ...result };
  });
}

function outcomeOf(item: ConversionItem, at: number, event: string, type: ConversionsBody["type"]): GoalEvent {
  const { goal } = item;
  if (!("reward" in item)) return { goal, event, reward: null, at };
  const { reward, currency } = item;
  return { goal, event, reward, at, ...(currency && { currency }), ...(type === "conversion.updated" && { restates: true }) };
}

/** How the learner rounds a reward that it stores. It never clips one: a reward outside the range is refused. */
function roundingOf(item: ConversionItem, { status }: Result): Rounding {
  if (!("reward" in item) || status === "refused" || status === "unknown") return {};
  const to = roundedReward(item.reward);
  return to === item.reward ? {} : { rounded: { from: item.reward, to } };
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
  return { learner: model, event: { key: hashes, byPage, action, ...outcome }, journalUntil: 0 };
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
