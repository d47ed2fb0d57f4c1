import { delayLinTs, type Policy, Recommender } from "afterclick";
import fc from "fast-check";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Disk, durableStorage } from "../../../trials/simulation/workerd/durable-storage.ts";
import { type Faults, Isolate } from "../../../trials/simulation/workerd/isolate.ts";
import { uuidAt } from "../../../worker/domain/ids/uuid.ts";
import { configureModel, type ModelConfig } from "../../../worker/domain/model/model.ts";
import type { Environment } from "../../../worker/environment.ts";
import { Ingestion } from "../../../worker/learner/model/ingestion.ts";
import type { LearningModel } from "../../../worker/learner/model/learning-model.ts";
import { isMissing } from "../../../worker/learner/model/ledger.ts";
import { ModelHolder } from "../../../worker/learner/model/model-holder.ts";
import type { KeyHome } from "../../../worker/learner/shards/key-home.ts";
import { LearnerStore } from "../../../worker/learner/store/learner-store.ts";
import { expectCounted } from "./first-conversions.ts";
import { type Event, LedgerModel } from "./ledger-model.ts";

// Compares the worker's ledger, tables and policy with a model of its rules, under any sequence of calls.

const environment = {} as Environment;
const oneShard: Pick<KeyHome, "forward"> = { forward: async (events, enter) => [...enter(events)] };
const MINUTE_MS = 60_000;
const WINDOW_MS = 8 * MINUTE_MS;
const BUCKET_MS = 2 * MINUTE_MS;
const START = 1_795_262_400_000;
const WEIGHTS = { order: 0.3, review: -0.7 };

/** Times at which impressions are shown, in ms after the start. Buckets end at 2, 4 and 6 minutes. */
const SHOWN = [0, 119_999, 120_000, 200_000, 250_000, 359_999];
const shownAt = (place: number) => START + SHOWN[place];
const ids = SHOWN.map((_, place) => uuidAt(shownAt(place), new Uint8Array(10).fill(place + 1)));
const features = (place: number) => Float64Array.of((place + 1) / 8, 0.5);
const placeOf = (id: string) => ids.indexOf(id);

const faultless: Faults = { strikes: () => undefined, call: () => undefined, kv: () => undefined, below: () => 0, pause: async () => {} };

const options = { dimension: 2, shrinkage: "fixed" } as const;
const body = {
  policy: "delay-lin-ts",
  options,
  window: { ms: WINDOW_MS },
  reward: { min: -1, max: 1 },
  goals: { order: { weight: WEIGHTS.order }, review: { weight: WEIGHTS.review } },
};

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

class World {
  readonly disk = new Disk();
  readonly store: LearnerStore;
  readonly config: ModelConfig;
  readonly model = new LedgerModel({
    windowMs: WINDOW_MS,
    bucketMs: BUCKET_MS,
    weights: WEIGHTS,
    shownAt: (id) => shownAt(placeOf(id)),
    feature: placeOf,
  });
  #current: ModelHolder;
  #version?: number;

  constructor(config: ModelConfig) {
    this.config = config;
    this.store = new LearnerStore(durableStorage(this.disk, new Isolate("learner", faultless)));
    this.store.create({ name: "shop", config, generation: START, watermark: 0, homes: 1 });
    this.#current = new ModelHolder(environment, this.store);
  }

  get replica(): LearningModel {
    return this.#current.get().live;
  }

  async show(place: number, deferred: boolean): Promise<void> {
    // A learner refuses impressions from before the forgotten time.
    if (shownAt(place) < this.model.horizon) return;
    const policies = await this.replica.start();
    const row = { id: ids[place], name: null, action: "mug", features: features(place), context: null, arm: "policy" as const };
    const rows = [{ ...row, version: 0, decision: null, byPage: false, keys: [] }];
    const [{ status }] = deferred ? this.replica.register(policies, [], rows) : this.replica.register(policies, rows);
    expect(status).toBe(this.model.show(ids[place], deferred ? "deferred" : "live"));
  }

  async activate(place: number): Promise<void> {
    const policies = await this.replica.start();
    const impression = this.store.impressions.find(ids[place]);
    if (impression) this.replica.activate(policies, impression);
    this.model.activate(ids[place]);
  }

  enter(events: readonly Event[]): void {
    const valid = ({ goal, reward }: Event) => Object.hasOwn(WEIGHTS, goal) && (reward === null || Math.abs(reward) <= 1);
    for (const event of events) {
      const erased = this.store.impressions.find(event.impression)?.erased === true;
      const missing = shownAt(placeOf(event.impression)) >= this.model.horizon && valid(event) && !erased && !this.model.knows(event);
      // The KV journal has rounded its rewards.
      const rounded = { ...event, reward: event.reward === null ? null : Math.trunc(event.reward * 4096) / 4096 };
      expect(isMissing(this.store, rounded, this.config)).toBe(missing);
    }
    const ingestion = new Ingestion(this.store, this.#current, oneShard);
    expect(ingestion.enter(events).map(({ status }) => status)).toEqual(events.map((event) => this.model.enter(event)));
  }

  async keep(): Promise<void> {
    await this.replica.snapshot();
    this.#version = this.store.snapshots.versions()[0];
    this.model.keep();
  }

  async rollBack(): Promise<void> {
    if (this.#version === undefined || !this.model.rollBack()) return;
    await this.replica.rollBack(this.#version);
  }

  close(bucket: number): void {
    this.store.transact(() => this.store.close(START + bucket * BUCKET_MS));
    this.model.close(START + bucket * BUCKET_MS);
  }

  async prune(bucket: number): Promise<void> {
    const before = Math.min(START + bucket * BUCKET_MS, this.model.watermark);
    await this.replica.snapshotAnd(() => this.store.prune(before));
    this.model.prune(before);
  }

  async erase(place: number): Promise<void> {
    const stored = this.store.impressions.find(ids[place]);
    if (stored?.erased || (!stored && shownAt(place) < this.model.horizon)) return;
    await this.replica.snapshotAnd(() => this.store.erase(ids[place]));
    this.model.erase(ids[place]);
  }

  /** Continues in another isolate. */
  restart(): void {
    this.#current = new ModelHolder(environment, this.store);
  }

  async compare(): Promise<void> {
    const { store, model } = this;
    expect(store.counters.all()).toMatchObject(model.counts());
    for (const id of ids) {
      const stored = store.impressions.find(id);
      expect({ state: stored?.state, reward: stored?.reward ?? null }).toEqual({ state: model.state(id), reward: model.reward(id) });
    }
    const rows = ids.flatMap((id) => store.conversions.of(id).filter(({ goal }) => goal !== ""));
    expect(rows.map(({ seq: _, key: __, action: ___, ...row }) => row)).toEqual(ids.flatMap((id) => model.rows(id)));
    const [{ policy }] = await this.replica.start();
    expect(learntOf(policy)).toEqual(learntOf(await this.#expected()));
    const live = Array.from(model.learnt).filter(([id]) => model.state(id) === "live");
    const converted = live.map(([id, { goals }]) => {
      const delays = Object.fromEntries(Object.entries(goals).map(([goal, { delay }]) => [goal, delay]));
      return { shownAt: shownAt(placeOf(id)), action: "mug", arm: "" as const, delays };
    });
    expectCounted(store, converted, this.config);
    store.transact(() => store.delays.rebuild(this.config));
    expectCounted(store, converted, this.config);
  }

  /** A policy that has learnt each impression once, with its present reward and delay. */
  async #expected(): Promise<Policy> {
    const { window, reward, goals } = body;
    const { policy } = await Recommender.create({ policy: delayLinTs(options), window, reward, goals });
    for (const [id, learnt] of this.model.learnt) {
      const impression = policy.append({ features: features(learnt.feature), round: policy.impressions + 1, now: shownAt(placeOf(id)) });
      if (learnt.reward !== 0 || Object.keys(learnt.goals).length > 0)
        policy.observe({ impression, reward: learnt.reward, goals: { before: {}, after: learnt.goals } });
    }
    return policy;
  }
}

/** Digest of the sums, and predictions. These depend on the delays too. */
function learntOf(policy: Policy): object {
  policy.refactor();
  return { digest: policy.digest(), intervals: policy.interval([features(0), features(3)]) };
}

const place = fc.nat({ max: SHOWN.length - 1 });
const bucket = fc.integer({ min: 0, max: 3 });
const event = fc
  .record({
    place,
    goal: fc.constantFrom("order", "order", "review", "click"),
    event: fc.constantFrom("x", "y", "z"),
    delay: fc.constantFrom(-1, 0, 5, 5, WINDOW_MS, WINDOW_MS + 1),
    reward: fc.constantFrom(0.3, 0.3, 1, -0.9, 0, null, null, 1.5),
  })
  .map(({ place, goal, event, delay, reward }): Event => ({ impression: ids[place], goal, event, at: shownAt(place) + delay, reward }));

/** A step, with a description for counterexamples. */
const act = (name: string, take: (world: World) => Promise<void>) => Object.assign(take, { [fc.toStringMethod]: () => name });
const step = fc.oneof(
  {
    weight: 12,
    arbitrary: fc
      .array(event, { minLength: 1, maxLength: 3 })
      .map((events) => act(JSON.stringify(events), async (world) => world.enter(events))),
  },
  { weight: 6, arbitrary: place.map((at) => act(`show ${at}`, (world) => world.show(at, false))) },
  { weight: 2, arbitrary: place.map((at) => act(`defer ${at}`, (world) => world.show(at, true))) },
  { weight: 2, arbitrary: place.map((at) => act(`activate ${at}`, (world) => world.activate(at))) },
  { weight: 1, arbitrary: bucket.map((end) => act(`close ${end}`, async (world) => world.close(end))) },
  { weight: 1, arbitrary: bucket.map((end) => act(`prune ${end}`, (world) => world.prune(end))) },
  { weight: 1, arbitrary: place.map((at) => act(`erase ${at}`, (world) => world.erase(at))) },
  { weight: 1, arbitrary: fc.constant(act("keep", (world) => world.keep())) },
  { weight: 1, arbitrary: fc.constant(act("roll back", (world) => world.rollBack())) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(1000, 20_000, MINUTE_MS, WINDOW_MS, 10 * WINDOW_MS)
      .map((ms) => act(`wait ${ms}`, async () => void vi.setSystemTime(Date.now() + ms))),
  },
  { weight: 1, arbitrary: fc.constant(act("restart", async (world) => world.restart())) },
);

it("is its model after any sequence of calls", async () => {
  const config = await configureModel(body);
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
      vi.setSystemTime(shownAt(SHOWN.length - 1));
      const world = new World(config);
      try {
        for (const each of steps) await each(world);
        await world.compare();
      } finally {
        world.disk.close();
      }
    }),
    { numRuns: 120 },
  );
});
