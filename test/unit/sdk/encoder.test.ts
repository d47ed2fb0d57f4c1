import { encoder } from "afterclick";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const shop = encoder({
  dimension: 32,
  numeric: { price: { min: 0, max: 200 }, hour: { min: 0, max: 24 } },
  interactions: [
    ["country", "brand"],
    ["hour", "price"],
  ],
});

const features = fc.record({
  context: fc.record({ country: fc.string(), tags: fc.array(fc.string(), { maxLength: 5 }), hour: fc.integer({ min: -5, max: 30 }) }),
  action: fc.record({ brand: fc.string(), sale: fc.boolean(), price: fc.double({ min: -1e9, max: 1e9, noNaN: true }) }),
});

describe("encoder", () => {
  it("gives vectors of a length of at most 4, of multiples of 2^-12", () => {
    fc.assert(
      fc.property(features, (named) => {
        const vector = shop.encode(named);
        expect(vector.reduce((sum, component) => sum + component * component, 0)).toBeLessThanOrEqual(4 ** 2);
        expect(vector.every((component) => Number.isInteger(component * 4096))).toBe(true);
        expect(vector.length).toBe(32);
      }),
    );
  });

  it("does not depend on the order of names, and tells context from action", () => {
    const vector = shop.encode({ context: { country: "PT", hour: 9 }, action: { brand: "Acme", price: 20 } });
    expect(shop.encode({ action: { price: 20, brand: "Acme" }, context: { hour: 9, country: "PT" } })).toEqual(vector);
    expect(shop.encode({ context: { brand: "Acme" } })).not.toEqual(shop.encode({ action: { brand: "Acme" } }));
    expect(shop.encode({ action: { brand: "Acme" } })).not.toEqual(shop.encode({ action: { brand: "Acne" } }));
  });

  it("scales numbers by their range and keeps them inside it", () => {
    const { encode } = encoder({ dimension: 16, numeric: { price: { min: 0, max: 200 } } });
    // Relative to the constant of 1/4, because the vector is scaled.
    const size = (price: number): number => {
      const vector = encode({ action: { price } });
      return vector[1] / (4 * vector[0]);
    };
    for (const [price, expected] of [
      [0, -1],
      [50, -0.5],
      [100, 0],
      [200, 1],
      [1e9, 1],
    ])
      expect(size(price)).toBeCloseTo(expected, 2);
  });

  it("adds products of features for interactions", () => {
    const plain = encoder({ dimension: 1024 }).encode({ context: { a: "x" }, action: { b: "y" } });
    const crossed = encoder({ dimension: 1024, interactions: "all" }).encode({ context: { a: "x" }, action: { b: "y" } });
    expect(plain.filter((component) => component !== 0).length).toBe(3);
    expect(crossed.filter((component) => component !== 0).length).toBe(4);
  });

  it("keeps the options that it was made by, whatever becomes of them", () => {
    const given = { dimension: 8, numeric: { price: { min: 0, max: 200 } }, interactions: [["a", "b"]] as [string, string][] };
    const own = encoder(given);
    const before = structuredClone(given);
    const vector = own.encode({ action: { price: 50 } });
    given.numeric.price.max = 100;
    given.interactions.pop();
    expect(own.options).toEqual({ ...before, version: 4 });
    expect(own.encode({ action: { price: 50 } })).toEqual(vector);
  });

  it("encodes nothing as the constant", () => {
    expect(shop.encode({})).toEqual(Float64Array.from({ length: 32 }, (_, i) => (i === 0 ? 0.25 : 0)));
  });

  it("has a block for each component: the constant, actions, contexts, what is shared, and the products of each number of visitors", () => {
    // Room of 23 components: the prices and hours of either side, 4 brands, and products of the hour and the price with each brand.
    const brands = ["a", "b", "c", "d"].map((brand) => ["brand", brand] as const);
    const numeric = { price: { min: 0, max: 1 }, hour: { min: 0, max: 1 } };
    const { blocks } = encoder({ dimension: 32, numeric, interactions: "all", vocabulary: brands });
    const shared = new Array(15).fill(3);
    expect(blocks).toEqual([0, 1, 2, 1, 2, 1, 1, 1, 1, ...shared, 5, 4, 5, 4, 5, 4, 5, 4]);
  });

  it("has the block of the number in whichever products components have, if only some numbers are multiplied", () => {
    const vocabulary = [["brand", "a"], ["size", "s"], ["brand", "b"]] as const; // biome-ignore format: one line
    const numeric = { hour: { min: 0, max: 1 }, temperature: { min: 0, max: 1 } };
    const interactions = [["hour", "brand"], ["temperature", "size"], ["temperature", "brand"]] as const; // biome-ignore format: one line
    const own = encoder({ dimension: 24, numeric, interactions, vocabulary });
    for (const [action, hour, block] of [
      [{ brand: "a" }, { hour: 1 }, 4],
      [{ brand: "b" }, { hour: 1 }, 4],
      [{ size: "s" }, { temperature: 1 }, 5],
      [{ brand: "a" }, { temperature: 1 }, 5],
      [{ brand: "b" }, { temperature: 1 }, 5],
    ] as const) {
      const vector = own.encode({ action, context: hour });
      const products = own.blocks.filter((each, i) => each > 3 && vector[i] !== 0);
      expect(products).toEqual([block]);
    }
  });

  it("has blocks in small dimensions: the constant, then what is shared", () => {
    expect(encoder({ dimension: 2 }).blocks).toEqual([0, 3]);
    expect(encoder({ dimension: 4, numeric: { hour: { min: 0, max: 1 } } }).blocks).toEqual([0, 1, 2, 3]);
  });

  it("has components for contexts alone from 64 on", () => {
    const { blocks } = encoder({ dimension: 64 });
    expect(blocks).toEqual(Array.from({ length: 64 }, (_, i) => (i === 0 ? 0 : i % 8 === 0 ? 2 : 3)));
  });

  it("has a block of one kind wherever a term of a component of its own is, for any numbers and vocabulary", () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 200 }), fc.nat({ max: 4 }), fc.nat({ max: 40 }), (dimension, numbers, entries) => {
        const numeric = Object.fromEntries(Array.from({ length: numbers }, (_, i) => [`n${i}`, { min: 0, max: 1 }]));
        const vocabulary = Array.from({ length: entries }, (_, i) => ["brand", `b${i}`] as const);
        const own = encoder({ dimension, numeric, vocabulary, interactions: "all" });
        expect(own.blocks.length).toBe(dimension);
        expect(own.blocks[0]).toBe(0);
        expect(own.blocks.lastIndexOf(0)).toBe(0);
        expect(own.blocks.filter((block) => block !== 3).length).toBeGreaterThanOrEqual(own.exact);
        expect(own.blocks.every((block) => block >= 0 && block < 4 + Math.max(numbers, 0))).toBe(true);
      }),
      { numRuns: 40 },
    );
  });

  it("keeps the blocks of earlier entries and of their products when the vocabulary grows", () => {
    const numeric = { hour: { min: 0, max: 1 } };
    const vocabularyOf = (count: number) => Array.from({ length: count }, (_, i) => ["brand", `b${i}`] as const);
    const blocksOf = (count: number) => encoder({ dimension: 64, numeric, interactions: "all", vocabulary: vocabularyOf(count) }).blocks;
    const [few, more] = [blocksOf(3), blocksOf(6)];
    few.forEach((block, i) => {
      if (block === 1 || block > 3) expect(more[i]).toBe(block);
    });
    for (const [blocks, count] of [
      [few, 3],
      [more, 6],
    ] as const) {
      expect(blocks.filter((block) => block === 4).length).toBe(count);
      // The number of the action is an effect as the brands are.
      expect(blocks.filter((block) => block === 1).length).toBe(1 + count);
    }
  });

  const bad: [string, () => unknown, RegExp][] = [
    ["a number without a range", () => shop.encode({ action: { weight: 3 } }), /action\.weight/],
    ["a number that is not finite", () => shop.encode({ action: { price: Number.NaN } }), /action\.price/],
    ["a nested value", () => shop.encode({ action: { brand: { name: "x" } as never } }), /action\.brand/],
    ["no features at all", () => shop.encode({ action: null as never }), /action/],
    ["a dimension without room for a term", () => encoder({ dimension: 1 }), /dimension/],
    ["another version", () => encoder({ dimension: 4, version: 2 as never }), /version: expected 4.* learn again/],
    ["a vocabulary that is none", () => encoder({ dimension: 4, vocabulary: "brand" as never }), /vocabulary: expected an array/],
    ["an entry of three texts", () => encoder({ dimension: 4, vocabulary: [["a", "b", "c"]] as never }), /vocabulary\[0\]/],
    [
      "an entry twice",
      () =>
        encoder({
          dimension: 4,
          vocabulary: [
            ["a", "b"],
            ["a", "b"],
          ],
        }),
      /vocabulary\[1\]: expected each entry once/,
    ],
    [
      "a range of infinite width",
      () => encoder({ dimension: 4, numeric: { price: { min: -1.7e308, max: 1.7e308 } } }),
      /numeric\.price\.min/,
    ],
    ["an empty range", () => encoder({ dimension: 4, numeric: { price: { min: 1, max: 1 } } }), /numeric\.price\.max/],
    ["an interaction that is no pair", () => encoder({ dimension: 4, interactions: [["a"]] as never }), /interactions\[0\]/],
  ];
  it.each(bad)("refuses %s", (_, act, message) => {
    expect(act).toThrow(message);
  });
});
