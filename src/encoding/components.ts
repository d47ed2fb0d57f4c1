// Says which component of a vector each term has. Vectors and catalogues must agree in this.

import type { Range } from "../values/argument.ts";
import { SnapshotError } from "../values/errors.ts";
import { FNV_OFFSET, hashText, mixed } from "./hash.ts";

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
/** Every eighth shared component is for terms of contexts alone, from 64 components on. */
const [CONTEXTS, LEAST_APART] = [8, 64];
/** Most blocks of products. */
const MOST_BLOCKS = 252;
/** Number of buckets of hashes, as a power of two. */
const BUCKET_BITS = 13;

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
 * the end on. Entries for whose products there is no room share those of earlier entries, with the same number. All other terms share the
 * rest, by the bucket of their hash: terms of contexts some of it, products and terms of actions the others.
 *
 * A vocabulary that grows takes components from the rest, and then from the products of its last entries. All others stay, but for the
 * products that share components, whenever there is room for half as many entries only.
 */
export class Components {
  readonly dimension: number;
  /** Components of one term, the constant among them. */
  readonly exactCount: number;
  /** Entries of the vocabulary without room for a component of their own. */
  readonly unplaced: number;
  /** Numbers of visitors whose products with entries may have components of their own, by the stem of their name. */
  readonly visitors: readonly string[];
  /** Products with a component of their own. */
  readonly productCount: number;
  readonly #exact = new Map<string, number>();
  /** The index of each category among those of the vocabulary, by name. */
  readonly #entries: ReadonlyMap<string, number>;
  /** The index of a product from the end, by its entry and number. Undefined if all numbers are multiplied with all entries. */
  readonly #multiplied: ReadonlyMap<number, number> | undefined;
  /** The first shared component. */
  readonly #shared: number;
  #buckets: Uint16Array | undefined;
  readonly #layout: Layout;
  #fingerprint: number | undefined;

  constructor(layout: Layout) {
    const { dimension, ranges, vocabulary, interactions } = layout;
    this.#layout = layout;
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
    const free = room - placed.length;
    this.visitors = visitors.map((feature) => stemOf("context", feature));
    this.#entries = new Map(categories.map(([feature, category], i) => [stemOf("action", feature) + restOf(category), i]));
    if (interactions === "all")
      this.productCount = Math.min(categories.length, Math.floor(free / (visitors.length || 1))) * visitors.length;
    else {
      const multiplied = new Map<number, number>();
      categories.slice(0, free).forEach(([feature], entry) => {
        visitors.forEach((number, visitor) => {
          const meets = interactions.some((pair) => pair.includes(number) && pair.includes(feature));
          if (meets && multiplied.size < free) multiplied.set(entry * visitors.length + visitor, multiplied.size);
        });
      });
      this.#multiplied = multiplied;
      this.productCount = multiplied.size;
    }
    this.#shared = 1 + placed.length;
    this.exactCount = this.#shared + this.productCount;
    this.unplaced = Math.min(names.length - placed.length, categories.length);
  }

  /** The component of its own that a term has. */
  exact(stem: string, rest: string): number | undefined {
    return this.#exact.get(stem + rest);
  }

  /** Tells the components and ranges of encoders apart: 32 bits of a hash. */
  get fingerprint(): number {
    const { dimension, ranges, vocabulary } = this.#layout;
    this.#fingerprint ??= mixed(hashText(FNV_OFFSET, JSON.stringify([dimension, [...ranges], vocabulary])));
    return this.#fingerprint;
  }

  /** The index of a category in the vocabulary. */
  entry(stem: string, rest: string): number | undefined {
    return this.#entries.get(stem + rest);
  }

  /** The component that the product of a visitor's number with an entry has. Undefined: it shares one with other terms. */
  product(visitor: number, entry: number): number | undefined {
    const count = this.visitors.length;
    const place = entry * count + visitor;
    const index = this.#multiplied ? this.#multiplied.get(place) : this.#folded(entry) * count + visitor;
    return index !== undefined && index < this.productCount ? this.dimension - 1 - index : undefined;
  }

  /** The entry whose products have the components of an entry's: itself while there is room, then the rest by a power of two. */
  #folded(entry: number): number {
    const room = this.productCount / this.visitors.length;
    return entry < room ? entry : entry & ((1 << (31 - Math.clz32(room))) - 1);
  }

  /** The shared component of a hash: that of its bucket. */
  hashed(hash: number): number {
    return this.buckets[hash >>> (32 - BUCKET_BITS)];
  }

  /** The shared component of each bucket. Where the component of a bucket's hash is an exact one, the hash is hashed again. */
  get buckets(): Uint16Array {
    this.#buckets ??= Uint16Array.from({ length: 1 << BUCKET_BITS }, (_, bucket) => {
      let hash = mixed(bucket);
      while (!this.#isShared(hash % this.dimension, "action")) hash = mixed(hash + NEXT);
      return hash % this.dimension;
    });
    return this.#buckets;
  }

  /** The shared component of a term that is no product. */
  hashedTerm(side: Side, hash: number): number {
    if (side === "action" || this.dimension < LEAST_APART) return this.hashed(hash);
    let own = hash;
    while (!this.#isShared(own % this.dimension, side)) own = mixed(own + NEXT);
    return own % this.dimension;
  }

  /** Whether terms of a side share a component. */
  #isShared(place: number, side: Side): boolean {
    if (place < this.#shared || place >= this.dimension - this.productCount) return false;
    return this.dimension < LEAST_APART || (place % CONTEXTS === 0) === (side === "context");
  }

  /**
   * The block of each component: 0 for the constant, 1 for terms of actions, 2 for terms of contexts, 3 for shared components, and from 4 on
   * products, a block for each number of visitors.
   */
  get blocks(): number[] {
    const end = this.dimension - this.productCount;
    const contexts = new Set(Array.from(this.#exact).flatMap(([name, place]) => (name.startsWith(stemOf("context", "")) ? [place] : [])));
    // In the order of their components.
    const products = this.#multiplied && Array.from(this.#multiplied.keys());
    return Array.from({ length: this.dimension }, (_, place) => {
      if (place === 0) return 0;
      const index = this.dimension - 1 - place;
      if (place >= end) return 4 + (((products?.[index] ?? index) % this.visitors.length) % MOST_BLOCKS);
      if (place >= this.#shared) return this.dimension >= LEAST_APART && place % CONTEXTS === 0 ? 2 : 3;
      return contexts.has(place) ? 2 : 1;
    });
  }

  /** Takes the buckets that another process has computed for the same components. @throws {SnapshotError} code `malformed` for others. */
  adopt(buckets: Uint16Array): void {
    if (this.#buckets) return;
    const end = this.dimension - this.productCount;
    if (buckets.some((place) => place < this.#shared || place >= end))
      throw new SnapshotError("malformed", "a bucket has no shared component");
    this.#buckets = buckets;
  }
}

/** The numbers of actions that a vocabulary starts with. Later ones were unknown when components were given to products. */
function numbersOf(vocabulary: readonly Entry[]): readonly string[] {
  const end = vocabulary.findIndex((entry) => entry.length === 2);
  return vocabulary.slice(0, end < 0 ? vocabulary.length : end).map(([feature]) => feature);
}
