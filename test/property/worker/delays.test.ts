import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Disk, durableStorage } from "../../../trials/simulation/workerd/durable-storage.ts";
import { Isolate } from "../../../trials/simulation/workerd/isolate.ts";
import { gridOf, grownAt } from "../../../worker/domain/figures/delay-grid.ts";
import { uuidAt } from "../../../worker/domain/ids/uuid.ts";
import { type Delays, NOTHING } from "../../../worker/domain/impression/outcome.ts";
import { configureModel } from "../../../worker/domain/model/model.ts";
import type { Change } from "../../../worker/learner/store/counts/projection.ts";
import { LearnerStore } from "../../../worker/learner/store/learner-store.ts";
import { added, type ModelCounts } from "../../../worker/rpc/model-counts.ts";
import { stream } from "../../support/scenario.ts";
import { type Converted, expectCounted } from "./first-conversions.ts";

const START = 1_795_262_400_000;
const WINDOW_MS = 7_200_000;
const body = { window: { ms: WINDOW_MS }, goals: { click: { weight: 0, window: { ms: 60_000 } }, purchase: { weight: 1 } } };
const noFaults = { strikes: () => undefined, call: () => undefined, kv: () => undefined, below: () => 0, pause: async () => {} };

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: START }));
afterEach(() => void vi.useRealTimers());

async function open() {
  const disk = new Disk();
  const config = await configureModel(body);
  const store = new LearnerStore(durableStorage(disk, new Isolate("learner", noFaults)));
  store.create({ name: "shop", config, generation: START, watermark: 0, homes: 1 });
  return { store, config, close: () => disk.close() };
}

it("keeps a few thousand cells, however many windows and conversions there are, and takes back what was counted long ago", async () => {
  const { store, config, close } = await open();
  const random = stream(31);
  type Known = Converted & { readonly id: string; readonly decision: object };
  const known: Known[] = [];
  const reached = (delays: Delays | null) => delays && { ...NOTHING, delays: { "": delays.purchase, ...delays } };
  const changed = (all: readonly { readonly impression: Known; readonly before: Delays | null; readonly after: Delays | null }[]) => {
    const changes = all.map(({ impression, before, after }) => ({ impression, before: reached(before), after: reached(after) }));
    store.transact(() => store.delays.apply(changes as unknown as Change[], config));
  };
  for (let window = 0; window < 12; window++) {
    for (let part = 0; part < 64; part++) {
      vi.setSystemTime(START + (window + part / 64) * WINDOW_MS);
      const shown = Array.from({ length: 20 }, () => {
        const shownAt = Date.now() - Math.floor(random() * WINDOW_MS);
        const age = Date.now() - shownAt;
        const [click, purchase] = [Math.floor(random() * Math.min(age, 60_000)), Math.floor(age * random() ** 3)];
        const delays: Record<string, number> = random() < 0.5 ? { purchase } : { click, purchase };
        const [action, arm] = [random() < 0.5 ? "mug" : "cup", random() < 0.1 ? ("holdout" as const) : ("policy" as const)];
        return {
          id: uuidAt(shownAt, crypto.getRandomValues(new Uint8Array(10))),
          shownAt,
          action,
          arm,
          delays,
          decision: { candidates: 2 },
        };
      });
      known.push(...shown);
      changed(shown.map((impression) => ({ impression, before: null, after: impression.delays })));
    }
    const [gone] = known.splice(Math.floor(random() * known.length), 1);
    changed([{ impression: gone, before: gone.delays, after: null }]);
  }
  expectCounted(store, known, config);
  for (const goal of ["", "click", "purchase"]) {
    const cells = store.delays.of(goal);
    expect(new Set(cells.map(({ cohort }) => cohort)).size).toBeLessThan(70);
    expect(cells.length).toBeLessThan(8000);
  }
  changed(known.map((impression) => ({ impression, before: impression.delays, after: null })));
  expectCounted(store, [], config);
  close();
});

it("keeps the cells of a source that has reported nothing since as they were, because figures are as of its last report", async () => {
  const { store, config, close } = await open();
  const random = stream(32);
  const changes = Array.from({ length: 200 }, () => {
    const shownAt = START - Math.floor(random() * WINDOW_MS);
    const delays = { purchase: Math.floor((START - shownAt) * random()) };
    const impression = {
      id: uuidAt(shownAt, crypto.getRandomValues(new Uint8Array(10))),
      shownAt,
      action: "mug",
      arm: "policy",
      decision: {},
    };
    return { impression, before: null, after: { ...NOTHING, delays } };
  }) as unknown as Change[];
  const lengths = () => store.delays.of("purchase").map(({ cohort, length }) => [cohort, length]);
  store.transact(() => store.delays.apply(changes, config));
  const before = lengths();
  vi.setSystemTime(START + 5 * WINDOW_MS);
  const [gone] = changes;
  store.transact(() => store.delays.apply([{ ...gone, before: gone.after, after: null }], config));
  store.transact(() => store.delays.apply([gone], config));
  expect(lengths()).toEqual(before);
  close();
});

it("keeps the cells of whichever goal comes first as short as the goal needs that is reported last", async () => {
  const { store, config, close } = await open();
  const random = stream(33);
  const now = START + WINDOW_MS / 5;
  vi.setSystemTime(now);
  const changes = Array.from({ length: 400 }, (_, i) => {
    const shownAt = now - Math.floor(random() * WINDOW_MS);
    // Purchases are known until the start, and clicks until now.
    const isLate = i % 2 === 0 && shownAt < START;
    const delay = Math.floor(isLate ? (START - shownAt) * random() : 1000 * random());
    const impression = { id: uuidAt(shownAt, crypto.getRandomValues(new Uint8Array(10))), action: "mug", arm: "policy", decision: {} };
    return { impression, before: null, after: { ...NOTHING, delays: { "": delay, [isLate ? "purchase" : "click"]: delay } } };
  }) as unknown as Change[];
  store.transact(() => store.delays.apply(changes, config));
  const unit = gridOf(config, "").cohort;
  const newest = Math.floor((store.delays.latestAt("purchase") as number) / unit);
  for (const { cohort, length } of store.delays.of("")) expect(grownAt(newest, { cohort, length: 1 })).toEqual({ cohort, length });
  expect(newest).toBeLessThan(Math.floor(now / unit) - 40);
  close();
});

it("adds the counts of learners to those of one learner with all of them", () => {
  const goal = (bin: number, latestAt: number | null) => ({
    delays:
      latestAt === null ? [] : [{ cohort: 4, length: 2, bin, arm: "policy" as const, count: 2, delay: 30, groups: { 3: 1, [bin]: 1 } }],
    latestAt,
    arrivedAt: latestAt,
    arrivals: latestAt === null ? [] : [0, 900_000 * bin],
    reports: latestAt === null ? [] : [{ last: latestAt, lags: { 0: 2 }, least: bin, until: null, missed: bin, faded: latestAt }],
    quarters: (latestAt === null ? {} : { 0: 1, [bin]: 1 }) as Record<number, number>,
  });
  const arm = (step: number, impressions: number) =>
    ({ arm: "policy", share: "0.1", step, impressions, elapsed: impressions, lists: 1, squares: 1, groups: { 3: impressions } }) as const;
  const counts = (n: number): ModelCounts => ({
    counters: { impressions: 5 * n, converted: n } as never,
    figures: { click: { converted: n, orders: 2, refunds: 1, paid: 10 * n, refunded: 5 } },
    open: { impressions: n, observed: 1, converted: 1 },
    watermark: 100 * n,
    steps: [
      { step: 10 * n, impressions: 1, elapsed: 3, observed: 1, converted: 0, groups: { 3: 1 } },
      { step: 50, impressions: n, elapsed: n, observed: 0, converted: 0, groups: { [n]: n } },
    ],
    bytes: 1000 * n,
    lagMs: n === 1 ? null : 40,
    relearning: n === 1 ? null : { startedAt: 100 - n, done: n, rows: 10 * n, endsAt: 1000 * n },
    earlier: { 0: n, [n]: 1 },
    first: goal(7, 20 * n),
    goals: { click: goal(n, n === 1 ? 5 : null) },
    bars: { 0: n, [n]: 1 },
    buckets: [{ start: 0, arm: "policy", impressions: n, converted: 1, reward: 0.5, square: 0.25 }],
    arms: [
      { arm: "holdout", share: n === 1 ? "0.1" : "0.1/0.2", step: 0, impressions: n, elapsed: 0, lists: 1, squares: 1, groups: { [n]: n } },
      arm(50, n),
    ],
    reached: [{ arm: "policy", share: "0.1", step: 50, goal: "click", conversions: n, converted: 1, conversionSquares: n, products: n }],
    recent: [{ impressionId: `id ${n}`, action: "mug", shownAt: n, modelVersion: 0, sampling: 0, shard: n, status: "pending" }],
  });
  const sum = added([counts(1), counts(2)]);
  expect(sum).toEqual({
    counters: { impressions: 15, converted: 3 },
    figures: { click: { converted: 3, orders: 4, refunds: 2, paid: 30, refunded: 10 } },
    open: { impressions: 3, observed: 2, converted: 2 },
    bytes: 3000,
    lagMs: 40,
    relearning: { startedAt: 98, done: 2, rows: 20, endsAt: 2000 },
    watermark: 100,
    steps: [
      { step: 10, impressions: 1, elapsed: 3, observed: 1, converted: 0, groups: { 3: 1 } },
      { step: 20, impressions: 1, elapsed: 3, observed: 1, converted: 0, groups: { 3: 1 } },
      { step: 50, impressions: 3, elapsed: 3, observed: 0, converted: 0, groups: { 1: 1, 2: 2 } },
    ],
    earlier: { 0: 3, 1: 1, 2: 1 },
    first: {
      delays: [{ cohort: 4, length: 2, bin: 7, arm: "policy", count: 4, delay: 60, groups: { 3: 2, 7: 2 } }],
      latestAt: 40,
      arrivedAt: 40,
      arrivals: [0, 6_300_000],
      reports: [20, 40].map((last) => ({ last, lags: { 0: 2 }, least: 7, until: null, missed: 7, faded: last })),
      quarters: { 0: 2, 7: 2 },
    },
    goals: {
      click: {
        delays: [{ cohort: 4, length: 2, bin: 1, arm: "policy", count: 2, delay: 30, groups: { 1: 1, 3: 1 } }],
        latestAt: 5,
        arrivedAt: 5,
        arrivals: [0, 900_000],
        reports: [{ last: 5, lags: { 0: 2 }, least: 1, until: null, missed: 1, faded: 5 }],
        quarters: { 0: 1, 1: 1 },
      },
    },
    bars: { 0: 3, 1: 1, 2: 1 },
    buckets: [{ start: 0, arm: "policy", impressions: 3, converted: 2, reward: 1, square: 0.5 }],
    arms: [
      { arm: "holdout", share: "0.1", step: 0, impressions: 1, elapsed: 0, lists: 1, squares: 1, groups: { 1: 1 } },
      { ...arm(50, 3), lists: 2, squares: 2 },
      { arm: "holdout", share: "0.1/0.2", step: 0, impressions: 2, elapsed: 0, lists: 1, squares: 1, groups: { 2: 2 } },
    ],
    reached: [{ arm: "policy", share: "0.1", step: 50, goal: "click", conversions: 3, converted: 2, conversionSquares: 3, products: 3 }],
    recent: [
      { impressionId: "id 2", action: "mug", shownAt: 2, modelVersion: 0, sampling: 0, shard: 2, status: "pending" },
      { impressionId: "id 1", action: "mug", shownAt: 1, modelVersion: 0, sampling: 0, shard: 1, status: "pending" },
    ],
  });
  expect(added([sum])).toEqual(sum);
  const { relearning } = added([sum, { ...sum, relearning: { startedAt: 50, done: 0, rows: 5, endsAt: null } }]);
  expect(relearning).toEqual({ startedAt: 50, done: 2, rows: 25, endsAt: null });
  // Sums travel between learners.
  expect(structuredClone(sum)).toEqual(JSON.parse(JSON.stringify(sum)));
});
