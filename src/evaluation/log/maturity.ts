// Says how much of the events of an age has come, given or estimated. Estimates see events alone, and no silence.

import { finiteNumber } from "../../values/argument.ts";
import type { CountedGoal } from "./counted-goals.ts";
import { type Divided, LawsByProduct, type ProductConversion } from "./laws-by-product.ts";

/** Younger impressions are left out: a conversion of theirs would count more than five times. */
export const LEAST_MATURITY = 0.2;

/** Probability that an event has come by an age, if it comes. Exact if `influence` is absent. */
export interface Maturity {
  at(age: number, product: number): number;
  /** The least age from which it is at least `LEAST_MATURITY`. */
  youngest(product: number): number;
  /** Whether the delays of products differ, and those of the older half of the events from those of the younger one. Absent if it is given. */
  differ?(): { readonly byProduct: boolean; readonly byTime: boolean };
  /** Calls `add` with the influence of each event on a sum of values at these ages, through the estimate of delays. */
  influence?(divided: Divided, add: (influence: number, place: number) => void): void;
}

/** An event that has come, and the place of its impression in the log. */
export interface PlacedConversion extends ProductConversion {
  readonly place: number;
}

/** Every event has come, whatever the age. */
export const ALL_CAME: Maturity = { at: () => 1, youngest: () => 0 };

/** The given maturity of a goal, or that of its known delay. Undefined if the log has to tell it. */
export function knownMaturity(
  given: ((ageMs: number, goal: string) => number) | undefined,
  { name, windowMs, knownDelay }: CountedGoal,
): Maturity | undefined {
  if (given) {
    const at = (age: number): number => (age >= windowMs ? 1 : finiteNumber("maturity(age)", given(age, name), 0, 1));
    return { at, youngest: () => youngestOf(at, windowMs) };
  }
  return knownDelay === undefined ? undefined : { at: (age) => Number(age >= knownDelay), youngest: () => knownDelay };
}

/** Most steps of the search for an age. */
const HALVINGS = 60;

function youngestOf(at: (age: number) => number, windowMs: number): number {
  let [low, high] = [0, Math.min(windowMs, Number.MAX_SAFE_INTEGER)];
  if (at(low) >= LEAST_MATURITY) return low;
  for (let step = 0; step < HALVINGS; step++) {
    const middle = (low + high) / 2;
    if (at(middle) >= LEAST_MATURITY) high = middle;
    else low = middle;
  }
  return high;
}

/** An estimate from all events of one kind that have come, whatever the age of their impression. `longest`: no delay is longer. */
export function seenMaturity(seen: readonly PlacedConversion[], longest: number): Maturity {
  const laws = new LawsByProduct(seen, longest);
  return {
    at: (age, product) => laws.at(age, product),
    youngest: (product) => laws.ageOf(LEAST_MATURITY, product),
    differ() {
      const middle = seen[Math.floor(seen.length / 2)]?.place;
      const halves = seen.map(({ delay, bound, place }) => ({ delay, bound, product: Number(place < middle) }));
      return { byProduct: laws.differ, byTime: new LawsByProduct(halves, longest).differ };
    },
    influence: (divided, add) => laws.influence(divided).forEach((each, i) => void add(each, seen[i].place)),
  };
}
