import { encoder, type NamedFeatures } from "afterclick";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

// `among` gives the same bits and errors as `encode`, but faster.

const numeric = { price: { min: 0, max: 200 }, hour: { min: 0, max: 24 } };
// Few names, so that interactions match. Lone surrogates and separators test the piecewise hashing.
const name = fc.constantFrom("brand", "country", "tags", "price", "hour", "ü", "\u0000", "a\u0000b", "\ud83d");
const category = fc.oneof(
  fc.constantFrom("Acme", "PT", "", "é", "👟", "\ud83d", "\udc5f", "\u0001"),
  fc.string({ unit: "binary", maxLength: 6 }),
  fc.boolean(),
);
const value = fc.oneof(
  { weight: 4, arbitrary: category },
  fc.array(fc.oneof(fc.string(), fc.constantFrom("red", "new")), { maxLength: 4 }),
);
const features: fc.Arbitrary<NamedFeatures> = fc
  .tuple(
    fc.dictionary(name, value, { maxKeys: 5 }),
    fc.record({ price: fc.double({ noNaN: true, noDefaultInfinity: true }), hour: fc.integer() }, { requiredKeys: [] }),
  )
  .map(([named, numbers]) => ({ ...named, ...numbers }) as NamedFeatures);
const interactions = fc.oneof(fc.constant("all" as const), fc.array(fc.tuple(name, name), { maxLength: 4 }));
const dimension = fc.constantFrom(2, 7, 32, 33, 128, 1000);
const vocabulary = fc.constantFrom<[string, string][]>(
  [],
  [
    ["brand", "Acme"],
    ["country", "PT"],
    ["tags", "red"],
    ["brand", "👟"],
  ],
);

describe("among", () => {
  it("gives each action the bits that encode gives it, in context after context", () => {
    fc.assert(
      fc.property(
        dimension,
        interactions,
        vocabulary,
        fc.array(features, { maxLength: 5 }),
        fc.array(features, { maxLength: 3 }),
        (d, pairs, entries, actions, contexts) => {
          const { encode, among } = encoder({ dimension: d, numeric, interactions: pairs, vocabulary: entries });
          const featuresIn = among(actions);
          for (const context of [...contexts, undefined]) {
            const rows = featuresIn(context);
            const alone = actions.flatMap((action) => Array.from(encode({ context, action })));
            expect(new BigUint64Array(rows.buffer)).toEqual(new BigUint64Array(Float64Array.from(alone).buffer));
          }
        },
      ),
      { numRuns: 400 },
    );
  });

  const messageOf = (act: () => unknown): string | undefined => {
    try {
      act();
      return undefined;
    } catch (error) {
      return `${(error as Error).name} ${(error as Error).message}`;
    }
  };

  it("refuses what encode refuses, with the same words: an action at once, a context when it comes", () => {
    const wrong = fc.constantFrom<unknown>({ weight: 3 }, { price: Number.NaN }, { brand: { a: 1 } }, { tags: [1] }, null, 7, "text");
    fc.assert(
      fc.property(interactions, features, wrong, (pairs, good, bad) => {
        const { encode, among } = encoder({ dimension: 16, numeric, interactions: pairs });
        expect(messageOf(() => among([good, bad as never]))).toBe(messageOf(() => encode({ action: bad as never })));
        expect(messageOf(() => among([good])(bad as never))).toBe(messageOf(() => encode({ context: bad as never, action: good })));
        expect(messageOf(() => among([good])(bad as never))).toBeDefined();
      }),
      { numRuns: 100 },
    );
  });

  it("counts terms as encode does", () => {
    const many = (count: number): NamedFeatures => ({ tags: Array.from({ length: count }, (_, i) => `tag ${i}`) });
    for (const pairs of ["all", [["tags", "tags"]]] as const) {
      const { encode, among } = encoder({ dimension: 16, interactions: pairs as "all" });
      // 63 + 63 + 63^2 = 4095, and 64 + 63 + 64 * 63 = 4159.
      expect(among([many(1), many(63)])(many(63))).toHaveLength(32);
      expect(messageOf(() => among([many(1), many(63)])(many(64)))).toBe(messageOf(() => encode({ context: many(64), action: many(63) })));
      expect(() => among([many(63)])(many(64))).toThrow(/features: expected at most 4096 terms/);
    }
    expect(() => encoder({ dimension: 16 }).encode({ context: many(2000), action: many(2097) })).toThrow(/4096 terms/);
  });

  it("takes a catalogue of none, and refuses what is no catalogue", () => {
    const { among } = encoder({ dimension: 16, interactions: "all" });
    expect(among([])({ country: "PT" })).toEqual(new Float64Array(0));
    expect(() => among({ brand: "Acme" } as never)).toThrow(/actions: expected an array/);
  });
});
