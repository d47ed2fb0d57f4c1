import type { Range } from "../argument.ts";

export type Side = "context" | "action";

/** A categorical feature of actions and one of its categories, such as ["brand", "Acme"]. */
export type Entry = readonly [feature: string, category: string];

/** Share of the components that stays for hashed terms. */
const HASHED = 1 / 4;

/** Names the feature of a side within a term's name. */
export function stemOf(side: Side, feature: string): string {
  return `${side}\u0000${feature}`;
}

/** Names a category within a term's name. A number has the empty name instead. */
export function restOf(category: string): string {
  return `\u0000${category}`;
}

/**
 * The components of an encoded vector. Component 0 is the constant. Then come exact components, each of one term: those of declared
 * numbers, then those of the vocabulary, as far as there is room. All other terms share the rest, by their hash.
 */
export class Components {
  readonly dimension: number;
  /** Components of one term, the constant among them. */
  readonly exactCount: number;
  /** Entries of the vocabulary without room for a component of their own. */
  readonly unplaced: number;
  readonly #exact = new Map<string, number>();

  constructor(dimension: number, ranges: ReadonlyMap<string, Range>, vocabulary: readonly Entry[]) {
    this.dimension = dimension;
    const numbers = Array.from(ranges.keys()).sort();
    const names = [
      ...numbers.flatMap((feature) => [stemOf("action", feature), stemOf("context", feature)]),
      ...vocabulary.map(([feature, category]) => stemOf("action", feature) + restOf(category)),
    ];
    const placed = names.slice(0, dimension - 1 - Math.ceil((dimension - 1) * HASHED));
    for (const [i, name] of placed.entries()) this.#exact.set(name, 1 + i);
    this.exactCount = 1 + placed.length;
    this.unplaced = Math.min(names.length - placed.length, vocabulary.length);
  }

  /** The component of its own that a term has. */
  exact(stem: string, rest: string): number | undefined {
    return this.#exact.get(stem + rest);
  }

  /** The shared component of a hash. */
  hashed(hash: number): number {
    return this.exactCount + (hash % (this.dimension - this.exactCount));
  }
}
