import { encoder, type NamedFeatures } from "afterclick";
import { vocabularyOf } from "afterclick/research";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const text = fc.constantFrom("a", "b", "c", "d", "e", "f", "g", "h");
const product: fc.Arbitrary<NamedFeatures> = fc.record({ brand: text, category: text, tags: fc.array(text, { maxLength: 3 }) });
const catalogue = fc
  .array(product, { minLength: 1, maxLength: 12 })
  .map((products): NamedFeatures[] => products.map((features, i) => ({ ...features, id: `sku-${i}` })));
const context: fc.Arbitrary<NamedFeatures> = fc.record({ country: text, hour: fc.integer({ min: 0, max: 24 }) });
const numeric = { hour: { min: 0, max: 24 } };

describe("the vocabulary of a catalogue", () => {
  it("gives each product of a catalogue that fits a vector of its own, in every context", () => {
    fc.assert(
      fc.property(catalogue, context, (products, shown) => {
        const { among, unplaced } = encoder({ dimension: 128, numeric, interactions: "all", vocabulary: vocabularyOf(products) });
        const encoded = among(products)(shown);
        const distinct = new Set(products.map((_, i) => encoded.rows([i]).join()));
        expect(unplaced).toBe(0);
        expect(distinct.size).toBe(products.length);
      }),
      { numRuns: 200 },
    );
  });

  it("never lets the terms of a vector cancel: a vector has no negative component but those of declared numbers and of their products", () => {
    fc.assert(
      fc.property(catalogue, context, fc.integer({ min: 2, max: 64 }), (products, shown, dimension) => {
        const options = { dimension, numeric, interactions: "all" as const, vocabulary: vocabularyOf(products) };
        const { among, exact, unplaced } = encoder(options);
        const rows = among(products)(shown).matrix();
        // Numbers come first: hour as a feature of actions, then of contexts. Their products come last.
        const numbers = Math.min(2, Math.floor((3 * (dimension - 1)) / 4));
        const own = exact - 1 - numbers - (options.vocabulary.length - unplaced);
        expect(rows.every((value, i) => value >= 0 || i % dimension === 2 || i % dimension >= dimension - own)).toBe(true);
        expect(rows.every((value, i) => i % dimension !== 0 || value > 0)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  it("keeps the places of its entries when the catalogue is replaced", () => {
    fc.assert(
      fc.property(catalogue, catalogue, (before, after) => {
        const old = vocabularyOf(before);
        const grown = vocabularyOf(after, old);
        expect(grown.slice(0, old.length)).toEqual(old);
        expect(new Set(grown.map((entry) => JSON.stringify(entry))).size).toBe(grown.length);
        expect(vocabularyOf(before, grown)).toEqual(grown);
        expect(vocabularyOf([...before].reverse())).toEqual(old);
      }),
      { numRuns: 200 },
    );
  });

  it("gives products with a visitor's number components of their own, centred, but none with a number of actions", () => {
    const vocabulary = vocabularyOf([{ id: "mug" }, { id: "cup" }].map((product, i) => ({ ...product, price: i })));
    const options = {
      dimension: 32,
      numeric: { age: { min: 0, max: 100 }, price: { min: 0, max: 2 } },
      interactions: "all" as const,
      vocabulary,
    };
    const { encode, exact } = encoder(options);
    // The constant, two numbers of each side, two ids, and the product of the age with each id.
    expect(exact).toBe(9);
    const [young, old, other] = [
      encode({ context: { age: 0 }, action: { id: "mug" } }),
      encode({ context: { age: 100 }, action: { id: "mug" } }),
      encode({ context: { age: 100 }, action: { id: "cup" } }),
    ];
    const products = [30, 31];
    const place = products.find((i) => old[i] !== 0) as number;
    expect(old[place]).toBeGreaterThan(0);
    // Relative to the constant, because the product with 0 makes no vector shorter.
    expect(young[place] / young[0]).toBeCloseTo(-old[place] / old[0], 2);
    expect(other[products.find((i) => i !== place) as number]).toBe(old[place]);
    expect(other[place]).toBe(0);
  });

  it("moves few hashed terms when it grows", () => {
    const contexts = Array.from({ length: 200 }, (_, i) => ({ context: { city: `city-${i}` } }));
    const placeOf = (vocabulary: ReturnType<typeof vocabularyOf>) => {
      const { encode } = encoder({ dimension: 256, vocabulary });
      return contexts.map((named) => encode(named).findIndex((value, i) => i > 0 && value !== 0));
    };
    const ids = (count: number) => vocabularyOf(Array.from({ length: count }, (_, i) => ({ id: `sku-${i}` })));
    const [before, after] = [placeOf(ids(40)), placeOf(vocabularyOf([{ id: "new" }], ids(40)))];
    const moved = after.filter((place, i) => place !== before[i]).length;
    expect(moved).toBeLessThan(8);
  });

  it("places the entries of most products first, and counts those without a place", () => {
    const products = Array.from({ length: 20 }, (_, i) => ({ id: `sku-${i}`, brand: i < 5 ? "Acme" : "Apex" }));
    const vocabulary = vocabularyOf(products);
    expect(vocabulary.slice(0, 2)).toEqual([
      ["brand", "Apex"],
      ["brand", "Acme"],
    ]);
    // 17 components: the constant, 12 exact ones, and 4 that the other 10 entries share.
    expect(encoder({ dimension: 17, vocabulary })).toMatchObject({ exact: 13, unplaced: 10 });
  });

  it("names numbers first, and takes flags as text", () => {
    expect(vocabularyOf([{ tags: ["new", "new"], price: 3, sale: true }])).toEqual([["price"], ["sale", "true"], ["tags", "new"]]);
  });
});
