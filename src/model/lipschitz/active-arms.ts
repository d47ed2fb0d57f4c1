// The arms that zooming plays, with their confidence balls.

import { outOfRange } from "../../values/argument.ts";
import { counted, malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import type { AppendedPoint } from "../posterior.ts";
import { Covering } from "./covering.ts";
import type { MetricSpace } from "./metric-space.ts";

export interface ActiveArmsOptions {
  /** Radius of an arm without rewards. With v rewards, the radius is this over sqrt(1 + v). */
  readonly radius: number;
  /** Whether rewards wait for the next pull of an arm that has enough rewards since its last pull. */
  readonly lazy: boolean;
  /** Least value of v_s in v + 1 <= 4 v_s. */
  readonly lazyFloor: 0 | 1;
  /** Index of an arm without rewards: infinite ("first"), or the index for a mean of 0 ("zero"). */
  readonly unobserved: "first" | "zero";
}

interface Arm {
  /** Place of its point in the space. */
  readonly place: number;
  pulls: number;
  /** Rewards in the mean (v), and rewards in the mean at the last pull (v_s). */
  observed: number;
  observedAtPull: number;
  sum: number;
  /** Rewards that wait for the next pull (Q). */
  cache: { readonly slot: number; reward: number }[];
}

/** Numbers per arm in a snapshot, without its waiting rewards. */
const SAVED = 6;

/** The arms that zooming has activated, with their means, their confidence balls and their waiting rewards. */
export class ActiveArms {
  readonly #space: MetricSpace;
  readonly #options: ActiveArmsOptions;
  readonly #covering: Covering;
  /** In order of activation. */
  readonly #arms: Arm[] = [];
  /** For each place of the space the position of its arm in `#arms`, or -1. */
  readonly #armAt: Int32Array;
  /** For each arm its index: the upper confidence bound that zooming maximises. */
  readonly #index: number[] = [];
  #pulls = 0;

  constructor(space: MetricSpace, options: ActiveArmsOptions) {
    this.#space = space;
    this.#options = options;
    this.#covering = new Covering(space);
    this.#armAt = new Int32Array(space.count).fill(-1);
  }

  /** The points outside all confidence balls. */
  get covering(): Pick<Covering, "uncovered" | "uncoveredAt"> {
    return this.#covering;
  }

  /** Place of the arm with the greatest index. Among equals the first activated arm wins. */
  best(): number {
    let best = 0;
    for (let i = 1; i < this.#index.length; i++) if (this.#index[i] > this.#index[best]) best = i;
    return this.#arms[best].place;
  }

  /** Mean and radius of the arm at a place. Without rewards: 0 and the widest radius. */
  estimate(place: number): { mean: number; radius: number } {
    const arm = this.#arms[this.#armAt[place]];
    if (!arm || arm.observed === 0) return { mean: 0, radius: this.#options.radius };
    return { mean: arm.sum / arm.observed, radius: this.#radius(arm.observed) };
  }

  #radius(observed: number): number {
    return this.#options.radius / Math.sqrt(1 + observed);
  }

  /** Pulls the arm at a point, and activates it on the first pull. The slot encodes the pull and the place. */
  append(features: Float64Array): number {
    const place = this.#space.places.indexOf(features);
    if (this.#armAt[place] < 0) this.#activate({ place, pulls: 0, observed: 0, observedAtPull: 0, sum: 0, cache: [] });
    const i = this.#armAt[place];
    const arm = this.#arms[i];
    arm.pulls++;
    arm.observedAtPull = arm.observed;
    if (arm.cache.length > 0) this.#flush(i);
    return this.#pulls++ * this.#space.count + place;
  }

  #activate(arm: Arm): void {
    const i = this.#arms.push(arm) - 1;
    this.#armAt[arm.place] = i;
    this.#covering.cover(arm.place, this.#radius(arm.observed));
    this.#refresh(i);
  }

  #flush(i: number): void {
    const arm = this.#arms[i];
    for (const { reward } of arm.cache) arm.sum += reward;
    arm.observed += arm.cache.length;
    arm.cache = [];
    this.#covering.shrink(i, this.#radius(arm.observed));
    this.#refresh(i);
  }

  #refresh(i: number): void {
    const { observed, sum } = this.#arms[i];
    const first = observed === 0 && this.#options.unobserved === "first";
    const mean = observed === 0 ? 0 : sum / observed;
    this.#index[i] = first ? Number.POSITIVE_INFINITY : mean + 2 * this.#radius(observed);
  }

  /** @throws {RangeError} for a first reward if the arm has one for every pull. */
  observe({ slot }: AppendedPoint, reward: number, previous: number | undefined): void {
    const i = this.#armAt[slot % this.#space.count] ?? -1;
    if (i < 0) throw outOfRange("impression.slot", "a slot that append returned", slot);
    const arm = this.#arms[i];
    const cached = previous === undefined ? undefined : arm.cache.find((each) => each.slot === slot);
    if (previous === undefined && arm.observed + arm.cache.length >= arm.pulls) {
      throw outOfRange("impression.slot", `the slot of a pull without a reward (its arm has one for each of ${arm.pulls} pulls)`, slot);
    }
    if (cached) {
      cached.reward = reward;
      return;
    }
    if (previous !== undefined) arm.sum += reward - previous;
    else if (this.#caches(arm)) arm.cache.push({ slot, reward });
    else {
      arm.observed++;
      arm.sum += reward;
      this.#covering.shrink(i, this.#radius(arm.observed));
    }
    this.#refresh(i);
  }

  /** Alg. 1, line 5: a radius stays at least half of its value at the last pull of the arm. */
  #caches({ observed, observedAtPull }: Arm): boolean {
    return this.#options.lazy && observed + 1 > 4 * Math.max(observedAtPull, this.#options.lazyFloor);
  }

  /** For each arm, in order of place: its place, number and sum of the rewards in its mean, number and sum of its waiting rewards. */
  statistics(): Float64Array {
    const arms = this.#arms.toSorted((a, b) => a.place - b.place);
    return Float64Array.from(
      arms.flatMap(({ place, observed, sum, cache }) => {
        return [place, observed, sum, cache.length, cache.reduce((total, { reward }) => total + reward, 0)];
      }),
    );
  }

  save(writer: SnapshotWriter): void {
    writer.numbers([this.#pulls]);
    writer.numbers(this.#arms.flatMap((arm) => [arm.place, arm.pulls, arm.observed, arm.observedAtPull, arm.sum, arm.cache.length]));
    writer.numbers(this.#arms.flatMap(({ cache }) => cache.flatMap(({ slot, reward }) => [slot, reward])));
  }

  load(reader: SnapshotReader): void {
    // A slot is this times the number of places.
    this.#pulls = counted("pulls", reader.numbers(1)[0], Math.floor(Number.MAX_SAFE_INTEGER / this.#space.count) / 2);
    const arms = reader.numbers();
    const cached = reader.numbers();
    let next = 0;
    for (let start = 0; start < arms.length; start += SAVED) {
      const [place, pulls, observed, observedAtPull, sum, length] = arms.subarray(start, start + SAVED);
      for (const count of [pulls, observed, observedAtPull, length]) counted("count", count);
      if (this.#armAt[place] !== -1 || observedAtPull > observed || observed + length > pulls) throw malformed();
      const cache: Arm["cache"] = [];
      for (; cache.length < length && next < cached.length; next += 2) cache.push({ slot: cached[next], reward: cached[next + 1] });
      if (cache.length < length) throw malformed();
      this.#activate({ place, pulls, observed, observedAtPull, sum, cache });
    }
    if (next !== cached.length) throw malformed();
  }
}
