import { encoder, type NamedFeatures } from "afterclick";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MOST_LENGTH, plainEncoder } from "../../support/reference/plain-encoder.ts";

// Compares the encoder with a second implementation.

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
  it("is the sum of its terms, divided by the length that they have apart, and never longer than 4", () => {
    fc.assert(
      fc.property(given, ({ context, action, ...options }) => {
        const vector = encoder({ ...options, numeric }).encode({ context, action });
        const { sum, scale } = plainEncoder({ ...options, numeric })(context, action);
        const factor = Math.min(scale, MOST_LENGTH / Math.hypot(...sum));
        expect(vector).toHaveLength(options.dimension);
        sum.forEach((value, j) => {
          // Truncation towards zero loses less than 2^-12; besides this, only the length is rounded.
          const lost = Math.abs(value * factor) - Math.abs(vector[j]);
          expect(lost).toBeGreaterThan(-1e-12);
          expect(lost).toBeLessThan(1 / 4096 + 1e-12);
          if (Math.abs(vector[j]) > 0) expect(Math.sign(vector[j])).toBe(Math.sign(value));
        });
      }),
      settings,
    );
  });

  it("is of multiples of 2^-12, without -0, and no longer than 4", () => {
    fc.assert(
      fc.property(given, ({ context, action, ...options }) => {
        const vector = encoder({ ...options, numeric }).encode({ context, action });
        expect(vector.every((value) => Number.isInteger(value * 4096) && !Object.is(value, -0))).toBe(true);
        // Exact, because the components are multiples of 2^-12.
        expect(vector.reduce((sum, value) => sum + value * value, 0)).toBeLessThanOrEqual(MOST_LENGTH ** 2);
      }),
      settings,
    );
  });

  it("is inside the unit ball where no terms share a component and no product is centred", () => {
    let inside = 0;
    fc.assert(
      fc.property(given, ({ context, action, ...options }) => {
        const wide = { ...options, dimension: 4096, numeric };
        const { parts } = plainEncoder(wide)(context, action);
        const isApart = new Set(parts.map(({ place }) => place)).size === parts.length && !parts.some(({ isCentred }) => isCentred);
        if (!isApart) return;
        inside++;
        const vector = encoder(wide).encode({ context, action });
        expect(vector.reduce((sum, value) => sum + value * value, 0)).toBeLessThanOrEqual(1);
      }),
      settings,
    );
    expect(inside).toBeGreaterThan(settings.numRuns / 2);
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
