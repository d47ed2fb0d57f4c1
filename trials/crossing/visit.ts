// Plays the visits whose calls, files and statements `npm run crossing` counts. `trace.ts` counts them.

import "../simulation/workerd/modules.ts";
import { surroundWith } from "../simulation/workerd/globals.ts";
import { Clock, Dice } from "../simulation/world.ts";
import { type Crossing, crossingOf, noteStatement } from "./trace.ts";

// Replacements of workerd's modules must load before the worker.
const { Caller } = await import("../simulation/caller.ts");
const { NodeWorld } = await import("../simulation/node-world.ts");

const START = 4_102_444_800_000;
const MODEL = "crossing";
/** Visitors before those that count. A young model publishes after nearly every visitor. */
const EARLIER = 60;
/** Visitors of which the shortest way counts: others make the model publish, or solve for its mean. */
const COUNTED = 20;
const ACTIONS = ["tent", "mug", "lamp"].map((id) => ({ id, features: { kind: id } }));
const CONTEXT = { country: "PT" };

/** The code that the requests of one visit have crossed. */
type Visit = Readonly<Record<"recommendation" | "registration" | "conversion", Crossing>>;

/** Plays visits in a model, and counts what the requests of a steady one cross. */
export default async function play(): Promise<Visit> {
  const [clock, dice] = [new Clock(START), new Dice(1)];
  // The isolate waits for this before it registers what it has shown.
  let registers = Promise.resolve();
  surroundWith({ now: clock.now, random: dice.unit, wait: () => registers });
  const strikes = (_: unknown, effect: string): undefined => {
    if (effect.startsWith("sql ")) noteStatement(effect.slice("sql ".length));
  };
  const faultless = { strikes, call: () => undefined, kv: () => undefined, below: () => 0, pause: async () => {} };
  const { error } = console;
  const world = new NodeWorld(MODEL, clock, faultless);
  // The world keeps complaints for a later judgement, and here nothing may go wrong.
  console.error = error;
  const caller = new Caller(MODEL, world, dice, clock);
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await world.settle();
  };
  const { body } = expected(await caller.ofModel("PUT", "", { window: { ms: 3_600_000 } }), 201);
  caller.generation = body.generation;
  expected(await caller.ofModel("PUT", "/actions", { actions: ACTIONS }), 200);
  // The first request of a minute makes the isolate look for a newer catalogue.
  for (let minute = 0; minute < 3; minute++) {
    clock.time += 60_000;
    await caller.ofModel("POST", "/recommendations", { context: CONTEXT }, { edge: 0 });
    await settle();
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
  const visits: Visit[] = [];
  for (let visitor = 0; visitor < EARLIER + COUNTED; visitor++) {
    const held = Promise.withResolvers<void>();
    registers = held.promise;
    let impression = "";
    const recommendation = await crossingOf(async () => {
      impression = await recommend();
    });
    const registration = await crossingOf(() => {
      held.resolve();
      return settle();
    });
    if ((world.alarm() ?? Number.POSITIVE_INFINITY) <= clock.time) await world.ring();
    clock.time += 1000;
    const conversion = await crossingOf(() => convert(impression));
    await settle();
    visits.push({ recommendation, registration, conversion });
  }
  world.close();
  const shortest = (part: keyof Visit): Crossing => {
    return visits.slice(EARLIER).reduce((least, visit) => (visit[part].calls < least.calls ? visit[part] : least), visits[EARLIER][part]);
  };
  return { recommendation: shortest("recommendation"), registration: shortest("registration"), conversion: shortest("conversion") };
}

function expected<Answer extends { readonly status: number }>(reply: Answer | undefined, status: number): Answer {
  if (reply?.status !== status) throw new Error(`expected ${status}, got ${JSON.stringify(reply)}`);
  return reply;
}
