// The same events through several shards, in several orders: the models must agree in every bit.

import { createHash } from "node:crypto";
import { delayLinTs, merge, Recommender } from "afterclick";
import { shuffled, stream } from "../../../src/simulation/stream.ts";
import type { ConversionEvent } from "../../../worker/domain/conversion/event.ts";
import { resolved } from "../../../worker/domain/conversion/reward.ts";
import { shownAtOf, uuidAt } from "../../../worker/domain/ids/uuid.ts";
import type { ImpressionRow } from "../../../worker/domain/impression/impression.ts";
import { DEFAULTS_VERSION } from "../../../worker/domain/model/defaults.ts";
import { configureModel, startModel } from "../../../worker/domain/model/model.ts";
import { decodePublication } from "../../../worker/domain/model/publication.ts";
import { encoded } from "../../../worker/edge/outbox.ts";
import type { Answer, Description } from "../../../worker/rpc/message.ts";
import { NodeWorld } from "../node-world.ts";
import { Clock } from "../world.ts";

const START = 4_102_444_800_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DIMENSION = 16;
const MODEL = "orders";
/** Impressions of one block, and conversions of one call. */
const AT_ONCE = 100;
/** The rules of the model below. */
const RULES = { goals: null, policy: "delay-lin-ts", defaults: DEFAULTS_VERSION };
const faultless = { strikes: () => undefined, call: () => undefined, kv: () => undefined, below: () => 0, pause: async () => {} };

export interface Order {
  readonly impressions: number;
  readonly shards: number;
  /** Seed of the order of events. 0 leaves them in the order of time. */
  readonly order: number;
  /** Snapshot of what the model has learnt before. Absent: nothing. */
  readonly before?: Uint8Array;
}

export interface Ordered {
  readonly digest: string;
  /** SHA-256 of the published parts. */
  readonly parts: string;
  readonly events: number;
  readonly impressions: number;
  readonly converted: number;
}

interface Block {
  readonly rows: readonly ImpressionRow[];
}

/** A block, a conversion or an erasure. Events of an erased impression keep their order. */
type Event = { readonly block: Block } | { readonly conversion: ConversionEvent } | { readonly erased: string };

/** The events of a model in two parts, with the closing of the first part's bucket between them. */
function eventsOf(impressions: number): Event[][] {
  const random = stream(1, "events");
  const bytes = () => Uint8Array.from({ length: 10 }, () => random.below(256));
  const late: Event[] = [];
  return [0, 3 * HOUR_MS].map((since, part) => {
    const events: Event[] = [];
    for (let done = 0; done < impressions / 2; done += AT_ONCE) {
      const rows = Array.from({ length: AT_ONCE }, (_, i): ImpressionRow => {
        const shownAt = START + since + Math.floor((10 * MINUTE_MS * (done + i)) / (impressions / 2));
        const features = Float64Array.from({ length: DIMENSION }, () => (random.below(4097) - 2048) / 4096 / DIMENSION);
        const given = { name: null, action: "mug", features, context: null, arm: "policy" as const, version: 0, decision: null };
        return { ...given, id: uuidAt(shownAt, bytes()), keys: [], byPage: false };
      });
      events.push({ block: { rows } });
      for (const { id } of rows) {
        const shownAt = START + since + Math.floor((10 * MINUTE_MS * done) / (impressions / 2));
        const at = (most: number) => shownAt + MINUTE_MS + random.below(most);
        const told = (event: string, reward: number | null, time = at(MINUTE_MS)): Event => {
          return { conversion: { impression: id, goal: "conversion", event, reward, at: time } };
        };
        const own: Event[] = [];
        if (random() < 0.5) own.push(told("order", 1));
        if (own.length > 0 && random() < 0.2) own.push(...own);
        if (random() < 0.2) own.push(told(`order ${random.below(2)}`, random.below(5) / 4));
        if (random() < 0.1) own.push(told("order", null, at(2 * MINUTE_MS)));
        if (part === 0 && random() < 0.05) late.push(told("too late", 1));
        if (random() < 0.02) own.push({ erased: id });
        if (random() < 0.1) own.push(told("last", 0.5));
        events.push(...own);
      }
    }
    return part === 0 ? events : [...events, ...late];
  });
}

/** Another order of events, in which those of an erased impression keep theirs. */
function inOrder(events: readonly Event[], order: number): readonly Event[] {
  if (order === 0) return events;
  const random = stream(order, "order");
  const erased = new Set(events.flatMap((event) => ("erased" in event ? [event.erased] : [])));
  const isFixed = (event: Event) =>
    "erased" in event ||
    ("conversion" in event && erased.has(event.conversion.impression)) ||
    ("block" in event && event.block.rows.some(({ id }) => erased.has(id)));
  const places = shuffled(Array.from(events.keys()), random);
  const fixed = events.filter(isFixed);
  const shuffledEvents = places.map((place) => events[place]);
  let next = 0;
  return shuffledEvents.map((event) => (isFixed(event) ? fixed[next++] : event));
}

const unwrapped = <T>(given: Answer<T>): T => {
  if ("problem" in given) throw new Error(given.problem.detail);
  return given.value;
};

const BODY = { window: { ms: HOUR_MS }, options: { dimension: DIMENSION }, serving: "edge" as const, limits: { open: 10_000_000 } };

/** A snapshot with the sums of 1,000 x 2^n impressions, one in three converted. Their windows close before the events begin. */
export async function grown(doublings: number): Promise<Uint8Array> {
  const random = stream(2, "before");
  const since = START - (doublings + 1) * 2 * HOUR_MS;
  let [whole] = await startModel(await configureModel(BODY));
  const learn = (count: number, now: number) => {
    for (let i = 0; i < count; i++) {
      const { policy } = whole;
      const features = Float64Array.from({ length: DIMENSION }, () => (random.below(4097) - 2048) / 4096 / DIMENSION);
      const impression = policy.append({ features, round: policy.impressions + 1, now });
      if (i % 3 === 0) policy.observe({ impression, reward: 1, delay: { after: random.below(HOUR_MS) } });
    }
    whole.policy.refactor();
  };
  learn(1000, since);
  for (let i = 1; i <= doublings; i++) {
    // One impression later than the window of the others. Otherwise their open windows would be doubled too.
    learn(1, since + 2 * i * HOUR_MS);
    const bytes = whole.snapshot();
    whole = await merge([bytes, bytes], { policies: [delayLinTs] });
  }
  return whole.snapshot();
}

/** Plays events through so many shards, in some order. */
export async function ordered(
  { impressions, shards, order, before }: Order,
  surround: (surroundings: { now(): number; random(): number; wait(ms: number): Promise<void> }) => void,
): Promise<Ordered> {
  const clock = new Clock(START);
  const random = stream(1, "chance");
  surround({ now: clock.now, random, wait: async () => {} });
  const world = new NodeWorld(MODEL, clock, faultless);
  try {
    unwrapped(await world.learner().configure(MODEL, { ...BODY, shards }));
    if (before) world.beginWith(before);
    unwrapped(await world.learner().setActions([{ id: "mug", features: new Array(DIMENSION).fill(0.0625) }]));
    const { generation } = unwrapped(await world.learner().describe());
    const parts = eventsOf(impressions);
    const shardOf = new Map<string, number>();
    let blocks = 0;
    for (const event of parts.flat())
      if ("block" in event) {
        const shard = blocks++ % shards;
        for (const { id } of event.block.rows) shardOf.set(id, shard);
      }
    for (const [part, events] of parts.entries()) {
      clock.time = START + part * 3 * HOUR_MS + 12 * MINUTE_MS;
      if (part > 0) for (let shard = 0; shard < shards; shard++) await world.ring(shard);
      await play(world, inOrder(events, order), shardOf, generation);
    }
    clock.time += MINUTE_MS;
    unwrapped(await world.learner().setActions([{ id: "mug", features: new Array(DIMENSION).fill(0.0625) }]));
    const { digest, counts } = unwrapped(await world.learner().describe()) as Description;
    const publication = await decodePublication(unwrapped(await world.learner().publication()));
    const hash = createHash("sha256");
    for (const bytes of publication?.parts ?? []) hash.update(bytes);
    const { impressions: learnt, converted } = counts;
    return { digest: digest as string, parts: hash.digest("hex"), events: parts.flat().length, impressions: learnt, converted };
  } finally {
    world.close();
  }
}

async function play(world: NodeWorld, events: readonly Event[], shardOf: ReadonlyMap<string, number>, generation: number): Promise<void> {
  let waiting: ConversionEvent[] = [];
  const send = async () => {
    const of = Map.groupBy(waiting, ({ impression }) => shardOf.get(impression) as number);
    waiting = [];
    for (const [shard, some] of of) unwrapped(await world.learner(shard).ingest(some));
  };
  for (const event of events) {
    if ("conversion" in event) {
      waiting.push(event.conversion);
      if (waiting.length >= AT_ONCE) await send();
      continue;
    }
    await send();
    if ("erased" in event) unwrapped(await world.learner(shardOf.get(event.erased)).erase(event.erased, generation));
    else {
      const shown = [{ generation, rows: event.block.rows, unsampled: 0, byPage: false, deferred: false }];
      const registration = { ...encoded(shown), dropped: 0, keptOut: 0 };
      unwrapped(await world.learner(shardOf.get(event.block.rows[0].id)).registerShown(registration));
    }
  }
  await send();
}

/** The digest of a recommender that learns each impression once, with what it has brought in the end. */
export async function folded(impressions: number, before?: Uint8Array): Promise<string> {
  const { policy } = before
    ? await Recommender.restore(before, { policies: [delayLinTs] })
    : await Recommender.create({ policy: delayLinTs({ dimension: DIMENSION }), window: { ms: HOUR_MS } });
  for (const events of eventsOf(impressions)) {
    const told = new Map<string, ConversionEvent[]>();
    const erased = new Set<string>();
    for (const event of events) {
      if ("erased" in event) erased.add(event.erased);
      else if ("conversion" in event && !erased.has(event.conversion.impression)) {
        const { impression } = event.conversion;
        told.set(impression, [...(told.get(impression) ?? []), event.conversion]);
      }
    }
    for (const event of events) {
      if (!("block" in event)) continue;
      for (const { id, features } of event.block.rows) {
        const impression = policy.append({ features, round: policy.impressions + 1, now: shownAtOf(id) });
        const brought = resolved(told.get(id) ?? [], RULES, shownAtOf(id));
        if (brought) policy.observe({ impression, reward: brought.reward, delay: { after: brought.delay } });
      }
    }
  }
  policy.refactor();
  return policy.digest();
}
