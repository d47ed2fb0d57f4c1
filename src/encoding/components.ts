import type { Range } from "../argument.ts";
import { mixed } from "./hash.ts";

export type Side = "context" | "action";

/** A categorical feature of actions and one of its categories, such as ["brand", "Acme"], or a number of actions, such as ["price"]. */
export type Entry = readonly [feature: string] | readonly [feature: string, category: string];

/** Pairs of features to multiply. "all": every context feature with every action feature. */
export type Interactions = "all" | readonly (readonly [string, string])[];

/** Options of an encoder that decide which component a term has. */
interface Layout {
  readonly dimension: number;
  readonly ranges: ReadonlyMap<string, Range>;
  readonly vocabulary: readonly Entry[];
  readonly interactions: Interactions;
}

/** Share of the components that stays for hashed terms. */
const HASHED = 1 / 4;
/** Added to a hash whose component is taken: 2^32 divided by the golden ratio. */
const NEXT = 0x9e3779b9;

/** Names the feature of a side within a term's name. */
export function stemOf(side: Side, feature: string): string {
  return `${side}\u0000${feature}`;
}

/** Names a category within a term's name. A number has the empty name instead. */
export function restOf(category: string): string {
  return `\u0000${category}`;
}

/**
 * The components of an encoded vector. Component 0 is the constant. Exact components, each of one term, come next: those of declared
 * numbers, then those of the vocabulary. Products of a visitor's number with an entry of the vocabulary have the last components, from
 * the end on. All other terms share the rest, by their hash.
 *
 * A vocabulary that grows takes components from the rest, and then from the products of its last entries. All others stay.
 */
export class Components {
  readonly dimension: number;
  /** Components of one term, the constant among them. */
  readonly exactCount: number;
  /** Entries of the vocabulary without room for a component of their own. */
  readonly unplaced: number;
  readonly #exact = new Map<string, number>();
  /** The first shared component, and the first one of a product. */
  readonly #shared: number;
  readonly #products: number;

  constructor({ dimension, ranges, vocabulary, interactions }: Layout) {
    this.dimension = dimension;
    const room = dimension - 1 - Math.ceil((dimension - 1) * HASHED);
    const numbers = Array.from(ranges.keys()).sort();
    const categories = vocabulary.filter((entry) => entry.length === 2);
    const names = [
      ...numbers.flatMap((feature) => [stemOf("action", feature), stemOf("context", feature)]),
      ...categories.map(([feature, category]) => stemOf("action", feature) + restOf(category)),
    ];
    const placed = names.slice(0, room);
    for (const [i, name] of placed.entries()) this.#exact.set(name, 1 + i);
    const known = numbersOf(vocabulary);
    const visitors = numbers.filter((feature) => !known.includes(feature));
    const products: string[] = [];
    for (const [feature, category] of categories.slice(0, room - placed.length)) {
      for (const number of visitors) {
        if (!multiplied(number, feature, interactions) || products.length === room - placed.length) continue;
        products.push(productName(stemOf("context", number), stemOf("action", feature), restOf(category)));
      }
    }
    for (const [i, name] of products.entries()) this.#exact.set(name, dimension - 1 - i);
    this.#shared = 1 + placed.length;
    this.#products = dimension - products.length;
    this.exactCount = this.#shared + products.length;
    this.unplaced = Math.min(names.length - placed.length, categories.length);
  }

  /** The component of its own that a term has. */
  exact(stem: string, rest: string): number | undefined {
    return this.#exact.get(stem + rest);
  }

  /** The component of its own that the product of a number with a category has. */
  product(number: string, { stem, rest }: { readonly stem: string; readonly rest: string }): number | undefined {
    return this.#exact.get(productName(number, stem, rest));
  }

  /** The shared component of a hash. A hash of an exact component is hashed again. */
  hashed(hash: number): number {
    let place = hash % this.dimension;
    for (let next = hash; place < this.#shared || place >= this.#products; place = next % this.dimension) next = mixed(next + NEXT);
    return place;
  }
}

/** The numbers of actions that a vocabulary starts with. Later ones were unknown when components were given to products. */
function numbersOf(vocabulary: readonly Entry[]): readonly string[] {
  const end = vocabulary.findIndex((entry) => entry.length === 2);
  return vocabulary.slice(0, end < 0 ? vocabulary.length : end).map(([feature]) => feature);
}

function multiplied(number: string, feature: string, interactions: Interactions): boolean {
  if (interactions === "all") return true;
  return interactions.some((pair) => pair.includes(number) && pair.includes(feature));
}

function productName(number: string, stem: string, rest: string): string {
  return `${number}\u0001${stem}${rest}`;
}
