// Estimates how much of the conversions of an age has come. It sees conversions alone, and no silence.

import { finiteNumber } from "../../values/argument.ts";
import type { CountedGoal } from "./counted-goals.ts";

/** Younger impressions are left out: a conversion of theirs would count more than five times. */
export const LEAST_MATURITY = 0.2;

/** Probability that a conversion has come by an age, see `ProductLimit`. Exact if `influence` is absent. */
export interface Maturity {
  at(age: number): number;
  /** Influence of each decision on a sum of values at these ages, through the estimate of delays. Indexed by place in the log. */
  influence?(ages: Float64Array, values: Float64Array): Float64Array;
}

/** A conversion of a goal that has come, and the place of its impression in the log of `decisions`. */
export interface PlacedConversion extends SeenConversion {
  readonly place: number;
}

/** The given maturity of a goal, or an estimate from all its conversions that have come, whatever the age of their impression. */
export function maturityOf(
  given: ((ageMs: number, goal: string) => number) | undefined,
  { name, windowMs, knownDelay }: CountedGoal,
  { seen, decisions }: { readonly seen: readonly PlacedConversion[]; readonly decisions: number },
): Maturity {
  if (given) return { at: (age) => (age >= windowMs ? 1 : finiteNumber("maturity(age)", given(age, name), 0, 1)) };
  if (knownDelay !== undefined) return { at: (age) => Number(age >= knownDelay) };
  const law = new ProductLimit(seen);
  return {
    at: (age) => law.at(age),
    influence(ages, values) {
      const ofDecisions = new Float64Array(decisions);
      law.influence(ages, values).forEach((each, i) => {
        ofDecisions[seen[i].place] += each;
      });
      return ofDecisions;
    },
  };
}

/** An observed conversion: its delay, and the longest delay with which it could have been observed. Both in ms. */
export interface SeenConversion {
  readonly delay: number;
  readonly bound: number;
}

/**
 * F(age): the probability that a conversion has come by an age, estimated from the conversions that have come.
 *
 * Conversions still to come are not observed, so short delays are over-represented. The product limit therefore runs backwards in
 * time. Take the conversions that could have been observed with delay u and have a delay of at most u. The share with exactly u is
 * the reverse hazard h(u), and F just below u is the product of 1 - h over the delays from u on. Where all at risk have the same delay,
 * and shorter delays are known, one more counts as at risk. Otherwise the oldest conversion alone could make shorter delays impossible.
 * **Source:** Lagakos, Barraj and De Gruttola, Biometrika 75, 1988 (right truncation, the reverse product limit). **Cost:** O(n log n).
 */
export class ProductLimit {
  readonly #seen: readonly SeenConversion[];
  /** Distinct delays, ascending. For each: conversions with this delay, conversions at risk of it, and F just below it. */
  readonly #delays: Float64Array;
  readonly #counts: Float64Array;
  readonly #atRisk: Float64Array;
  readonly #below: Float64Array;

  constructor(seen: readonly SeenConversion[]) {
    this.#seen = seen;
    const delays = Float64Array.from(seen, ({ delay }) => delay).sort();
    const bounds = Float64Array.from(seen, ({ bound }) => bound).sort();
    this.#delays = delays.filter((delay, i) => delay !== delays[i - 1]);
    this.#counts = this.#delays.map((delay) => countUpTo(delays, delay) - countBelow(delays, delay));
    this.#atRisk = this.#delays.map((delay, i) => {
      const atRisk = countUpTo(delays, delay) - countBelow(bounds, delay);
      return i > 0 && atRisk === this.#counts[i] ? atRisk + 1 : atRisk;
    });
    this.#below = new Float64Array(this.#delays.length);
    let product = 1;
    for (let i = this.#delays.length - 1; i >= 0; i--) {
      product *= 1 - this.#counts[i] / this.#atRisk[i];
      this.#below[i] = product;
    }
  }

  /** F(age). It is 1 from the longest observed delay on. */
  at(age: number): number {
    const next = countUpTo(this.#delays, age);
    return next < this.#delays.length ? this.#below[next] : 1;
  }

  /**
   * Influence of each observed conversion, through F, on a sum of values that were divided by F at their ages. It adds the error of F
   * to the spread of the sum. All influences sum to 0, up to rounding, unless one more counts as at risk.
   *
   * @param ages of the values, in ms. @param values after the division. **Shapes:** one entry per observed conversion.
   */
  influence(ages: Float64Array, values: Float64Array): Float64Array {
    const order = Array.from(ages, (_, i) => i).sort((a, b) => ages[a] - ages[b]);
    // d log F(s) is a sum over the delays u > s. For one delay u, this adds up the values of ages below u.
    const younger = new Float64Array(this.#delays.length);
    const drift = new Float64Array(this.#delays.length + 1);
    let sum = 0;
    let next = 0;
    this.#delays.forEach((delay, u) => {
      for (; next < order.length && ages[order[next]] < delay; next++) sum += values[order[next]];
      const left = this.#atRisk[u] - this.#counts[u];
      younger[u] = left > 0 ? sum / left : 0;
      drift[u + 1] = drift[u] + (younger[u] * this.#counts[u]) / this.#atRisk[u];
    });
    return Float64Array.from(this.#seen, ({ delay, bound }) => {
      const u = countBelow(this.#delays, delay);
      return younger[u] - (drift[countUpTo(this.#delays, bound)] - drift[u]);
    });
  }
}

/** How many of ascending `values` are at most `limit`. */
function countUpTo(values: Float64Array, limit: number): number {
  return countWhile(values, (value) => value <= limit);
}

/** How many of ascending `values` are less than `limit`. */
function countBelow(values: Float64Array, limit: number): number {
  return countWhile(values, (value) => value < limit);
}

/** How many of `values` have a property that the first ones have and the others lack: a binary search. */
function countWhile(values: Float64Array, holds: (value: number) => boolean): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(values[middle])) low = middle + 1;
    else high = middle;
  }
  return low;
}
