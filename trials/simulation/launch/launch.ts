// The first seconds of a new model, while publications are a minute late.

import { stream } from "../../../src/simulation/stream.ts";
import { Caller } from "../caller.ts";
import { NodeWorld } from "../node-world.ts";
import { Clock, Dice } from "../world.ts";
import { SlowKv, Timeline } from "./timeline.ts";

// In the year 2100, so that no real alarm fires by itself.
const START = 4_102_444_800_000;
const EDGES = 4;
/** 100 impressions a second. */
const BETWEEN_MS = 10;
const WINDOW_MS = 60_000;
const MOST_IDLE = 1000;

interface Shop {
  /** Conversion rate of each action. */
  readonly rates: readonly number[];
  /** Mean of the exponential delays. */
  readonly meanDelayMs: number;
}

const tenths = Array.from({ length: 10 }, (_, i) => (i + 1) / 10);

const shops: Readonly<Record<string, Shop>> = {
  "1 to 10 %, mean delay 5 s": { rates: tenths.map((each) => each * 0.1), meanDelayMs: 5000 },
  "5 to 50 %, mean delay 2 s": { rates: tenths.map((each) => each * 0.5), meanDelayMs: 2000 },
};

export interface Launch {
  /** Name of one of the `shops`. */
  readonly shop: string;
  readonly seed: number;
  readonly impressions: number;
  readonly serving: "edge" | "learner";
  /** Methods of the learner whose calls are lost once the model is made. */
  readonly lost?: readonly string[];
}

export interface Launched {
  /** Sum of the best rate minus the rate of the shown action. */
  readonly regret: number;
  /** The version that made each decision. */
  readonly versions: readonly number[];
  /** Times of the writes of the publication to KV after the model's creation, in ms. */
  readonly writes: readonly number[];
  /** Calls of the learner, by method. */
  readonly calls: Readonly<Record<string, number>>;
  /** Errors, and writes that KV refused. */
  readonly wrong: readonly string[];
}

interface Customer {
  /** Index of the isolate that answers. */
  readonly edge: number;
  /** The customer buys a product whose rate is greater. */
  readonly wish: number;
  readonly delayMs: number;
}

/** The same for each way of serving. */
function customersOf({ shop, seed, impressions }: Launch): Customer[] {
  const random = stream(seed, "customers");
  const { meanDelayMs } = shops[shop];
  return Array.from({ length: impressions }, () => {
    return { edge: random.below(EDGES), wish: random(), delayMs: Math.round(-Math.log(1 - random()) * meanDelayMs) };
  });
}

/** Sets the clock, the randomness and the waiting of this thread. */
export type Surround = (surroundings: { now(): number; random(): number; wait(ms: number): Promise<void> }) => void;

/**
 * Plays the first impressions of a new model, which several isolates decide while KV is a minute late. Customers and their delays
 * are the same however the model is served.
 */
export class Opening {
  readonly #launch: Launch;
  readonly #clock = new Clock(START);
  readonly #timeline = new Timeline(this.#clock);
  readonly #services: SlowKv;
  readonly #world: NodeWorld;
  readonly #caller: Caller;
  readonly #wrong: string[] = [];
  readonly #versions: number[] = [];
  #regret = 0;
  #ringing = false;

  constructor(launch: Launch, surround: Surround) {
    this.#launch = launch;
    this.#services = new SlowKv(this.#timeline, this.#clock);
    surround({ now: this.#clock.now, random: stream(launch.seed, "ids"), wait: this.#timeline.wait });
    const model = `launch-${openings++}`;
    this.#world = new NodeWorld(model, this.#clock, this.#services);
    this.#caller = new Caller(model, this.#world, new Dice(launch.seed), this.#clock);
  }

  async play(): Promise<Launched> {
    try {
      await this.#create();
      for (const method of this.#launch.lost ?? []) this.#services.lost.add(method);
      const opened = this.#clock.time;
      customersOf(this.#launch).forEach((customer, i) => {
        this.#timeline.at(opened + i * BETWEEN_MS, () => void this.#visit(customer, i));
      });
      await this.#pass(() => this.#clock.time >= opened + this.#launch.impressions * BETWEEN_MS - 1);
      await this.#pass(() => this.#versions.length === this.#launch.impressions);
      const wrong = [...this.#wrong, ...this.#world.complaints(), ...this.#services.refused.map((key) => `KV refused a write of ${key}`)];
      const writes = (this.#services.writes.get(`model/${this.#caller.model}`) ?? []).map((time) => time - START);
      return { regret: this.#regret, versions: this.#versions, writes, calls: Object.fromEntries(this.#services.calls), wrong };
    } finally {
      this.#world.close();
    }
  }

  async #create(): Promise<void> {
    const { shop, serving } = this.#launch;
    const actions = shops[shop].rates.map((_, i) => ({ id: `product-${i}` }));
    let created = false;
    void (async () => {
      await this.#call("PUT", "", { window: { ms: WINDOW_MS }, serving });
      await this.#call("PUT", "/actions", { actions });
      created = true;
    })();
    await this.#pass(() => created);
  }

  // biome-ignore lint/suspicious/noExplicitAny: what is read of an answer is also checked.
  async #call(method: string, path: string, body: object, edge = 0): Promise<any> {
    const reply = await this.#caller.ofModel(method, path, body, { edge });
    if (!reply || reply.status >= 300) this.#wrong.push(`${method} ${path}: ${reply?.status} ${JSON.stringify(reply?.body)}`);
    return reply?.body;
  }

  /** A customer comes, sees a product, and perhaps buys it later. */
  async #visit({ edge, wish, delayMs }: Customer, i: number): Promise<void> {
    const { rates } = shops[this.#launch.shop];
    const shownAt = this.#clock.time;
    const body = await this.#call("POST", "/recommendations", {}, edge);
    if (!body?.actions) return;
    const [{ id, impressionId }] = body.actions;
    const rate = rates[Number(id.slice("product-".length))];
    this.#regret += Math.max(...rates) - rate;
    this.#versions[i] = body.modelVersion;
    if (wish >= rate) return;
    this.#timeline.at(shownAt + delayMs, () => void this.#buy(`msg-${i}`, impressionId));
  }

  async #buy(name: string, impressionId: string): Promise<void> {
    const reply = await this.#caller.webhook(name, { type: "conversion", timestamp: this.#clock.time, data: { impressionId, reward: 1 } });
    const status = reply?.body.conversions?.[0].status;
    if (!["applied", "orphan"].includes(status)) this.#wrong.push(`${name}: ${reply?.status} ${status}`);
  }

  /** Lets time pass until something is so. Alarms ring when they are due. */
  async #pass(until: () => boolean): Promise<void> {
    for (let idle = 0; !until(); ) {
      idle = this.#timeline.next() ? 0 : idle + 1;
      if (idle > MOST_IDLE) throw new Error("nothing is left to happen");
      // Answers, commits and starts of the core take some turns of the event loop.
      for (let turn = 0; turn < 3; turn++) await this.#world.settle();
      const alarm = this.#world.alarm();
      if (alarm !== null && alarm <= this.#clock.time && !this.#ringing) void this.#ring();
    }
  }

  async #ring(): Promise<void> {
    this.#ringing = true;
    await this.#world.ring();
    this.#ringing = false;
  }
}

let openings = 0;
