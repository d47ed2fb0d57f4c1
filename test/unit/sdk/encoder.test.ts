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
    expect(own.options).toEqual({ ...before, version: 3 });
    expect(own.encode({ action: { price: 50 } })).toEqual(vector);
  });

  it("encodes nothing as the constant", () => {
    expect(shop.encode({})).toEqual(Float64Array.from({ length: 32 }, (_, i) => (i === 0 ? 0.25 : 0)));
  });

  const bad: [string, () => unknown, RegExp][] = [
    ["a number without a range", () => shop.encode({ action: { weight: 3 } }), /action\.weight/],
    ["a number that is not finite", () => shop.encode({ action: { price: Number.NaN } }), /action\.price/],
    ["a nested value", () => shop.encode({ action: { brand: { name: "x" } as never } }), /action\.brand/],
    ["no features at all", () => shop.encode({ action: null as never }), /action/],
    ["a dimension without room for a term", () => encoder({ dimension: 1 }), /dimension/],
    ["another version", () => encoder({ dimension: 4, version: 2 as never }), /version: expected 3.* learn again/],
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
