import "../../test/support/workerd/modules.ts";
import { Session } from "node:inspector/promises";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { Clock, Dice } from "../../test/simulation/world.ts";
import { surroundWith } from "../../test/support/workerd/globals.ts";

// Replacements of workerd's modules must load before the worker.
const { Caller } = await import("../../test/simulation/caller.ts");
const { NodeWorld } = await import("../../test/simulation/node-world.ts");

const START = 4_102_444_800_000;
const MODEL = "crossing";
const ACTIONS = ["tent", "mug", "lamp"].map((id) => ({ id, features: { kind: id } }));
const CONTEXT = { country: "PT" };

/** What one request has crossed. */
export interface Crossing {
  readonly files: ReadonlyMap<string, number>;
  readonly functions: number;
  readonly calls: number;
  readonly statements: readonly string[];
}

/** Counts calls of functions by V8's own coverage. */
class Crossings {
  readonly #session = new Session();
  #statements: string[] = [];

  async start(): Promise<void> {
    this.#session.connect();
    await this.#session.post("Profiler.enable");
    await this.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  }

  /** Notes a statement of SQL. */
  note(effect: string): void {
    if (effect.startsWith("sql ")) this.#statements.push(effect.slice("sql ".length));
  }

  async of(work: () => Promise<unknown>): Promise<Crossing> {
    // Each answer counts since the one before.
    await this.#session.post("Profiler.takePreciseCoverage");
    this.#statements = [];
    await work();
    const statements = this.#statements;
    const { result } = await this.#session.post("Profiler.takePreciseCoverage");
    const files = new Map<string, number>();
    let functions = 0;
    for (const { url, functions: all } of result) {
      const file = ownFile(url);
      if (!file) continue;
      const called = all.filter(({ functionName, ranges }) => functionName !== "" && ranges[0].count > 0);
      if (called.length === 0) continue;
      functions += called.length;
      files.set(file, (files.get(file) ?? 0) + called.reduce((sum, { ranges }) => sum + ranges[0].count, 0));
    }
    const calls = Array.from(files.values()).reduce((sum, each) => sum + each, 0);
    return { files, functions, calls, statements };
  }
}

/** A file of the worker or of the package, from the root. */
function ownFile(url: string): string | undefined {
  if (!url.startsWith("file:")) return undefined;
  const file = relative(process.cwd(), fileURLToPath(url));
  return /^(worker|publication|dist)\//.test(file) ? file : undefined;
}

/** Plays a visit in a model that runs already, and counts what each of its requests crosses. */
export default async function play(): Promise<Readonly<Record<string, Crossing>>> {
  const [clock, dice, crossings] = [new Clock(START), new Dice(1), new Crossings()];
  surroundWith({ now: clock.now, random: dice.unit, wait: async () => {} });
  const strikes = (_: unknown, effect: string) => crossings.note(effect) as undefined;
  const faultless = { strikes, call: () => undefined, kv: () => undefined, below: () => 0, pause: async () => {} };
  const { error } = console;
  const world = new NodeWorld(MODEL, clock, faultless);
  // The world keeps complaints for a later judgement, and here nothing may go wrong.
  console.error = error;
  const caller = new Caller(MODEL, world, dice, clock);
  const settled = async <T>(work: Promise<T>): Promise<T> => {
    const result = await work;
    for (let turn = 0; turn < 20; turn++) await world.settle();
    return result;
  };
  const { body } = expected(await caller.ofModel("PUT", "", { window: { ms: 3_600_000 } }), 201);
  caller.generation = body.generation;
  expected(await caller.ofModel("PUT", "/actions", { actions: ACTIONS }), 200);
  // The first request of a minute makes the isolate look for a newer catalogue.
  for (let minute = 0; minute < 3; minute++) {
    clock.time += 60_000;
    await settled(caller.ofModel("POST", "/recommendations", { context: CONTEXT }, { edge: 0 }));
  }
  const recommend = async (): Promise<string> => {
    clock.time += 100;
    const reply = expected(await caller.ofModel("POST", "/recommendations", { context: CONTEXT }, { edge: 0 }), 201);
    return reply.body.actions[0].impressionId;
  };
  let events = 0;
  const convert = async (impressionId: string): Promise<void> => {
    const data = { impressionId, reward: 1, timestamp: clock.time };
    const reply = expected(await caller.webhook(`msg_${++events}`, { type: "conversion", timestamp: clock.time, data }), 202);
    if (reply.body.conversions[0].status !== "applied") throw new Error(`expected applied, got ${JSON.stringify(reply.body)}`);
  };
  for (let visitor = 0; visitor < 20; visitor++) {
    const impression = await settled(recommend());
    await world.ring();
    clock.time += 1000;
    await settled(convert(impression));
  }
  await crossings.start();
  let impression = "";
  const recommendation = await crossings.of(async () => {
    impression = await recommend();
  });
  await settled(Promise.resolve());
  clock.time += 1000;
  const conversion = await crossings.of(() => convert(impression));
  world.close();
  return { recommendation, conversion };
}

function expected<Answer extends { readonly status: number }>(reply: Answer | undefined, status: number): Answer {
  if (reply?.status !== status) throw new Error(`expected ${status}, got ${JSON.stringify(reply)}`);
  return reply;
}
