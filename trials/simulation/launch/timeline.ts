// Simulated time for many callers at once, and the slowest KV that the platform allows.

import type { CallFault, Faults, KvFault } from "../workerd/isolate.ts";
import type { Clock } from "../world.ts";

/** Time of a message in one direction. */
const NETWORK_MS = 5;

interface Moment {
  readonly at: number;
  readonly begin: () => void;
}

/** Simulated time that runs from one awaited moment to the next. */
export class Timeline {
  readonly #clock: Clock;
  /** In order of time. Moments of one time keep their order. */
  readonly #moments: Moment[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  at(at: number, begin: () => void): void {
    const place = this.#moments.findLastIndex((moment) => moment.at <= at) + 1;
    this.#moments.splice(place, 0, { at, begin });
  }

  readonly wait = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      this.at(this.#clock.time + ms, resolve);
    });

  /** Goes on to the next moment. Returns false if none is left. */
  next(): boolean {
    const next = this.#moments.shift();
    if (!next) return false;
    this.#clock.time = Math.max(this.#clock.time, next.at);
    next.begin();
    return true;
  }
}

/**
 * Services without failures. KV shows the state of a minute ago, including the absence of a key, which is the worst that a location
 * can see. It refuses a second write of a key within a second, and records all writes.
 */
export class SlowKv implements Faults {
  /** Times of the writes of each key. */
  readonly writes = new Map<string, number[]>();
  /** Calls of the learner, by method. */
  readonly calls = new Map<string, number>();
  /** Keys of refused writes. */
  readonly refused: string[] = [];
  /** Methods of the learner whose calls are lost. */
  readonly lost = new Set<string>();
  readonly pause: () => Promise<void>;
  readonly #clock: Clock;

  constructor(timeline: Timeline, clock: Clock) {
    this.pause = () => timeline.wait(NETWORK_MS);
    this.#clock = clock;
  }

  strikes(): undefined {}

  call(method: string): CallFault | undefined {
    this.calls.set(method, (this.calls.get(method) ?? 0) + 1);
    return this.lost.has(method) ? "lost" : undefined;
  }

  kv(operation: string, key = ""): KvFault | undefined {
    if (operation !== "put") return "stale";
    const writes = this.writes.get(key) ?? [];
    this.writes.set(key, [...writes, this.#clock.time]);
    if (this.#clock.time - (writes.at(-1) ?? 0) >= 1000) return undefined;
    this.refused.push(key);
    return "refused";
  }

  below(limit: number): number {
    return limit - 1;
  }
}
