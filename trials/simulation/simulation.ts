// One seeded schedule of traffic and faults, which the same seed plays again.

import { verify } from "../../cli/verify/verification.ts";
import { account, exportOf, type LearnerExport } from "./account.ts";
import { Caller, type Reply } from "./caller.ts";
import { ACTIONS, LATER_ACTIONS } from "./scene.ts";
import { Shop } from "./shop.ts";
import { Clock, Dice, Weather, type World } from "./world.ts";

// In the year 2100, so that no real alarm fires by itself.
const START = 4_102_444_800_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Much less than the day for which KV keeps events that a learner may have missed. */
const MOST_PASS_MS = 6 * HOUR_MS;
/** Most shards of a simulated model. */
const MOST_SHARDS = 5;

export interface Setting {
  readonly model: string;
  readonly clock: Clock;
  readonly dice: Dice;
  readonly weather: Weather;
}

/** Further parts of a schedule, beside the traffic and the faults of one learner. */
export interface Kind {
  /** The model has several shards. */
  readonly sharded?: boolean;
  /** The catalogue grows, the shop says what it sold before, late and again, and the log has to repeat all decisions. */
  readonly informed?: boolean;
  /** Most requests come several at once, the learner decides, and the log has to repeat all decisions. */
  readonly crowded?: boolean;
}

/** One schedule: a shop's traffic and all faults, from one seed. */
export class Simulation {
  readonly #seed: number;
  readonly #dice: Dice;
  readonly #clock = new Clock(START);
  readonly #weather: Weather;
  readonly #world: World;
  readonly #caller: Caller;
  readonly #shop: Shop;
  readonly #running = new Set<Promise<unknown>>();
  readonly #failures: unknown[] = [];
  /** Shards whose alarm runs. */
  readonly #ringing = new Set<number>();
  readonly #sharded: boolean;
  readonly #informed: boolean;
  readonly #crowded: boolean;
  #shards = 1;
  #actions = ACTIONS;

  constructor(seed: number, { sharded = false, informed = false, crowded = false }: Kind, worldOf: (setting: Setting) => World) {
    this.#seed = seed;
    this.#sharded = sharded;
    this.#informed = informed;
    this.#crowded = crowded;
    this.#dice = new Dice(seed);
    this.#clock.time += this.#dice.below(HOUR_MS);
    this.#weather = new Weather(this.#dice);
    const model = `shop-${seed}`;
    this.#world = worldOf({ model, clock: this.#clock, dice: this.#dice, weather: this.#weather });
    this.#caller = new Caller(model, this.#world, this.#dice, this.#clock);
    // A bucket is a quarter of the window, at most an hour. With a short window a day has hundreds of buckets to close.
    const windowMs = this.#dice.chance(0.02) ? 10 * MINUTE_MS : this.#dice.pick([2, 4]) * HOUR_MS;
    this.#shop = new Shop(this.#caller, this.#world, this.#dice, this.#clock, windowMs);
  }

  /** The record of events so far. */
  get trace(): readonly string[] {
    return this.#caller.trace;
  }

  /** Runs the schedule. @throws {Error} with the seed and the record if a law is violated in the end. */
  async run(): Promise<void> {
    try {
      await this.#open();
      this.#weather.worsen();
      const steps = 15 + this.#dice.below(30);
      for (let step = 0; step < steps; step++) {
        this.#start(this.#choose());
        await this.#world.settle();
        for (let turns = this.#dice.below(6); turns > 0 && this.#weather.release(); turns--) await this.#world.settle();
      }
      await this.#settleDown();
      await this.#close();
      await this.#check();
    } catch (error) {
      throw new Error(`seed ${this.#seed}: ${(error as Error).message}\n${this.trace.join("\n")}`, { cause: error });
    } finally {
      this.#world.close();
    }
  }

  async #open(): Promise<void> {
    const [policy, options] = this.#dice.pick([
      ["delay-lin-ts", {}],
      ...(this.#sharded || this.#informed || this.#crowded
        ? []
        : [["otf-lin-ucb", {}] as const, ["gp-ucb-sdf", { kernel: { name: "matern52" } }] as const]),
    ] as const);
    if (this.#sharded) this.#shards = this.#dice.pick([1, 2, 3]);
    const body = {
      policy,
      options: { dimension: 4, ...options },
      window: { ms: this.#shop.windowMs },
      seed: this.#dice.below(100),
      ...(this.#sharded ? { shards: this.#shards } : { serving: this.#crowded ? "learner" : this.#dice.pick(["edge", "edge", "learner"]) }),
      publish: { ms: this.#dice.pick([1000, 60_000]) },
      retention: { ms: 30 * DAY_MS },
      ...(this.#dice.chance(0.3) && { goals: { conversion: { weight: 1 }, review: { weight: 0.5 } } }),
      ...(this.#dice.chance(0.3) && { holdout: 0.25 }),
    };
    await this.#finish(async () => {
      const reply = await this.#caller.ofModel("PUT", "", body);
      this.#caller.generation = reply?.body.generation;
      return reply;
    });
    await this.#finish(() => this.#caller.ofModel("PUT", "/actions", { actions: ACTIONS }));
  }

  #choose(): () => Promise<unknown> | unknown {
    if (this.#sharded && this.#dice.chance(0.06)) return () => (this.#dice.chance(0.5) ? this.#grow() : this.#relearn());
    if (this.#informed && this.#dice.chance(0.1)) return () => (this.#dice.chance(0.5) ? this.#stock() : this.#tell());
    const step = this.#dice.pick(TICKETS);
    const scene = {
      caller: this.#caller,
      shop: this.#shop,
      world: this.#world,
      clock: this.#clock,
      dice: this.#dice,
      weather: this.#weather,
    };
    const shard = this.#shards > 1 ? this.#dice.below(this.#shards) : 0;
    const times = this.#crowded && TRAFFIC.has(step) ? this.#dice.below(8) : 1;
    return () => Promise.all(Array.from({ length: times }, () => step({ ...scene, shard, ring: (due) => this.#ring(due, shard) })));
  }

  /** Adds a shard. */
  async #grow(): Promise<void> {
    if (this.#shards >= MOST_SHARDS) return;
    // If no answer comes, the shard may exist.
    const shards = ++this.#shards;
    await this.#caller.ofModel("PATCH", "", { shards });
  }

  /** Adds a product to the catalogue. */
  async #stock(): Promise<void> {
    this.#actions = [...ACTIONS, ...LATER_ACTIONS].slice(0, this.#actions.length + 1);
    await this.#caller.ofModel("PUT", "/actions", { actions: this.#actions });
  }

  /** Says what products sold before, some of which may not be in the catalogue yet, or takes that back. */
  async #tell(): Promise<void> {
    const known = this.#dice.chance(0.2) ? [] : [...ACTIONS, ...LATER_ACTIONS].filter(() => this.#dice.chance(0.7));
    const sales = known.map(({ id }) => ({ action: id, sales: this.#dice.below(60) }));
    await this.#caller.ofModel("PATCH", "", { prior: { sales } });
  }

  /** Makes all shards learn their logs again under another seed of the policy. */
  async #relearn(): Promise<void> {
    await this.#caller.ofModel("POST", "/reset", { from: "log", seed: this.#dice.below(100) });
  }

  /** Rings the alarms of all shards. */
  async #ringAll(): Promise<void> {
    for (let shard = 0; shard < this.#shards; shard++) await this.#ring(true, shard);
  }

  /** An object runs at most one alarm at a time. */
  async #ring(due: boolean, shard: number): Promise<void> {
    const alarm = await this.#world.alarm(shard);
    if (this.#ringing.has(shard) || alarm === null || (due && alarm > this.#clock.now())) return;
    this.#ringing.add(shard);
    this.#caller.note(`the alarm of ${alarm}${shard > 0 ? ` of shard ${shard}` : ""} rings at ${this.#clock.now()}`);
    try {
      await this.#world.ring(shard);
    } finally {
      this.#ringing.delete(shard);
    }
  }

  async #killAll(): Promise<void> {
    for (let shard = 0; shard < this.#shards; shard++) await this.#world.killLearner(shard);
  }

  /** Time of the first alarm of any shard. */
  async #firstAlarm(): Promise<number | null> {
    const alarms = await Promise.all(Array.from({ length: this.#shards }, (_, shard) => this.#world.alarm(shard)));
    const set = alarms.filter((alarm) => alarm !== null);
    return set.length > 0 ? Math.min(...set) : null;
  }

  #start(work: () => Promise<unknown> | unknown): void {
    const running = Promise.resolve(work())
      .catch((error) => this.#failures.push(error))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  #finish(work: () => Promise<unknown> | unknown): Promise<void> {
    this.#start(work);
    return this.#idle();
  }

  /** Waits until nothing runs. */
  async #idle(): Promise<void> {
    for (let turns = 0; this.#running.size > 0 || this.#world.edges.busy; turns++) {
      if (!this.#weather.release() && turns > 10_000) throw new Error("something waits for ever");
      await this.#world.settle();
    }
    while (this.#weather.release()) await this.#world.settle();
  }

  /** Ends all faults, corrects the clocks, and waits until everything is answered. */
  async #settleDown(): Promise<void> {
    this.#weather.calm();
    this.#clock.offset = 0;
    this.#caller.note("faults end");
    await this.#idle();
    // A request that was cancelled has claimed the outbox of its shard for a moment.
    if (this.#sharded) this.#clock.time += 1000;
    await this.#finish(() => this.#shop.flush());
    // An object restarts now and then, and restores a lost alarm.
    await this.#killAll();
    await this.#finish(() => this.#caller.ofModel("GET"));
    if (this.#sharded) await this.#finish(() => this.#caller.ofModel("PATCH", "", { shards: this.#shards }));
    for (let tries = 0; this.#shop.letters.length > 0; tries++) {
      if (tries > 500) throw new Error(`not answered: ${this.#shop.letters.map(({ name }) => name).join(", ")}`);
      const { due } = this.#dice.pick(this.#shop.letters);
      this.#clock.time = Math.min(Math.max(this.#clock.time, due), this.#clock.time + MOST_PASS_MS);
      this.#start(() => this.#ringAll());
      for (const _ of this.#shop.letters) this.#start(() => this.#shop.send());
      await this.#idle();
    }
  }

  /** Lets time pass until all buckets are closed, and sometimes audited, alarm by alarm or after hours without the object. */
  async #close(): Promise<void> {
    const audited = this.#dice.chance(0.2) ? DAY_MS : 0;
    const over = this.#clock.time + this.#shop.windowMs + 2 * HOUR_MS + audited;
    const away = this.#dice.chance(0.75) ? MOST_PASS_MS : 0;
    for (let rings = 0; this.#clock.time < over; rings++) {
      const alarm = (await this.#firstAlarm()) ?? over;
      this.#clock.time = Math.min(Math.max(this.#clock.time, alarm) + away, over);
      if (rings > 1000) throw new Error(`an alarm that is due comes again and again, at ${alarm}`);
      await this.#finish(() => this.#ringAll());
      await this.#finish(() => this.#world.cron());
    }
  }

  async #check(): Promise<void> {
    // The description of several shards is that of their newest publication.
    if (this.#sharded) await this.#finish(() => this.#caller.ofModel("PUT", "/actions", { actions: ACTIONS }));
    const [description, log] = [await this.#read<LearnerExport["description"]>(""), await this.#read<string>("/events")];
    const exported = exportOf(description, log);
    await this.#killAll();
    const { digest } = await this.#read<LearnerExport["description"]>("");
    const wrong = await account(this.#shop, this.#world, exported);
    if (digest !== exported.description.digest) wrong.push("digest: expected the same after a restart, got another");
    if (this.#informed || this.#crowded)
      await verify(() => log.trimEnd().split("\n")).catch((error: Error) => wrong.push(`verify: ${error.message}`));
    wrong.push(...this.#failures.map((error) => (error as Error).stack ?? String(error)), ...this.#world.complaints());
    if (wrong.length > 0) throw new Error(wrong.join("; "));
  }

  async #read<T>(path: string): Promise<T> {
    const replies: (Reply | undefined)[] = [];
    await this.#finish(async () => replies.push(await this.#caller.ofModel("GET", path)));
    if (replies[0]?.status !== 200) throw new Error(`GET ${path} was answered with ${replies[0]?.status}`);
    return replies[0].body;
  }
}

interface Scene {
  readonly caller: Caller;
  readonly shop: Shop;
  readonly world: World;
  readonly clock: Clock;
  readonly dice: Dice;
  readonly weather: Weather;
  /** The shard that the step may concern. */
  readonly shard: number;
  ring(due: boolean): Promise<void>;
}

type Step = (scene: Scene) => Promise<unknown> | unknown;

/** Possible steps, with their weights. */
const STEPS: readonly (readonly [weight: number, step: Step])[] = [
  [70, ({ shop }) => shop.recommend()],
  [30, ({ shop }) => shop.showElsewhere()],
  [60, ({ shop }) => shop.buy()],
  [120, ({ shop }) => shop.send()],
  [5, ({ shop }) => shop.forge()],
  [5, ({ caller }) => caller.ofModel("GET")],
  [6, rollBack],
  [5, ({ world }) => world.cron()],
  [40, ({ clock, dice }) => pass(clock, dice.below(30_000))],
  [20, ({ clock, dice, shop }) => pass(clock, dice.below(shop.windowMs / 10))],
  [15, ({ clock, dice, shop }) => pass(clock, dice.below(Math.min(shop.windowMs, MOST_PASS_MS)))],
  [10, ({ clock, dice }) => setOff(clock, dice.below(50_000) - 25_000)],
  [40, ({ ring }) => ring(true)],
  [5, ({ ring }) => ring(false)],
  [10, fail],
  [10, recover],
  [5, loseAlarm],
  [10, killLearner],
  [10, ({ world, dice }) => world.edges.kill(dice.below(2))],
];
/** The requests of the shop, with which most steps begin. */
const TRAFFIC: ReadonlySet<Step> = new Set(STEPS.slice(0, 4).map(([, step]) => step));
const TICKETS = STEPS.flatMap(([weight, step]) => new Array<Step>(weight).fill(step));

function pass(clock: Clock, ms: number): void {
  clock.time += ms;
}

/** Sets the machines' clocks. The error and KV's lag together stay below the worker's tolerance. */
function setOff(clock: Clock, ms: number): void {
  clock.offset = ms;
}

/** Goes back to the snapshot before the newest. */
async function rollBack({ caller }: Scene): Promise<void> {
  const kept: { readonly version: number }[] = (await caller.ofModel("GET"))?.body.kept ?? [];
  const version = (kept[1] ?? kept[0])?.version;
  if (version !== undefined) await caller.ofModel("POST", "/rollback", { version });
}

function fail({ caller, dice, weather }: Scene): void {
  weather.outage = dice.pick(["learner", "kv"]);
  caller.note(`an outage of ${weather.outage} begins`);
}

function recover({ caller, weather }: Scene): void {
  weather.outage = undefined;
  caller.note("outages end");
}

function loseAlarm({ caller, world, shard }: Scene): Promise<void> | void {
  caller.note(`the alarm of shard ${shard} is lost`);
  return world.loseAlarm(shard);
}

function killLearner({ caller, world, shard }: Scene): Promise<void> | void {
  caller.note(`shard ${shard} is killed`);
  return world.killLearner(shard);
}
