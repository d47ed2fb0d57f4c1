import { uniformInt } from "pure-rand/distribution/uniformInt";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";
import type { Edges } from "./edges.ts";
import type { Blow, CallFault, Faults, Isolate, KvFault } from "./workerd/isolate.ts";

/** The environment of a simulation: isolates at the edge, KV, and the learners of one model. */
export interface World {
  readonly edges: Edges;
  killLearner(shard?: number): Promise<void> | void;
  /** Time of a learner's alarm, ms since 1970. */
  alarm(shard?: number): Promise<number | null> | number | null;
  loseAlarm(shard?: number): Promise<void> | void;
  /** Runs the alarm, whatever the time. */
  ring(shard?: number): Promise<boolean>;
  /** The scheduled wake-up of all learners. */
  cron(): Promise<void>;
  /** Lets everything continue that waits for nothing outside. */
  settle(): Promise<void>;
  /** Unexpected errors, which no fault caused. */
  complaints(): readonly string[];
  close(): void;
}

/** All random choices of one simulation, in one sequence. */
export class Dice {
  readonly #generator: ReturnType<typeof xoroshiro128plus>;

  constructor(seed: number) {
    this.#generator = xoroshiro128plus(seed);
  }

  /** A whole number from 0 to `limit` - 1. */
  readonly below = (limit: number): number => uniformInt(this.#generator, 0, limit - 1);

  /** Uniform in [0, 1). */
  readonly unit = (): number => this.below(2 ** 30) / 2 ** 30;

  chance(probability: number): boolean {
    return probability > 0 && this.unit() < probability;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)];
  }
}

/** The true time, and the time on the machines' clocks. KV uses the true time. Milliseconds since 1970. */
export class Clock {
  time: number;
  /** Offset of the machines' clocks. */
  offset = 0;
  /** The latest time that a machine has read. */
  latest = 0;

  constructor(time: number) {
    this.time = time;
  }

  readonly now = (): number => {
    const now = this.time + this.offset;
    this.latest = Math.max(this.latest, now);
    return now;
  };
}

/** Highest rate of each fault, per effect, call or operation of KV. */
const RATES = {
  death: 0.02,
  error: 0.005,
  lost: 0.3,
  "reply lost": 0.3,
  overloaded: 0.2,
  refused: 0.3,
  "done but failed": 0.2,
  stale: 0.6,
} as const;
type Sort = keyof typeof RATES;

/** Faults with rates that differ by simulation. Many are absent from a simulation, so that the others show alone. */
export class Weather implements Faults {
  readonly below: (limit: number) => number;
  readonly #rates: Record<string, number> = {};
  readonly #dice: Dice;
  readonly #waiting: (() => void)[] = [];
  #calm = true;
  /** The service that is unreachable for a while. */
  outage: "learner" | "kv" | undefined;

  constructor(dice: Dice) {
    this.#dice = dice;
    this.below = dice.below;
    for (const [sort, most] of Object.entries(RATES)) this.#rates[sort] = dice.chance(0.5) ? most * dice.unit() ** 2 : 0;
  }

  /** No fault occurs until `worsen` is called. */
  calm(): void {
    this.#calm = true;
  }

  worsen(): void {
    this.#calm = false;
  }

  #first<S extends Sort>(...sorts: readonly S[]): S | undefined {
    return this.#calm ? undefined : sorts.find((sort) => this.#dice.chance(this.#rates[sort]));
  }

  strikes(_isolate: Isolate, _effect: string): Blow | undefined {
    return this.#first("death", "error");
  }

  call(): CallFault | undefined {
    return !this.#calm && this.outage === "learner" ? "overloaded" : this.#first("lost", "reply lost", "overloaded");
  }

  kv(): KvFault | undefined {
    return !this.#calm && this.outage === "kv" ? "refused" : this.#first("refused", "done but failed", "stale");
  }

  pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  /** Lets one waiting network operation continue. Returns whether there was one. */
  release(): boolean {
    if (this.#waiting.length === 0) return false;
    const [resolve] = this.#waiting.splice(this.#dice.below(this.#waiting.length), 1);
    resolve();
    return true;
  }
}
