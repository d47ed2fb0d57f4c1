import { closesAt } from "./bucket.ts";
import { type Environment, graceMs, secret } from "./environment.ts";
import { type ConversionEvent, EventStore } from "./event-store.ts";
import { learner } from "./learner-client.ts";
import type { Intake } from "./message.ts";
import { Problem, unauthorised } from "./problem.ts";
import type { ConversionItem, ConversionsBody } from "./schema.ts";
import { CLOCK_TOLERANCE_MS, shownAtOf, type TokenContent, TokenSigner } from "./token.ts";

/** What became of a conversion: the learner's word, or `accepted` if only KV took it. */
type Result = Omit<Intake, "status"> & { readonly status: Intake["status"] | "accepted" };

export type ConversionResult = Result & { readonly impressionId: string };

interface Delivery {
  readonly event: ConversionEvent;
  readonly model: string;
  readonly windowMs: number;
}

/** A list of KV may be a minute old: an event that only KV has must be there well before its bucket closes. */
const LIST_LAG_MS = 120_000;

/**
 * Takes the conversions of one verified webhook into both stores, and says what became of each.
 *
 * @throws {Problem} 503 if neither store took an item; sent again, what was taken is a duplicate. For a single conversion
 * 401 if its impression id is forged, 422 if its reward or time is refused.
 */
export async function takeConversions(env: Environment, webhookId: string, body: ConversionsBody): Promise<ConversionResult[]> {
  const batch = Array.isArray(body.data);
  const items = Array.isArray(body.data) ? body.data : [body.data];
  const signer = await TokenSigner.create(secret(env, "AFTERCLICK_TOKEN_KEY"));
  const now = Date.now();
  const results = new Array<Result>(items.length);
  const deliveries = new Map<number, Delivery>();
  await Promise.all(
    items.map(async (item, place) => {
      const token = await signer.verify(item.impressionId, now);
      const at = item.timestamp ?? body.timestamp;
      const refusal = token && untimely(token, at, now);
      if (!token) results[place] = { status: "unknown" };
      else if (refusal) results[place] = { status: "refused", detail: refusal };
      else deliveries.set(place, delivery(token, item, at, batch ? `${webhookId}/${place}` : webhookId));
    }),
  );
  if (!batch && results[0]?.status === "unknown") throw unauthorised();
  await deliver(env, deliveries, results);
  const [first] = results;
  if (!batch && first.status === "refused") throw new Problem(422, first.detail ?? "the conversion was refused");
  return items.map(({ impressionId }, place) => ({ impressionId, ...results[place] }));
}

function untimely(token: TokenContent, at: number, now: number): string | undefined {
  if (at > now + CLOCK_TOLERANCE_MS) return "timestamp: lies in the future";
  if (at < shownAtOf(token.id) - CLOCK_TOLERANCE_MS) return "timestamp: lies before the impression was shown";
  return undefined;
}

function delivery(token: TokenContent, { goal, reward }: ConversionItem, at: number, event: string): Delivery {
  return {
    event: { impression: token.id, goal, event, reward, at },
    model: token.model,
    windowMs: token.windowEndsAt - shownAtOf(token.id),
  };
}

/** Gives each event to KV and to its learner at the same time, and enters the results at their places. */
async function deliver(env: Environment, deliveries: ReadonlyMap<number, Delivery>, results: Result[]): Promise<void> {
  const grace = graceMs(env);
  const models = Map.groupBy(deliveries, ([, { model }]) => model);
  const stores = Array.from(models, async ([model, entries]) => {
    const events = entries.map(([, { event }]) => event);
    const journals = entries.map(([, { windowMs }]) => new EventStore(env.EVENTS, model, { windowMs, graceMs: grace }));
    const [intakes, ...puts] = await Promise.allSettled([
      learner(env, model, (stub) => stub.ingest(events)),
      ...events.map((event, i) => journals[i].put(event)),
    ]);
    const refused = events.map(async (event, i) => {
      const [place, { windowMs }] = entries[i];
      if (intakes.status === "fulfilled") {
        const intake = (intakes.value as readonly Intake[])[i];
        results[place] = intake;
        // What no learner will ever take leaves nothing behind.
        if (intake.status === "refused" || intake.status === "unknown") await journals[i].delete(event);
        return;
      }
      const tooLate = closesAt(shownAtOf(event.impression), { windowMs, graceMs: grace }) - LIST_LAG_MS;
      if (puts[i].status === "rejected" || Date.now() > tooLate) throw new Problem(503, "neither store took the conversion");
      results[place] = { status: "accepted" };
    });
    await Promise.all(refused);
  });
  await Promise.all(stores);
}
