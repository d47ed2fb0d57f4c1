// Plays one course again and again, and fails at another effect or statement each time. The end must be the same.

import { account, exportOf, key, type LearnerExport } from "./account.ts";
import { Caller, type Reply } from "./caller.ts";
import { NodeWorld } from "./node-world.ts";
import { ACTIONS } from "./scene.ts";
import { type Sale, Shop } from "./shop.ts";
import { surroundWith } from "./workerd/globals.ts";
import type { Blow, Faults, Isolate } from "./workerd/isolate.ts";
import { Clock, Dice } from "./world.ts";

const START = 4_102_444_800_000;
const HOUR_MS = 3_600_000;
const WINDOW_MS = 4 * HOUR_MS;
const CONFIG = { options: { dimension: 4 }, window: { ms: WINDOW_MS }, publish: { ms: 1000 } };

/** Strikes at the n-th effect of the whole scenario. No other fault occurs except those of the scenario. */
class BlowAt implements Faults {
  readonly effects: string[] = [];
  learnerIsAway = false;
  /** While set, nothing strikes and no effect is counted. */
  rest = false;
  readonly #n: number;
  readonly #blow: Blow;

  constructor(n: number, blow: Blow) {
    this.#n = n;
    this.#blow = blow;
  }

  strikes({ name }: Isolate, effect: string): Blow | undefined {
    if (this.rest) return undefined;
    return this.effects.push(`${name}: ${effect}`) === this.#n ? this.#blow : undefined;
  }

  call(): "overloaded" | undefined {
    return this.learnerIsAway ? "overloaded" : undefined;
  }

  kv(): undefined {
    return undefined;
  }

  below(limit: number): number {
    return limit - 1;
  }

  async pause(): Promise<void> {}
}

export interface Sweep {
  /** All effects of the scenario, in order. */
  readonly effects: readonly string[];
  /** Violations, by blow. */
  readonly differences: readonly string[];
}

export interface Share {
  readonly traffic: keyof typeof traffics;
  /** The blow: an isolate dies, or an SQL statement fails. */
  readonly blow: Blow;
  /** Number of parts, and the index of this one from 0. */
  readonly part: number;
  readonly parts: number;
}

/**
 * Plays fixed traffic with a blow at each place of this part. All laws must hold in the end. If the traffic is the same however
 * often it is sent, the outcome must equal that of the run without a blow.
 */
export async function crashSweep({ traffic, blow, part, parts }: Share): Promise<Sweep> {
  const { repeatable } = traffics[traffic];
  const steady = await play(traffic, blow, 0);
  const differences = [...steady.wrong];
  const places = [...placesOf(steady.effects, blow)].filter((_, i) => i % parts === part);
  for (const n of places) {
    const { outcome, wrong } = await play(traffic, blow, n).catch((error: Error) => ({
      outcome: error.stack ?? error.message,
      wrong: [error.message],
    }));
    const where = `${blow} ${n}, at ${steady.effects[n - 1]}`;
    if (repeatable && outcome !== steady.outcome) differences.push(`${where}: ${outcome} instead of ${steady.outcome}`);
    differences.push(...wrong.map((each) => `${where}: ${each}`));
  }
  return { effects: steady.effects, differences };
}

/**
 * The effects at which a blow may have an end of its own. An error strikes each statement. A death loses all of a transaction wherever
 * it strikes inside, and reads have no consequences: deaths there have the end of a neighbour.
 */
function* placesOf(effects: readonly string[], blow: Blow): Generator<number> {
  let within = false;
  for (const [i, effect] of effects.entries()) {
    const isStatement = effect.includes(": sql ");
    const readsAgain = effect.endsWith(": sql SELECT") && effect === effects[i - 1];
    if (blow === "error" ? isStatement : !within && !readsAgain) yield i + 1;
    within = effect.endsWith(": transaction") || (within && isStatement);
  }
}

async function play(traffic: Share["traffic"], blow: Blow, n: number) {
  const model = `${traffic}-${blow}-${n}`;
  const clock = new Clock(START);
  const dice = new Dice(1);
  const faults = new BlowAt(n, blow);
  surroundWith({ now: clock.now, random: dice.unit, wait: () => faults.pause() });
  const world = new NodeWorld(model, clock, faults);
  const caller = new Caller(model, world, dice, clock);
  // Time stands still until the model is created.
  caller.generation = START;
  const shop = new Shop(caller, world, dice, clock, WINDOW_MS);
  const scene = { clock, faults, world, caller, shop };
  try {
    await traffics[traffic].run(scene);
    await close(scene);
    const exported = await read(scene);
    return {
      outcome: outcomeOf(exported),
      effects: faults.effects,
      wrong: [...(await account(shop, world, exported)), ...world.complaints()],
    };
  } finally {
    world.close();
  }
}

interface Scene {
  readonly clock: Clock;
  readonly faults: BlowAt;
  readonly world: NodeWorld;
  readonly caller: Caller;
  readonly shop: Shop;
}

/** Registration, orphans, events only in KV, publication, conflicts, restatements, retractions, late events. */
async function reported({ clock, faults, world, caller, shop }: Scene): Promise<void> {
  // Ids are drawn before the first blow.
  const [first, second, third, fourth] = await Promise.all([0, 1, 2, 3].map((i) => shop.show(ACTIONS[i % 3].id, START + i)));
  const sale = ({ id: impression }: { readonly id: string }, event: string, reward: number | null, seconds: number): Sale => {
    return { impression, goal: "conversion", event, reward, at: START + seconds * 1000, answers: new Map() };
  };
  await create(caller);
  for (const shown of [first, second, third]) shop.register(shown);
  clock.time += 20_000;
  shop.report("a", "conversion", [sale(first, "a 0", 1, 10), sale(second, "a 1", 0.5, 11), sale(fourth, "a 2", 1, 12)]);
  await shop.sendAll();
  faults.learnerIsAway = true;
  shop.report("b", "conversion", [sale(third, "b", 0.25, 20)]);
  await shop.sendAll();
  faults.learnerIsAway = false;
  await world.ring();
  shop.register(fourth);
  shop.report("c", "conversion", [sale(first, "c", 0.25, 15)]);
  shop.report("c", "conversion", [sale(first, "c", 0.75, 15)]);
  shop.report("d", "conversion.retracted", [sale(second, "d", null, 16)]);
  await shop.sendAll();
  clock.time += WINDOW_MS + 90_000;
  shop.report("e", "conversion", [sale(second, "e", 1, WINDOW_MS / 1000 + 60)]);
  await shop.sendAll();
}

/** Recommendations by an isolate at the edge, which registers them after its answers, and conversions of these impressions. */
async function recommended({ clock, faults, world, caller, shop }: Scene): Promise<void> {
  // A blow during creation is among the reported ones.
  faults.rest = true;
  await create(caller);
  faults.rest = false;
  for (let round = 0; round < 3; round++) {
    await shop.recommend(0);
    await world.settle();
    clock.time += 15_000;
    shop.buy();
    await world.ring();
  }
  clock.time += WINDOW_MS;
  await shop.sendAll();
  // The isolate registers remaining impressions with its next recommendation, when nothing strikes.
  faults.rest = true;
  await shop.flush();
  await world.settle();
  faults.rest = false;
}

const traffics = {
  reported: { run: reported, repeatable: true },
  recommended: { run: recommended, repeatable: false },
};

async function create(caller: Caller): Promise<void> {
  await until(() => caller.ofModel("PUT", "", CONFIG));
  await until(() => caller.ofModel("PUT", "/actions", { actions: ACTIONS }));
}

async function until(send: () => Promise<Reply | undefined>): Promise<Reply> {
  for (let tries = 0; tries < 5; tries++) {
    const reply = await send();
    if (reply && reply.status < 300) return reply;
  }
  throw new Error("not answered");
}

/** Runs alarms until all buckets are closed. */
async function close({ caller, clock, world }: Scene): Promise<void> {
  // Starts the object if it has died.
  await caller.ofModel("GET");
  clock.time += WINDOW_MS + 2 * HOUR_MS;
  // A failed alarm is retried soon.
  const soon = clock.time + HOUR_MS / 2;
  for (let rings = 0; (world.alarm() ?? soon) < soon; rings++) {
    if (rings > 10) throw new Error("the alarm never rests");
    clock.time = Math.max(clock.time, world.alarm() ?? 0);
    await world.ring();
  }
}

async function read({ caller }: Scene): Promise<LearnerExport> {
  const { body: description } = await until(() => caller.ofModel("GET"));
  const { body: log } = await until(() => caller.ofModel("GET", "/events"));
  return exportOf(description, log);
}

/** The part of the outcome that is the same however often requests were sent: without the order of arrival and repetitions. */
function outcomeOf({ description, impressions, conversions }: LearnerExport): string {
  const { duplicate: _, applied, conflict, ...counts } = description.counts;
  const lines = [
    ...impressions.map(({ id, state, reward }) => [id, state, reward]),
    ...conversions.map(({ status, type: _, ...line }) => [key(line), status === "conflict" ? "applied" : status]),
  ];
  const sorted = lines.map((line) => JSON.stringify(line)).sort();
  return JSON.stringify({ digest: description.digest, counts: { ...counts, joined: applied + conflict }, lines: sorted });
}
