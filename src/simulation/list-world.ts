// A simulated shop of lists, in which visitors look at later places less often.

import type { LoggedItem, LoggedList } from "afterclick/research";
import { type Stream, shuffled } from "./stream.ts";

/** Examination of the places, relative to the first. */
export const EXAMINATION = [1, 0.7, 0.5, 0.35, 0.25, 0.2];
export const PLACES = EXAMINATION.length;

/** Rates of products, by kind of visitor. A click at a place has the product's rate times the examination of the place. */
export type Rates = readonly Float64Array[];

/** Rates from the distribution Beta(2, 18), of mean 0.1 and standard deviation 0.065. */
export function drawRates(kinds: number, products: number, random: Stream): Rates {
  return Array.from({ length: kinds }, () =>
    Float64Array.from({ length: products }, () => {
      const [clicks, others] = [gamma(2, random), gamma(18, random)];
      return clicks / (clicks + others);
    }),
  );
}

/** Gamma distribution with a whole shape. */
function gamma(shape: number, random: Stream): number {
  let sum = 0;
  for (let i = 0; i < shape; i++) sum -= Math.log(1 - random());
  return sum;
}

/** Expected clicks of a list, by the rates of its products. */
export function expectedClicks(rates: ArrayLike<number>, list: readonly number[], examination: readonly number[]): number {
  return list.reduce((sum, product, place) => sum + rates[product] * examination[place], 0);
}

/** Products in order of their rates, the best first. */
export function ranked(rates: ArrayLike<number>): number[] {
  return Array.from(rates, (_, product) => product).sort((a, b) => rates[b] - rates[a]);
}

/** A policy that knows the kind of visitor: it takes one of a few rankings of its kind, at random. */
export class ListPolicy {
  /** By kind: rankings of products, of `PLACES` each. */
  readonly #rankings: readonly (readonly number[][])[];
  readonly #rates: Rates;

  /** `noise`: standard deviation of the errors of a ranking, on the scale of the logarithm of rates. */
  constructor(rates: Rates, { draws, noise }: { readonly draws: number; readonly noise: number }, random: Stream) {
    this.#rates = rates;
    this.#rankings = rates.map((own) =>
      Array.from({ length: draws }, () => ranked(own.map((rate) => rate * Math.exp(noise * random.normal()))).slice(0, PLACES)),
    );
  }

  choose(kind: number, random: Stream): readonly number[] {
    return this.#rankings[kind][random.below(this.#rankings[kind].length)];
  }

  /** Probability of each product at each place: products x places, row-major. */
  chances(kind: number): Float64Array {
    const chances = new Float64Array(this.#rates[kind].length * PLACES);
    for (const ranking of this.#rankings[kind]) {
      ranking.forEach((product, place) => {
        chances[product * PLACES + place] += 1 / this.#rankings[kind].length;
      });
    }
    return chances;
  }

  /** Expected clicks per list. */
  value(examination: readonly number[]): number {
    const values = this.#rankings.flatMap((rankings, kind) =>
      rankings.map((each) => expectedClicks(this.#rates[kind], each, examination) / rankings.length),
    );
    return values.reduce((sum, each) => sum + each, 0) / this.#rankings.length;
  }
}

/** A list with the kind of its visitor. */
export type KindList = LoggedList & { readonly kind: number };

/** How often lists are random, and whether the log knows which are ("apart"), or gives each item its whole probability ("together"). */
export interface LogSettings {
  readonly lists: number;
  readonly randomShare: number;
  readonly random: "apart" | "together";
}

/** A log of lists, one a second. A share of them is random. Clicks come at once. */
export function listLog(rates: Rates, policy: ListPolicy, { lists, randomShare, random: apart }: LogSettings, random: Stream): KindList[] {
  const count = rates[0].length;
  const share = apart === "apart" ? 0 : randomShare;
  const chances = rates.map((_, kind) => policy.chances(kind).map((each) => share / count + (1 - share) * each));
  const products = Array.from(rates[0].keys());
  return Array.from({ length: lists }, (_, i): KindList => {
    const [kind, shownAt, anyone] = [random.below(rates.length), 1000 * i, random() < randomShare];
    const shown = anyone ? shuffled(products, random).slice(0, PLACES) : policy.choose(kind, random);
    const items = shown.map((index, place): LoggedItem => {
      const clicked = random() < rates[kind][index] * EXAMINATION[place];
      const conversions = clicked ? [{ at: shownAt, reward: 1 }] : [];
      if (anyone && share === 0) return { index, probability: 1 / count, conversions };
      const own = chances[kind].subarray(index * PLACES, (index + 1) * PLACES);
      return { index, probability: own[place], chances: own, conversions };
    });
    return { shownAt, count, kind, items, ...(anyone && share === 0 && { random: true }) };
  });
}
