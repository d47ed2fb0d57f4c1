import { type EncoderOptions, encoder, type NamedFeatures } from "afterclick";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

// Compares the encoder with a second implementation, with BigInt and a map. Component 0 is the constant. Declared numbers and the
// vocabulary follow, each term in a component of its own, up to three quarters of the others. What is left of these goes to products of a
// visitor's number with an entry of the vocabulary, from the last component on. The rest is shared by hashing: FNV-1a over the UTF-8 of a
// term's name, then the finaliser of MurmurHash3, again and again until the component is a shared one.

const WORD = 2n ** 32n;

function hash(name: string): number {
  let state = 0x811c9dc5n;
  for (const byte of new TextEncoder().encode(name)) state = ((state ^ BigInt(byte)) * 0x01000193n) % WORD;
  return finalised(state);
}

function finalised(value: bigint): number {
  let state = value % WORD;
  state = ((state ^ (state >> 16n)) * 0x85ebca6bn) % WORD;
  state = ((state ^ (state >> 13n)) * 0xc2b2ae35n) % WORD;
  return Number(state ^ (state >> 16n));
}

type Terms = readonly { readonly feature: string; readonly name: string; readonly share: number; readonly isNumber: boolean }[];

function termsOf(side: string, named: NamedFeatures, numeric: EncoderOptions["numeric"] = {}): Terms {
  return Object.entries(named).flatMap(([feature, value]): Terms => {
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
  const leading = vocabulary.slice(
    0,
    vocabulary.findIndex((entry) => entry.length === 2),
  );
  const known = new Set(leading.map(([feature]) => feature));
  const meets = (a: string, b: string) => interactions === "all" || interactions.some((pair) => pair.includes(a) && pair.includes(b));
  const products = categories.flatMap((entry) =>
    numbers.filter((number) => !known.has(number) && meets(number, entry[0])).map((number) => `${number}*${nameOf(entry)}`),
  );
  for (const [i, name] of products.slice(0, room - exact.size).entries()) exact.set(name, dimension - 1 - i);
  return exact;
}

/** The vector before scaling. */
function summed(options: EncoderOptions, context: NamedFeatures, action: NamedFeatures): number[] {
  const { dimension, numeric, interactions = [] } = options;
  const [left, right] = [termsOf("context", context, numeric), termsOf("action", action, numeric)];
  // The first name of a pair is looked up in the context first, the second in the action first.
  const first = (feature: string) => (Object.hasOwn(context, feature) ? left : right).filter((term) => term.feature === feature);
  const second = (feature: string) => (Object.hasOwn(action, feature) ? right : left).filter((term) => term.feature === feature);
  const pairs = interactions === "all" ? [[left, right]] : interactions.map(([a, b]) => [first(a), second(b)]);
  const exact = exactOf(options);
  const vector = new Array<number>(dimension).fill(0);
  const taken = new Set([0, ...exact.values()]);
  const hashed = (name: string): number => {
    let state = hash(name);
    while (taken.has(state % dimension)) state = finalised(BigInt(state) + 0x9e3779b9n);
    return state % dimension;
  };
  vector[0] = 0.25;
  for (const { name, share, isNumber } of [...left, ...right]) {
    const own = exact.get(name);
    vector[own ?? hashed(name)] += own !== undefined && isNumber ? 2 * share - 1 : share;
  }
  for (const [ones, others] of pairs) {
    for (const a of ones) {
      for (const b of others) {
        const [number, category] = b.isNumber ? [b, a] : [a, b];
        const own = number.name.startsWith("context") ? exact.get(`${number.feature}*${category.name}`) : undefined;
        if (own !== undefined) vector[own] += 0.5 * (2 * number.share - 1);
        else vector[hashed(`${a.name}\u0001${b.name}`)] += 0.5 * a.share * b.share;
      }
    }
  }
  return vector;
}

const numeric = { price: { min: 0, max: 200 }, hour: { min: -12, max: 12 } };
const category = fc.oneof(
  fc.constantFrom("Acme", "PT", "é", "👟", "ü \u0001"),
  fc.string({ unit: "grapheme", maxLength: 6 }),
  fc.boolean(),
);
const list = fc.array(fc.constantFrom("red", "new", "sale", "blue"), { maxLength: 3 });
const features = fc.record(
  {
    brand: category,
    country: category,
    tags: list,
    price: fc.integer({ min: -100, max: 300 }),
    hour: fc.double({ min: -20, max: 20, noNaN: true }),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<NamedFeatures>;
const name = fc.constantFrom("brand", "country", "tags", "price", "hour");
const interactions = fc.oneof(fc.constant("all" as const), fc.array(fc.tuple(name, name), { maxLength: 3 }));
const dimension = fc.constantFrom(2, 3, 16, 31, 32, 33, 64, 100);
const vocabulary = fc.constantFrom<[string, string][]>(
  [],
  [
    ["brand", "Acme"],
    ["tags", "red"],
    ["tags", "sale"],
    ["brand", "👟"],
  ],
);
const given = fc.record({ dimension, interactions, vocabulary, context: features, action: features });
const settings = { numRuns: 300 };

describe("an encoded vector", () => {
  it("is the sum of its terms, brought into the unit ball", () => {
    fc.assert(
      fc.property(given, ({ context, action, ...options }) => {
        const vector = encoder({ ...options, numeric }).encode({ context, action });
        const sum = summed({ ...options, numeric }, context, action);
        const length = Math.max(1, Math.hypot(...sum));
        expect(vector).toHaveLength(options.dimension);
        sum.forEach((value, j) => {
          // Truncation towards zero loses less than 2^-12; besides this, only the length is rounded.
          const lost = Math.abs(value / length) - Math.abs(vector[j]);
          expect(lost).toBeGreaterThan(-1e-12);
          expect(lost).toBeLessThan(1 / 4096 + 1e-12);
          if (Math.abs(vector[j]) > 0) expect(Math.sign(vector[j])).toBe(Math.sign(value));
        });
      }),
      settings,
    );
  });

  it("is of multiples of 2^-12, without -0, and no longer than 1", () => {
    fc.assert(
      fc.property(given, ({ context, action, ...options }) => {
        const vector = encoder({ ...options, numeric }).encode({ context, action });
        expect(vector.every((value) => Number.isInteger(value * 4096) && !Object.is(value, -0))).toBe(true);
        // Exact, because the components are multiples of 2^-12.
        expect(vector.reduce((sum, value) => sum + value * value, 0)).toBeLessThanOrEqual(1);
      }),
      settings,
    );
  });

  it("does not depend on the order in which features and interactions' lists are given", () => {
    const reversed = (named: NamedFeatures): NamedFeatures => Object.fromEntries(Object.entries(named).reverse());
    fc.assert(
      fc.property(given, ({ context, action, ...options }) => {
        const { encode } = encoder({ ...options, numeric });
        const vector = encode({ context, action });
        expect(encode({ context: reversed(context), action: reversed(action) })).toEqual(vector);
        expect(encode({ action, context })).toEqual(vector);
      }),
      settings,
    );
  });

  it("sees a number beyond its range as the nearer end, and the middle of the range as nothing", () => {
    const { encode } = encoder({ dimension: 8, numeric });
    const at = (price: number) => encode({ action: { price } });
    // Exact components: the constant, then hour and price, of an action and of a context each.
    const own = 3;
    expect(at(-5)).toEqual(at(0));
    expect(at(1e9)).toEqual(at(200));
    expect(at(100)).toEqual(encode({}));
    expect(at(0)[own]).toBe(-at(200)[own]);
    expect(at(150)[own] / at(150)[0]).toBeCloseTo(at(200)[own] / at(200)[0] / 2, 2);
  });

  it("tells a category of the context from the same of the action, and a text from no text", () => {
    const { encode } = encoder({ dimension: 4096 });
    const shown: { context?: NamedFeatures; action?: NamedFeatures }[] = [
      { context: { brand: "Acme" } },
      { action: { brand: "Acme" } },
      { action: { brand: "" } },
      { action: { brand: "acme" } },
      { action: { tags: ["Acme"] } },
      { action: { brand: true } },
      {},
    ];
    const vectors = shown.map(encode);
    expect(new Set(vectors.map((vector) => vector.join())).size).toBe(vectors.length);
    expect(encode({ action: { brand: ["Acme", "Acme"] } })).toEqual(encode({ action: { brand: "Acme" } }));
    expect(encode({ action: { brand: "true" } })).toEqual(encode({ action: { brand: true } }));
  });
});
