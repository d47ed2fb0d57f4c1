import type { EncoderOptions, NamedFeatures } from "afterclick";

// A second implementation of the encoder, with BigInt and maps. Component 0 is the constant. Declared numbers and the vocabulary follow, each
// term in a component of its own, up to three quarters of the others. What is left of these goes to products of a visitor's number with an
// entry of the vocabulary, from the last component on, as many entries as have room for all numbers. With all interactions the other entries
// take those of entry i mod 2^n, for the greatest n with room. The rest is shared by hashing: from 64 components on, terms of contexts have
// the components that are multiples of 8, and all others the rest.
//
// The hash of a term is FNV-1a over the UTF-8 of its name, and then the finaliser of MurmurHash3. The hash of a product follows from those of
// its terms. The highest 13 bits of a hash are its bucket. A bucket's component is the finaliser of its number, again and again until the
// component is a shared one.

const WORD = 2n ** 32n;
const GOLDEN = 0x9e3779b9n;

function hashOf(name: string): bigint {
  let state = 0x811c9dc5n;
  for (const byte of new TextEncoder().encode(name)) state = ((state ^ BigInt(byte)) * 0x01000193n) % WORD;
  return finalised(state);
}

function finalised(value: bigint): bigint {
  let state = value % WORD;
  state = ((state ^ (state >> 16n)) * 0x85ebca6bn) % WORD;
  state = ((state ^ (state >> 13n)) * 0xc2b2ae35n) % WORD;
  return state ^ (state >> 16n);
}

interface Term {
  readonly feature: string;
  readonly name: string;
  readonly share: number;
  readonly isNumber: boolean;
}

function termsOf(side: string, named: NamedFeatures, numeric: EncoderOptions["numeric"] = {}): readonly Term[] {
  return Object.entries(named).flatMap(([feature, value]): Term[] => {
    const stem = `${side}\u0000${feature}`;
    if (typeof value === "number") {
      const { min, max } = numeric[feature];
      return [{ feature, name: stem, share: (Math.max(min, Math.min(max, value)) - min) / (max - min), isNumber: true }];
    }
    const categories = new Set(Array.isArray(value) ? value : [value]);
    return [...categories].map((category) => ({ feature, name: `${stem}\u0000${category}`, share: 1, isNumber: false }));
  });
}

/** The exact components by the name of their term. */
function exactOf({ dimension, numeric = {}, vocabulary = [], interactions = [] }: EncoderOptions): Map<string, number> {
  const room = Math.floor((3 * (dimension - 1)) / 4);
  const numbers = Object.keys(numeric).sort();
  const nameOf = ([feature, category]: (typeof vocabulary)[number]) => `action\u0000${feature}\u0000${category}`;
  const categories = vocabulary.filter((entry) => entry.length === 2);
  const names = [...numbers.flatMap((feature) => [`action\u0000${feature}`, `context\u0000${feature}`]), ...categories.map(nameOf)];
  const exact = new Map(names.slice(0, room).map((name, i) => [name, i + 1]));
  const first = vocabulary.findIndex((entry) => entry.length === 2);
  const leading = first < 0 ? vocabulary : vocabulary.slice(0, first);
  const known = new Set(leading.map(([feature]) => feature));
  const meets = (a: string, b: string) => interactions === "all" || interactions.some((pair) => pair.includes(a) && pair.includes(b));
  const visitors = numbers.filter((number) => !known.has(number));
  const free = room - exact.size;
  const productOf = (number: string, entry: (typeof vocabulary)[number]) => `${number}*${nameOf(entry)}`;
  if (interactions === "all") {
    const rows = Math.min(Math.floor(free / Math.max(visitors.length, 1)), categories.length);
    let period = 1;
    while (2 * period <= rows) period *= 2;
    for (const [i, entry] of (rows > 0 ? categories : []).entries()) {
      const row = i < rows ? i : i % period;
      for (const [j, number] of visitors.entries()) exact.set(productOf(number, entry), dimension - 1 - (row * visitors.length + j));
    }
    return exact;
  }
  const products = categories.flatMap((entry) =>
    visitors.filter((number) => meets(number, entry[0])).map((number) => productOf(number, entry)),
  );
  for (const [i, name] of products.slice(0, free).entries()) exact.set(name, dimension - 1 - i);
  return exact;
}

/** What one term or product adds to a vector, before its scale. */
interface Part {
  readonly place: number;
  readonly value: number;
  /** Whether it is a product of which the number is centred. */
  readonly isCentred: boolean;
}

export interface PlainVector {
  readonly parts: readonly Part[];
  /** The vector before its scale. */
  readonly sum: readonly number[];
  /** The factor that makes it as long as the parts are, each in a component of its own, if that is more than 1. */
  readonly scale: number;
}

/** The greatest length of an encoded vector. */
export const MOST_LENGTH = 4;

/** Encodes by definition, with neither the bound of the length nor rounding. */
export function plainEncoder(options: EncoderOptions): (context: NamedFeatures, action: NamedFeatures) => PlainVector {
  const { dimension, numeric, interactions = [] } = options;
  const exact = exactOf(options);
  const taken = new Set([0, ...exact.values()]);
  const isApart = dimension >= 64;
  const free = (hash: bigint, ofContexts: boolean): number | undefined => {
    const place = Number(hash % BigInt(dimension));
    return taken.has(place) || (isApart && (place % 8 === 0) !== ofContexts) ? undefined : place;
  };
  const ofContext = (hash: bigint): number => free(hash, true) ?? ofContext(finalised(hash + GOLDEN));
  const buckets = new Map<bigint, number>();
  const shared = (hash: bigint): number => {
    const bucket = hash >> 19n;
    let place = buckets.get(bucket);
    if (place === undefined) {
      let state = finalised(bucket);
      while (free(state, false) === undefined) state = finalised(state + GOLDEN);
      place = Number(state % BigInt(dimension));
      buckets.set(bucket, place);
    }
    return place;
  };
  return (context, action) => {
    const [left, right] = [termsOf("context", context, numeric), termsOf("action", action, numeric)];
    // The first name of a pair is looked up in the context first, the second in the action first.
    const first = (feature: string) => (Object.hasOwn(context, feature) ? left : right).filter((term) => term.feature === feature);
    const second = (feature: string) => (Object.hasOwn(action, feature) ? right : left).filter((term) => term.feature === feature);
    const pairs = interactions === "all" ? [[left, right]] : interactions.map(([a, b]) => [first(a), second(b)]);
    let square = 1 / 16;
    const parts: Part[] = [{ place: 0, value: 0.25, isCentred: false }];
    for (const { name, share, isNumber } of [...left, ...right]) {
      const own = exact.get(name);
      const value = own !== undefined && isNumber ? 2 * share - 1 : share;
      square += value ** 2;
      const hashed = isApart && name.startsWith("context") ? ofContext : shared;
      parts.push({ place: own ?? hashed(hashOf(name)), value, isCentred: false });
    }
    for (const [ones, others] of pairs) {
      for (const a of ones) {
        for (const b of others) {
          square += (a.share * b.share) ** 2 / 4;
          const [number, category] = b.isNumber ? [b, a] : [a, b];
          const own = number.name.startsWith("context") ? exact.get(`${number.feature}*${category.name}`) : undefined;
          if (own !== undefined) parts.push({ place: own, value: 0.5 * (2 * number.share - 1), isCentred: true });
          else {
            const hash = finalised(((hashOf(a.name) * GOLDEN) % WORD) ^ hashOf(b.name));
            parts.push({ place: shared(hash), value: 0.5 * a.share * b.share, isCentred: false });
          }
        }
      }
    }
    const sum = new Array<number>(dimension).fill(0);
    for (const { place, value } of parts) sum[place] += value;
    return { parts, sum, scale: 1 / Math.sqrt(Math.max(1, square)) };
  };
}
