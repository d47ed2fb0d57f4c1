import { featurizer, vectorAt } from "afterclick/research";
import { shownAtOf, uuidAt } from "../../worker/domain/ids/uuid.ts";
import type { ImpressionRow } from "../../worker/domain/impression/impression.ts";
import { encoded, type Shown } from "../../worker/edge/outbox.ts";
import type { MeasuredLearner } from "./learner.ts";

// Sends a learner what isolates send: registrations of impressions in lists of 5, and batches of conversions. Each registration has the
// impressions of one moment of the window. Answers with times and sizes.

const CONVERSIONS = 100;
const LIMIT = 5;
const WINDOW_MS = 604_800_000;
/** Multiples of these numbers, without their whole parts, fill an interval evenly. */
const [MOMENTS, DELAYS] = [0.6180339887498949, 0.7548776662466927];
/** Oldest impressions, in windows. */
const OLDEST = 0.98;
const ranges = { price: { min: 0, max: 200 }, hour: { min: 0, max: 24 } };

const actions = Array.from({ length: 20 }, (_, i) => ({
  id: `product-${i}`,
  features: { brand: `brand-${i % 7}`, category: `category-${i % 5}`, price: (i * 37) % 200 },
}));

export default {
  async fetch(request: Request, { LEARNER }: { readonly LEARNER: DurableObjectNamespace<MeasuredLearner> }): Promise<Response> {
    const { searchParams } = new URL(request.url);
    const numberOf = (name: string, missing: number) => Number(searchParams.get(name) ?? missing);
    const [registrations, batch, dimension] = [numberOf("registrations", 1), numberOf("batch", 100), numberOf("dimension", 128)];
    /** Number of registrations before these. */
    const earlier = numberOf("earlier", 0);
    const model = searchParams.get("model") ?? "bench";
    const stub = LEARNER.get(LEARNER.idFromName(model));
    const encoder = { dimension, numeric: ranges, interactions: "all" as const };
    await stub.configure(model, { window: { ms: WINDOW_MS }, encoder, limits: { open: 1e7, bytes: 9e9 } } as never);
    const described = (await stub.describe()) as unknown as {
      value: { generation: number; modelVersion: number; encoder: never; bytes: number };
    };
    const { generation, modelVersion: version } = described.value;
    const { points: pointsIn } = featurizer(described.value.encoder);
    const shown: string[] = [];
    const now = Date.now();
    const batches = Array.from({ length: registrations }, (_, n) => {
      const moment = now - Math.floor((((earlier + n) * MOMENTS) % 1) * OLDEST * WINDOW_MS);
      return Array.from({ length: batch / LIMIT }, (_, list): Shown => {
        const context = { country: `country-${(n * 20 + list) % 31}`, device: `device-${list % 3}`, hour: n % 24, returning: n % 2 === 0 };
        const points = pointsIn(context, actions);
        const ids = Array.from({ length: LIMIT }, () => uuidAt(moment, crypto.getRandomValues(new Uint8Array(10))));
        shown.push(...ids);
        const rows = ids.map((id, place): ImpressionRow => {
          const [index, noise] = [(n + list + place) % 20, shownAtOf(id) / 1e13 + n / 1e5 + place / 1e6];
          return {
            ...{
              id,
              name: null,
              action: actions[index].id,
              features: vectorAt(points, index, actions.length),
              context,
              arm: "policy",
              version,
            },
            decision: {
              ...{ score: 0.3 + noise, mean: 0.2 - noise, width: 0.1 + noise / 3, probability: (place + 1) / 10, place, candidates: 20 },
              ...(place > 0 && { first: ids[0] }),
            },
            ...{ keys: [], byPage: false },
          };
        });
        return { generation, rows, unsampled: 0, byPage: false, deferred: false };
      });
    });
    // Encoding is the isolate's work.
    const registrationsSent = batches.map((batch) => ({ ...encoded(batch), dropped: 0, keptOut: 0 }));
    const before = performance.now();
    for (const registration of registrationsSent) await stub.registerShown(registration);
    const registered = performance.now();
    // One in fifty converts.
    const events = shown
      .filter((_, i) => i % 50 === 0)
      .map((impression, i) => {
        const delay = Math.floor((now - shownAtOf(impression)) * ((i * DELAYS) % 1) ** 3);
        return { impression, goal: "conversion", event: `order ${i}`, reward: 1, at: shownAtOf(impression) + delay };
      });
    for (let from = 0; from < events.length; from += CONVERSIONS) await stub.ingest(events.slice(from, from + CONVERSIONS));
    const ingested = performance.now();
    const times: Record<string, number> = {};
    const timed = async (name: string, call: () => Promise<unknown>) => {
      const from = performance.now();
      await call();
      times[name] = performance.now() - from;
    };
    if (registrations === 0) {
      await timed("metricsMs", () => stub.metrics());
      await timed("describeMs", () => stub.describe());
      await timed("snapshotMs", () => stub.snapshot());
      await timed("closeMs", () => stub.undone("close"));
      await timed("pruneMs", () => stub.undone("prune"));
    }
    const { value } = (await stub.describe()) as unknown as {
      value: { bytes: number; counts: { impressions: number; converted: number } };
    };
    return Response.json({
      impressionsPerSecond: Math.round((registrations * batch) / ((registered - before) / 1000)),
      conversionsPerSecond: Math.round(events.length / ((ingested - registered) / 1000)),
      bytes: value.bytes,
      ...times,
      counts: value.counts,
    });
  },
};
