import { type CoreProcess, type CoreScores, GROUP } from "../../core/core-process.ts";
import type { Domain } from "../domain.ts";
import type { Moments } from "../posterior.ts";

/**
 * Means and deviations of a process at the points of its fixed domain, kept until the process changes.
 *
 * **How a Gaussian process is invalidated.** Every change goes through a method of `CoreProcess`. The method adds 1 to `version`, and
 * reports the first row that changed to the object that watches the domain, which is this one. It reports to no other object.
 * - A value that derives from whole processes, such as the prediction of a posterior, is kept with the sum of their versions. It is
 *   computed again when that sum has grown.
 * - The moments of a domain are kept for each group of 16 points, with the number of rows they were computed from. A change of row
 *   r invalidates groups computed from more than r rows. A new kernel is row -1, because it changes the prior variances too.
 * - A new row invalidates no group, it only makes the group outdated. The row subtracts v^2 from the variance of a point and adds
 *   v z to its mean, with one z for all points. Over the new rows a mean with deviation s moves by at most s sqrt(sum z^2), which
 *   bounds a score before it is computed (`leader.ts`).
 *
 * The core keeps its own intermediate results in the same way: see `forgetRows` in `assembly/gaussian-process/gaussian-process.ts`.
 */
export class DomainMoments {
  /** For each point of the domain, as of the last computation of its group. */
  readonly mean: Float64Array;
  readonly deviation: Float64Array;
  readonly groups: number;
  readonly #process: CoreProcess;
  readonly #domain: Domain;
  /** For each group the number of rows that it was computed from, or -1 if it is invalid. */
  readonly #rows: Int32Array;
  /** The moments of all points. A new object after each change. */
  #all: Moments | undefined;

  constructor(process: CoreProcess, domain: Domain) {
    this.#process = process;
    this.#domain = domain;
    this.mean = new Float64Array(domain.count);
    this.deviation = new Float64Array(domain.count);
    this.groups = Math.ceil(domain.count / GROUP);
    this.#rows = new Int32Array(this.groups).fill(-1);
    process.watch(domain.points, (row) => this.#invalidate(row));
  }

  #invalidate(row: number): void {
    this.#all = undefined;
    for (let group = 0; group < this.groups; group++) if (this.#rows[group] > row) this.#rows[group] = -1;
  }

  /** The moments of all points: the same object until the process changes. **Cost:** O(k n) for a new row. */
  all(): Moments {
    if (!this.#all) {
      this.#process.scoreWatched(this.mean, this.deviation);
      this.#rows.fill(this.#process.size);
      this.#all = { mean: this.mean, deviation: this.deviation };
    }
    return this.#all;
  }

  /** Brings one group up to date. **Cost:** O(n) for each row that is new to it. */
  bring(group: number): void {
    const [start, end] = [group * GROUP, (group + 1) * GROUP];
    if (this.#knows(start)) return;
    this.#process.scoreGroup(start, this.mean.subarray(start, end), this.deviation.subarray(start, end));
    this.#rows[group] = this.#process.size;
  }

  /** Whether the moments of the point at a place are up to date. */
  #knows(place: number): boolean {
    return this.#rows[Math.floor(place / GROUP)] === this.#process.size;
  }

  /** The kept moments of these points, with the bits that scoring them would give, or undefined if one is outdated. */
  lookUp(points: Float64Array): Moments | undefined {
    const d = this.#domain.dimension;
    const mean = new Float64Array(points.length / d);
    const deviation = new Float64Array(mean.length);
    for (let i = 0; i < mean.length; i++) {
      const place = this.#domain.placeOf(points, i * d);
      if (place < 0 || !this.#knows(place)) return undefined;
      mean[i] = this.mean[place];
      deviation[i] = this.deviation[place];
    }
    return { mean, deviation };
  }

  /** For each group the greatest possible change of a mean since it was computed, over its deviation. Infinite if it is invalid. */
  moved(): Float64Array {
    const whitened = this.#process.whitened();
    const squares = new Float64Array(whitened.length + 1);
    for (let i = whitened.length - 1; i >= 0; i--) squares[i] = squares[i + 1] + whitened[i] * whitened[i];
    return Float64Array.from(this.#rows, (rows) => (rows < 0 ? Number.POSITIVE_INFINITY : Math.sqrt(squares[rows])));
  }
}

/** Turns variances into deviations, in place: a plain loop takes a fifth of the time of a callback. */
export function momentsOf({ mean, variance }: CoreScores): Moments {
  for (let i = 0; i < variance.length; i++) variance[i] = Math.sqrt(variance[i]);
  return { mean, deviation: variance };
}
