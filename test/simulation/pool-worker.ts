import "../support/workerd/modules.ts";
import { createHash } from "node:crypto";
import { surroundWith } from "../support/workerd/globals.ts";

// What only workerd has must be in place before anything of the worker is loaded.
const { NodeWorld } = await import("./node-world.ts");
const { Simulation } = await import("./simulation.ts");
const { crashSweep } = await import("./crash-sweep.ts");

export interface Outcome {
  readonly seed: number;
  /** Which laws do not hold, and all that happened; undefined if all hold. */
  readonly failure?: string;
  /** Hash of all that happened. */
  readonly course: string;
}

/** Runs schedules, one after the other, in this thread. */
export default async function run(seeds: readonly number[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const seed of seeds) {
    const simulation = new Simulation(seed, ({ model, clock, dice, weather }) => {
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

export { crashSweep };
