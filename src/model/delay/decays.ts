import { malformed } from "../../values/snapshot.ts";
import type { Cohort, Cohorts } from "./cohorts.ts";

/** An impression that weighs less than this counts for nothing: 2^-64. */
const NOTHING = 5.421010862427522e-20;

/**
 * When everything learnt so far lost weight, and by which factor. What the impressions of a time still weigh follows from it.
 *
 * Only the factors of impressions that still weigh something are kept: 64 for halvings.
 */
export class Decays {
  /** Oldest first. */
  #list: { readonly time: number; readonly factor: number }[] = [];

  /** Multiplies the weight of all impressions so far. */
  add(time: number, factor: number): void {
    const last = this.#list.at(-1);
    if (last?.time === time) this.#list[this.#list.length - 1] = { time, factor: last.factor * factor };
    else this.#list.push({ time, factor });
    let [first, weight] = [this.#list.length - 1, 1];
    while (first > 0 && weight >= NOTHING) {
      weight *= this.#list[first].factor;
      first--;
    }
    this.#list.splice(0, first);
  }

  get isEmpty(): boolean {
    return this.#list.length === 0;
  }

  /** Mean weight of a cohort's impressions at `now`, as if they were spread evenly over its interval. */
  weightOf(cohort: Cohort, cohorts: Cohorts, now: number): number {
    let [mean, weight, before] = [0, 1, 1];
    for (let i = this.#list.length - 1; i >= 0 && before > 0; i--) {
      const { time, factor } = this.#list[i];
      const share = cohorts.shareBefore(cohort, time, now);
      mean += (before - share) * weight;
      weight *= factor;
      before = share;
    }
    return mean + before * weight;
  }

  /** Time and factor of each, oldest first. */
  numbers(): number[] {
    return this.#list.flatMap(({ time, factor }) => [time, factor]);
  }

  load(numbers: ArrayLike<number>): void {
    if (numbers.length % 2 > 0) throw malformed();
    this.#list = Array.from({ length: numbers.length / 2 }, (_, i) => ({ time: numbers[2 * i], factor: numbers[2 * i + 1] }));
    for (const [i, { time, factor }] of this.#list.entries())
      if (!(factor > 0 && factor < 1) || (i > 0 && !(time > this.#list[i - 1].time))) throw malformed();
  }
}
