import { encoder, type NamedFeatures } from "afterclick";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { freshCore, stageOf } from "../../support/core.ts";

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
            const encoded = featuresIn(context);
            const matrix = encoded.matrix();
            const alone = actions.flatMap((action) => Array.from(encode({ context, action })));
            expect([encoded.count, encoded.dimension]).toEqual([actions.length, d]);
            expect(new BigUint64Array(matrix.buffer)).toEqual(new BigUint64Array(Float64Array.from(alone).buffer));
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
      expect(among([many(1), many(63)])(many(63)).matrix()).toHaveLength(32);
      expect(messageOf(() => among([many(1), many(63)])(many(64)))).toBe(messageOf(() => encode({ context: many(64), action: many(63) })));
      expect(() => among([many(63)])(many(64))).toThrow(/features: expected at most 4096 terms/);
    }
    expect(() => encoder({ dimension: 16 }).encode({ context: many(2000), action: many(2097) })).toThrow(/4096 terms/);
  });

  it("counts the interactions of all actions for its budget, and a pair of names as one for each action", () => {
    fc.assert(
      fc.property(interactions, fc.array(features, { maxLength: 5 }), features, (pairs, actions, context) => {
        const { among } = encoder({ dimension: 16, numeric, interactions: pairs });
        const termsOf = (named: NamedFeatures, feature: string): number | undefined => {
          if (!Object.hasOwn(named, feature)) return undefined;
          const value = named[feature];
          return Array.isArray(value) ? new Set(value).size : 1;
        };
        const allOf = (named: NamedFeatures) => Object.keys(named).reduce((sum, feature) => sum + (termsOf(named, feature) as number), 0);
        const counted = actions.reduce((sum, action) => {
          if (pairs === "all") return sum + allOf(context) * allOf(action);
          const products = pairs.map(([first, second]) => {
            return (termsOf(context, first) ?? termsOf(action, first) ?? 0) * (termsOf(action, second) ?? termsOf(context, second) ?? 0);
          });
          return sum + pairs.length + products.reduce((all, each) => all + each, 0);
        }, 0);
        expect(among(actions, { budget: counted })(context).count).toBe(actions.length);
        if (counted === 0) return;
        expect(() => among(actions, { budget: counted - 1 })(context)).toThrow(
          new RegExp(`^features: expected at most ${counted - 1} interactions of all actions together, got \\d+; send fewer features`),
        );
      }),
      { numRuns: 200 },
    );
  });

  it("has the bits of encode for a list with a category twice", () => {
    const { encode, among } = encoder({ dimension: 16, numeric, interactions: "all" });
    // A flag and its text are one category.
    const action = { brand: "Acme", tags: [true, "true"] } as never;
    const encoded = among([action])({ country: "PT" });
    expect(encoded.matrix()).toEqual(encode({ context: { country: "PT" }, action }));
    const { core } = freshCore();
    const handle = core.ridgeCreate(16, 1);
    core.draws.draw(handle, new Float64Array(16));
    core.draws.rows(handle, 1, 1, 8, new Float64Array(16).fill(1));
    const sum = encoded.matrix().reduce((all, each) => all + each, 0);
    expect(core.draws.scores([stageOf(handle)], encoded as never, 1)[0]).toBeCloseTo(sum, 2);
  });

  it("takes a catalogue of none, and refuses what is no catalogue", () => {
    const { among } = encoder({ dimension: 16, interactions: "all" });
    expect(among([])({ country: "PT" }).matrix()).toEqual(new Float64Array(0));
    expect(() => among({ brand: "Acme" } as never)).toThrow(/actions: expected an array/);
  });
});
