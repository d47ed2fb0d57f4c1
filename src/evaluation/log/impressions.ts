// The impressions of a log in columns, and their items: one of a decision, several of a list.

import type { LoggedConversion } from "./log.ts";
import type { TimedLog } from "./timed-log.ts";

/** The conversions of an item that has some. */
export interface Converted {
  /** Number of the item in the log. */
  readonly item: number;
  readonly shownAt: number;
  readonly conversions: readonly LoggedConversion[];
}

/** The impressions of a log, oldest first, and their items in the same order. */
export interface Impressions {
  /** When each impression was shown, in ms since 1970. */
  readonly shownAt: Float64Array;
  /** The number of impressions for which each stands. */
  readonly counts: Float64Array;
  /** The observation that each impression is a part of, and the number of observations. What one visitor does is one observation. */
  readonly observations: Uint32Array;
  readonly size: number;
  /** The place of the impression of each item. */
  readonly places: Uint32Array;
  /** The number of the product of each item, and the number of products. */
  readonly products: Uint32Array;
  readonly productCount: number;
  readonly converted: readonly Converted[];
}

interface Entry {
  readonly shownAt: number;
  readonly kept?: number;
  readonly visitor?: string;
}

interface Item {
  readonly product: string | number;
  readonly conversions?: readonly LoggedConversion[];
}

/** Reads the columns of a log. **Memory:** 12 bytes per impression, 8 per item, and those of its visitors and conversions. */
export function impressionsOf<Logged extends Entry>(log: TimedLog<Logged>, itemsOf: (entry: Logged) => readonly Item[]): Impressions {
  const counts = new Float64Array(log.length);
  const observations = new Uint32Array(log.length);
  const visitors = new Map<string, number>();
  const numbers = new Map<string | number, number>();
  const converted: Converted[] = [];
  let items = 0;
  for (const entry of log) items += itemsOf(entry).length;
  const places = new Uint32Array(items);
  const products = new Uint32Array(items);
  let [size, item, place] = [0, 0, 0];
  for (const entry of log) {
    const { shownAt, kept = 1, visitor } = entry;
    counts[place] = 1 / kept;
    const known = visitor === undefined ? undefined : visitors.get(visitor);
    observations[place] = known ?? size++;
    if (visitor !== undefined) visitors.set(visitor, observations[place]);
    for (const { product, conversions = [] } of itemsOf(entry)) {
      const number = numbers.get(product) ?? numbers.size;
      numbers.set(product, number);
      places[item] = place;
      products[item] = number;
      if (conversions.length > 0) converted.push({ item, shownAt, conversions });
      item++;
    }
    place++;
  }
  return { shownAt: log.shownAt, counts, observations, size, places, products, productCount: numbers.size, converted };
}
