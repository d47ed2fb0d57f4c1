import "./workerd/modules.ts";
import { createHash } from "node:crypto";
import type { Launch, Launched } from "./launch/launch.ts";
import type { Order, Ordered } from "./orders/orders.ts";
import type { Kind } from "./simulation.ts";
import { surroundWith } from "./workerd/globals.ts";

// Replacements of workerd's modules must load before the worker.
const { NodeWorld } = await import("./node-world.ts");
const { Simulation } = await import("./simulation.ts");
const { crashSweep } = await import("./crash-sweep.ts");
const { Opening } = await import("./launch/launch.ts");
const { folded, grown, ordered } = await import("./orders/orders.ts");

export interface Outcome {
  readonly seed: number;
  /** Violated laws and the record of events. Undefined if all laws hold. */
  readonly failure?: string;
  /** Hash of the record of events. */
  readonly course: string;
}

/** Schedules of one kind. */
export interface Schedules extends Kind {
  readonly seeds: readonly number[];
}

/** Runs schedules one after the other in this thread. */
export default async function run({ seeds, ...kind }: Schedules): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const seed of seeds) {
    const simulation = new Simulation(seed, kind, ({ model, clock, dice, weather }) => {
      surroundWith({ now: clock.now, random: dice.unit, wait: () => weather.pause() });
      return new NodeWorld(model, clock, weather);
    });
    const failure = await simulation.run().then(
      () => undefined,
      (error: Error) => error.message,
    );
    outcomes.push({ seed, failure, course: createHash("sha256").update(simulation.trace.join("\n")).digest("hex") });
  }
  return outcomes;
}

/** Plays the first impressions of a new model. */
export function launch(setting: Launch): Promise<Launched> {
  return new Opening(setting, surroundWith).play();
}

/** Plays events through several shards in some order. */
export function order(setting: Order): Promise<Ordered> {
  return ordered(setting, surroundWith);
}

/** The digest of the same events, learnt offline. */
export function fold({ impressions, before }: Pick<Order, "impressions" | "before">): Promise<string> {
  return folded(impressions, before);
}

export { crashSweep, grown };
