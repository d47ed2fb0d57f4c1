import {
  type ConversionEvent,
  delayLinTs,
  delayLinUcb,
  type Goals,
  merge,
  otfLinTs,
  otfLinUcb,
  type PolicyDescriptor,
  policies,
  Recommender,
} from "afterclick";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { shuffled } from "../../src/simulation/stream.ts";
import { dyadicVectors, stream } from "../support/scenario.ts";

// Sums that merge: whoever learns which impression, in which order, one recommender results, byte for byte.

/** No impression is forgotten, so that none is unknown when an event comes late. */
const WINDOW = { ms: 6000, grace: 1e12 };

interface Shown {
  readonly impressionId: string;
  readonly features: readonly number[];
  readonly now: number;
}

interface Course {
  /** In order of time, each at a time of its own. */
  readonly shown: readonly Shown[];
  readonly events: readonly ConversionEvent[];
}

interface Kind {
  readonly policy: PolicyDescriptor;
  readonly goals?: Goals;
}

const funnel: Goals = { click: { weight: 0.25 }, purchase: { weight: 1, after: "click" } };
const priced: Goals = { click: { weight: 0 }, purchase: { weight: 1, after: "click", value: { currency: "EUR" } }, visit: { weight: 0.5 } };
const known: Goals = { click: { weight: 1, window: { ms: 2000 } }, visit: { weight: 0.5, delay: { ms: 3000 } } };

const kinds: Record<string, Kind> = {
  "otf-lin-ts": { policy: otfLinTs({ dimension: 4, norms: "exact" }) },
  "otf-lin-ucb": { policy: otfLinUcb({ dimension: 4, norms: "exact" }) },
  "delay-lin-ts": { policy: delayLinTs({ dimension: 4 }) },
  "delay-lin-ts in a funnel": { policy: delayLinTs({ dimension: 4 }), goals: funnel },
  "delay-lin-ts by amounts": { policy: delayLinTs({ dimension: 4 }), goals: priced },
  "delay-lin-ts of goals with windows and delays of their own": { policy: delayLinTs({ dimension: 4 }), goals: known },
  "delay-lin-ts without forgetting, in a funnel": { policy: delayLinTs({ dimension: 4, forgetting: null }), goals: funnel },
  "delay-lin-ucb": { policy: delayLinUcb({ dimension: 4 }) },
  "delay-lin-ucb of a fixed ridge": { policy: delayLinUcb({ dimension: 4, shrinkage: "fixed" }) },
};

/** Impressions over about ten windows, two thirds of which get events: later ones, corrections, retractions, repetitions, late ones. */
function course(seed: number, count: number, goals: Goals | undefined, dimension = 4): Course {
  const random = stream(seed);
  const vectors = dyadicVectors(random, count, dimension);
  const names = goals ? Object.keys(goals) : ["conversion", "click"];
  let now = 1_700_000_000_000;
  const shown = vectors.map((features, i): Shown => {
    now += 1 + Math.floor(random() * (random() < 0.05 ? 9000 : 1200));
    return { impressionId: `impression ${(i * 7919) % 104_729}`, features, now };
  });
  const events = shown.flatMap(({ impressionId, now }) =>
    Array.from({ length: random() < 0.33 ? 0 : Math.floor(random() * 5) }, (): ConversionEvent => {
      const goal = names[Math.floor(random() * names.length)];
      const cents = goals?.[goal].value ? Math.floor(random() * random() * 1e6) / 64 - 50 : Math.floor(random() * 4097) / 4096;
      const at = now + Math.floor(random() * random() * 8000);
      return { impressionId, goal, reward: random() < 0.15 ? null : cents, at, eventId: `${goal} ${Math.floor(random() * 3)}` };
    }),
  );
  return { shown, events: [...events, ...events.filter(() => random() < 0.2)] };
}

type Order = <T>(items: readonly T[]) => T[];
const orders: Record<string, Order> = {
  "in order of time": (items) => [...items],
  "the latest first": (items) => items.toReversed(),
  shuffled: (items) => shuffled([...items], stream(items.length)),
};

/** Learns a part of a course: impressions in an order, and each event at once or at the end. */
async function learnt({ policy, goals }: Kind, { shown, events }: Course, order: Order): Promise<Recommender> {
  const recommender = await Recommender.create({ policy, goals, window: WINDOW, seed: 3 });
  const random = stream(shown.length);
  const late: ConversionEvent[] = [];
  for (const impression of order(shown)) {
    recommender.register(impression);
    const own = events.filter(({ impressionId }) => impressionId === impression.impressionId);
    for (const event of order(own)) random() < 0.5 ? recommender.convert(event) : late.push(event);
    if (random() < 0.02) recommender.policy.refactor();
  }
  for (const event of order(late)) recommender.convert(event);
  return recommender;
}

/** Snapshots of several recommenders, each of which has learnt some impressions and their events. */
async function parts(kind: Kind, { shown, events }: Course, order: Order, count: number): Promise<Uint8Array[]> {
  const random = stream(count);
  const partOf = new Map(shown.map(({ impressionId }) => [impressionId, Math.floor(random() * count)]));
  const snapshots: Uint8Array[] = [];
  for (let part = 0; part < count; part++) {
    const isOwn = ({ impressionId }: { impressionId: string }) => partOf.get(impressionId) === part;
    const recommender = await learnt(kind, { shown: shown.filter(isOwn), events: events.filter(isOwn) }, order);
    if (part % 2 === 1) recommender.policy.refactor();
    snapshots.push(recommender.snapshot());
  }
  return order(snapshots);
}

interface Learnt {
  readonly digest: string;
  readonly snapshot: Uint8Array;
  readonly publication: Uint8Array;
}
const stateOf = (recommender: Recommender): Learnt => ({
  digest: recommender.digest(),
  snapshot: recommender.snapshot(),
  publication: recommender.publication(),
});

/** Fails with the name of what differs, and not with all bytes. */
function expectSame(own: Learnt, other: Learnt, name: string): void {
  const same = (a: Uint8Array, b: Uint8Array) => a.length === b.length && a.every((byte, i) => byte === b[i]);
  const { digest, snapshot, publication } = own;
  const got = {
    digest: digest === other.digest,
    snapshot: same(snapshot, other.snapshot),
    publication: same(publication, other.publication),
  };
  expect(got, name).toEqual({ digest: true, snapshot: true, publication: true });
}

/** Merges so many parts, each number in an order of its own. `turn` says which number meets which order. */
async function expectMerged(kind: Kind, events: Course, turn = 0, counts = [1, 4, 16]): Promise<Recommender> {
  const reference = await learnt(kind, events, orders["in order of time"]);
  // Alone and in order of time, impressions are numbered by their time anyway.
  reference.policy.refactor();
  const expected = stateOf(reference);
  for (const [i, [name, order]] of Object.entries(orders).entries()) {
    const alone = await learnt(kind, events, order);
    alone.refactor();
    expectSame(stateOf(alone), expected, `one recommender ${name}`);
    const count = counts[(i + turn) % 3];
    const merged = await merge(await parts(kind, events, order, count), { policies });
    expectSame(stateOf(merged), expected, `${count} parts ${name}`);
  }
  return reference;
}

describe("merged snapshots are one recommender that has learnt everything, byte for byte", () => {
  it.each(Object.entries(kinds))("%s", async (_, kind) => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.integer({ min: 0, max: 80 }), fc.nat(2), async (seed, count, turn) => {
        await expectMerged(kind, course(seed, count, kind.goals), turn);
      }),
      { numRuns: 3 },
    );
  });
});

describe("so are those of many features, whose means are not solved at once", () => {
  it.each([
    ["with forgetting, in a funnel", delayLinTs, 130, funnel],
    ["without forgetting, by amounts", delayLinUcb, 130, priced],
  ])("%s", async (_, factory, dimension, goals) => {
    await expectMerged({ policy: factory({ dimension }), goals }, course(4, 30, goals, dimension), 0, [1, 2, 4]);
  });
});
