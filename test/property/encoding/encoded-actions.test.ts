import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Core } from "../../../src/core/core.ts";
import type { RidgeHandle } from "../../../src/core/ridge-handle.ts";
import type { CatalogueColumns } from "../../../src/encoding/catalogue-columns.ts";
import type { Entry } from "../../../src/encoding/components.ts";
import type { EncodedActions } from "../../../src/encoding/encoded-actions.ts";
import { type EncoderOptions, encoder } from "../../../src/encoding/encoder.ts";
import type { NamedFeatures } from "../../../src/encoding/terms.ts";
import { vocabularyOf } from "../../../src/encoding/vocabulary.ts";
import { freshCore, rankedBy, stageOf } from "../../support/core.ts";
import { MOST_LENGTH, type PlainVector, plainEncoder } from "../../support/reference/plain-encoder.ts";

// The core scores the actions of a catalogue without their vectors. The scores are those of the unrounded vectors, as a second implementation
// of the encoder has them, up to single precision.

/** Numbers of draws on both sides of the 102 samples of a group. */
const DRAWS = [1, 2, 7, 100, 102, 103, 250];
const DIMENSIONS = [2, 3, 5, 8, 16, 33, 64, 128, 257, 1000];
/** Roundings of a sum in single precision, of its size. */
const ROUNDING = 1e-5;

const numeric = { price: { min: 0, max: 9 }, stock: { min: -5, max: 5 }, age: { min: 0, max: 100 }, hour: { min: 0, max: 24 } };
const text = fc.constantFrom("a", "b", "c", "d", "e", "f");
const action = fc.record(
  {
    brand: text,
    tags: fc.array(text, { maxLength: 4 }),
    isNew: fc.boolean(),
    price: fc.integer({ min: -1, max: 10 }),
    stock: fc.double({ min: -5, max: 5, noNaN: true }),
  },
  { requiredKeys: [] },
);
const catalogue = fc
  .tuple(fc.array(action, { minLength: 1, maxLength: 9 }), fc.boolean())
  .map(([actions, hasIds]) => actions.map((each, i) => (hasIds ? { ...each, id: `sku-${i}` } : each) as NamedFeatures));
const context = fc.oneof(
  { weight: 1, arbitrary: fc.constant({}) },
  {
    weight: 6,
    arbitrary: fc.record(
      {
        country: text,
        segments: fc.array(text, { maxLength: 3 }),
        age: fc.integer({ min: 0, max: 100 }),
        hour: fc.integer({ min: -1, max: 25 }),
      },
      { requiredKeys: [] },
    ),
  },
) as fc.Arbitrary<NamedFeatures>;

/** Vocabularies: none, a part, all, one of other actions too, and one that learns of a number late. */
const vocabularies: readonly ((actions: readonly NamedFeatures[]) => readonly Entry[])[] = [
  () => [],
  (actions) => vocabularyOf(actions).slice(0, 4),
  (actions) => vocabularyOf(actions),
  (actions) =>
    vocabularyOf(
      Array.from({ length: 40 }, (_, i) => ({ id: `old-${i}`, brand: "a" })),
      vocabularyOf(actions),
    ),
  (actions) => [...vocabularyOf(actions).filter((entry) => entry.length === 2), ["price"]],
];

interface Case {
  readonly actions: readonly NamedFeatures[];
  readonly others: readonly NamedFeatures[];
  readonly contexts: readonly NamedFeatures[];
  readonly options: EncoderOptions;
}

const given: fc.Arbitrary<Case> = fc
  .record({
    actions: catalogue,
    others: catalogue,
    contexts: fc.array(context, { minLength: 2, maxLength: 3 }),
    dimension: fc.constantFrom(...DIMENSIONS),
    vocabulary: fc.nat({ max: vocabularies.length - 1 }),
    interactions: fc.constantFrom("all" as const, "all" as const, []),
  })
  .map(({ vocabulary, dimension, interactions, ...rest }) => {
    const options = { dimension, numeric, interactions, vocabulary: vocabularies[vocabulary](rest.actions) };
    return { ...rest, options };
  });

/** Draws of a posterior that has learnt something, in double precision. */
function learnt(core: Core, d: number, draws: number) {
  const handle = core.ridgeCreate(d, 0.5);
  for (let n = 0; n < 3; n++) {
    const x = core.normals(n, "x", d).map((z, j) => ((j + n) % 3 === 0 ? Math.round(4 * z) / 8 : 0));
    core.ridgeAppend(handle, x);
    core.ridgeReward(handle, x, 1 - n);
  }
  const pairs = Math.ceil(draws / 2);
  const normals = core.normals(7, "draws", pairs * d);
  core.draws.draw(handle, normals);
  const theta = core.ridgeEstimate(handle);
  const widths = Array.from({ length: pairs }, (_, s) => {
    return core.ridgeSample(handle, normals.subarray(s * d, (s + 1) * d), 0.75).map((each, j) => each - theta[j]);
  });
  return { handle, theta, widths };
}

const rowsOf = ({ catalogue }: EncodedActions): number => (catalogue as CatalogueColumns).tableRows;
const isBounded = ({ sum, scale }: PlainVector): boolean => scale * Math.hypot(...sum) <= MOST_LENGTH;

/** The product of an unrounded vector with a parameter, and the size of its summands. */
function productOf({ parts, scale }: PlainVector, parameter: ArrayLike<number>): { readonly value: number; readonly size: number } {
  let [value, size] = [0, 0];
  for (const part of parts) {
    value += scale * part.value * parameter[part.place];
    size += Math.abs(scale * part.value * parameter[part.place]);
  }
  return { value, size };
}

interface Posterior {
  readonly handle: RidgeHandle;
  readonly theta: Float64Array;
  readonly widths: readonly Float64Array[];
}

/** Expects the scores of `samples` samples to be those of unrounded vectors, and returns them. */
function expectScores(core: Core, posterior: Posterior, encoded: EncodedActions, plain: readonly PlainVector[], samples: number) {
  const { handle, theta, widths } = posterior;
  const level = 0.125;
  const scores = core.draws.scores([{ ...stageOf(handle), level }], encoded, samples);
  expect(scores.length).toBe(samples * plain.length);
  plain.forEach((vector, c) => {
    const mean = productOf(vector, theta);
    const rounded = encoded.rows([c]);
    const places = [...new Set(vector.parts.map(({ place }) => place))];
    for (let s = 0; s < samples; s++) {
      const score = scores[s * plain.length + c];
      const sign = s % 2 === 0 ? 1 : -1;
      const width = productOf(vector, widths[s >> 1]);
      const tolerance = ROUNDING * (level + mean.size + width.size);
      expect(Math.abs(score - (level + mean.value + sign * width.value))).toBeLessThanOrEqual(tolerance);
      // The policy learns the vector rounded to multiples of 2^-12.
      if (!isBounded(vector)) continue;
      const parameter = (j: number) => theta[j] + sign * widths[s >> 1][j];
      const ofRounded = places.reduce((sum, j) => sum + rounded[j] * parameter(j), level);
      const lost = places.reduce((sum, j) => sum + Math.abs(parameter(j)) / 4096, 0);
      expect(Math.abs(score - ofRounded)).toBeLessThanOrEqual(lost + tolerance);
    }
  });
  return scores;
}

describe("samples of the actions of a catalogue", () => {
  it.each(DRAWS)("have the scores of the unrounded vectors: %d draws", (draws) => {
    fc.assert(
      fc.property(given, ({ actions, contexts, options }) => {
        const { core } = freshCore();
        const featuresIn = encoder(options).among(actions);
        const plainly = plainEncoder(options);
        const posterior = learnt(core, options.dimension, draws);
        for (const each of contexts) {
          const encoded = featuresIn(each);
          core.draws.rows(posterior.handle, posterior.widths.length, 0.75, rowsOf(encoded));
          const plain = actions.map((features) => plainly(each, features));
          expectScores(core, posterior, encoded, plain, draws);
          core.draws.products(encoded, posterior.theta).forEach((product, c) => {
            const { value, size } = productOf(plain[c], posterior.theta);
            expect(Math.abs(product - value)).toBeLessThanOrEqual(ROUNDING * size);
          });
        }
      }),
      { numRuns: 15 },
    );
  });

  it.each(DRAWS)("have the lists that rank their scores, with and without families: %d draws", (draws) => {
    const families = fc.record({
      of: fc.array(fc.integer({ min: -1, max: 2 }), { minLength: 9, maxLength: 9 }),
      room: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 3, maxLength: 3 }),
    });
    fc.assert(
      fc.property(given, families, ({ actions, contexts, options }, { of, room }) => {
        const { core } = freshCore();
        const featuresIn = encoder(options).among(actions);
        const { handle, widths } = learnt(core, options.dimension, draws);
        const stages = [stageOf(handle)];
        const k = actions.length;
        for (const each of contexts) {
          const encoded = featuresIn(each);
          core.draws.rows(handle, widths.length, 0.75, rowsOf(encoded));
          const scores = core.draws.scores(stages, encoded, draws);
          for (let limit = 1; limit <= k; limit++) {
            for (const bounds of [undefined, { of: Int32Array.from(of.slice(0, k)), room: Int32Array.from(room) }]) {
              const lists = core.draws.lists(stages, encoded, draws, limit, bounds);
              expect(lists.length).toBe(draws * limit);
              for (let s = 0; s < draws; s++) {
                const own = Array.from(lists.subarray(s * limit, (s + 1) * limit));
                expect(own).toEqual(rankedBy(scores.subarray(s * k, (s + 1) * k), limit, bounds));
              }
            }
          }
        }
      }),
      { numRuns: 20 },
    );
  });

  it("have the same bits among some of the actions", () => {
    const indices = fc.array(fc.nat(), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(given, indices, indices, fc.constantFrom(...DRAWS), ({ actions, contexts, options }, first, second, draws) => {
        const { core } = freshCore();
        const encoded = encoder(options).among(actions)(contexts[0]);
        const { handle, theta, widths } = learnt(core, options.dimension, draws);
        core.draws.rows(handle, widths.length, 0.75, rowsOf(encoded));
        const [all, products] = [core.draws.scores([stageOf(handle)], encoded, draws), core.draws.products(encoded, theta)];
        const picks = first.map((i) => i % actions.length);
        const picked = encoded.pick(picks);
        const again = second.map((i) => i % picks.length);
        for (const [some, places] of [
          [picked, picks],
          [picked.pick(again), again.map((i) => picks[i])],
        ] as const) {
          expect(some.count).toBe(places.length);
          const scores = core.draws.scores([stageOf(handle)], some, draws);
          const expected = Array.from({ length: draws }, (_, s) => places.map((i) => all[s * actions.length + i])).flat();
          expect(Array.from(scores)).toEqual(expected);
          expect(Array.from(core.draws.products(some, theta))).toEqual(places.map((i) => products[i]));
          expect(some.matrix()).toEqual(encoded.rows(places));
          const lists = core.draws.lists([stageOf(handle)], some, draws, places.length);
          expect(Array.from(lists.subarray(0, places.length))).toEqual(rankedBy(scores.subarray(0, places.length), places.length));
        }
      }),
      { numRuns: 60 },
    );
  });

  it("do not depend on what the core has scored in between: catalogues and contexts that alternate, and numbers", () => {
    fc.assert(
      fc.property(given, fc.constantFrom(...DRAWS), ({ actions, others, contexts, options }, draws) => {
        const { core } = freshCore();
        const { among } = encoder(options);
        const catalogues = [actions, others].map((each) => ({ actions: each, featuresIn: among(each) }));
        const posterior = learnt(core, options.dimension, draws);
        const plainly = plainEncoder(options);
        const extra = Math.max(...catalogues.map(({ featuresIn }) => rowsOf(featuresIn())));
        core.draws.rows(posterior.handle, posterior.widths.length, 0.75, extra);
        const results = new Map<string, Float64Array>();
        for (const round of [0, 1, 2, 0, 1]) {
          for (const [which, each] of catalogues.entries()) {
            const place = round % contexts.length;
            const shown = contexts[place];
            const encoded = each.featuresIn(shown);
            const plain = each.actions.map((features) => plainly(shown, features));
            const scores = expectScores(core, posterior, encoded, plain, draws);
            const dense = { count: encoded.count, points: encoded.matrix() };
            core.draws.lists([stageOf(posterior.handle)], dense, draws, 1);
            const before = results.get(`${which} ${place}`);
            if (before) expect(scores).toEqual(before);
            results.set(`${which} ${place}`, scores);
          }
        }
      }),
      { numRuns: 40 },
    );
  });

  it("are those of several stages with different posteriors", () => {
    fc.assert(
      fc.property(given, fc.constantFrom(...DRAWS), ({ actions, contexts, options }, draws) => {
        const { core } = freshCore();
        const encoded = encoder(options).among(actions)(contexts[0]);
        const plainly = plainEncoder(options);
        const posteriors = [learnt(core, options.dimension, draws), learnt(core, options.dimension, draws)];
        core.ridgeReward(posteriors[1].handle, new Float64Array(options.dimension).fill(0.25), 2);
        posteriors[1] = { ...posteriors[1], theta: core.ridgeEstimate(posteriors[1].handle) };
        posteriors.forEach(({ handle, widths }, i) => {
          core.draws.rows(handle, widths.length, 0.75, rowsOf(encoded) + i);
        });
        const [click, order] = posteriors;
        const stages = [
          { ...stageOf(click.handle), level: 0.25, weight: 0.5, isProbability: true },
          { ...stageOf(order.handle), level: 0.5, weight: 2, parent: 0 },
        ];
        const scores = core.draws.scores(stages, encoded, draws);
        actions.forEach((features, c) => {
          const vector = plainly(contexts[0], features);
          for (let s = 0; s < draws; s++) {
            const samples = posteriors.map(({ theta, widths }, i) => {
              const [mean, width] = [productOf(vector, theta), productOf(vector, widths[s >> 1])];
              return stages[i].level + mean.value + (s % 2 === 0 ? width.value : -width.value);
            });
            const expected = Math.min(Math.max(samples[0], 0), 1) * (0.5 + 2 * samples[1]);
            expect(Math.abs(scores[s * actions.length + c] - expected)).toBeLessThan(ROUNDING * (4 + 4 * Math.abs(samples[1])));
          }
        });
      }),
      { numRuns: 30 },
    );
  });
});

it("a core keeps no catalogue but the last one", () => {
  const { core } = freshCore();
  const d = 64;
  const { among } = encoder({ dimension: d, numeric, interactions: "all" });
  const { handle, widths } = learnt(core, d, 100);
  const encoded = Array.from({ length: 200 }, (_, n) =>
    among(Array.from({ length: 30 }, (__, i) => ({ id: `sku-${n}-${i}`, brand: `brand-${i % 4}`, price: i % 9 })))({ age: n % 100 }),
  );
  core.draws.rows(handle, widths.length, 0.75, rowsOf(encoded[0]));
  const score = () => encoded.map((each) => core.draws.lists([stageOf(handle)], each, 100, 3));
  const first = score();
  const before = core.memoryBytes;
  for (let round = 0; round < 5; round++) expect(score()).toEqual(first);
  expect(core.memoryBytes).toBe(before);
});

describe("encoded actions", () => {
  const { among } = encoder({ dimension: 16, interactions: "all" });
  const three = among([{ id: "mug" }, { id: "cup" }, { id: "jug" }])({ country: "PT" });

  it.each([-1, 3, 0.5, Number.NaN])("have no action %d", (index) => {
    for (const act of [() => three.pick([0, index]), () => three.rows([index]), () => three.pick([1, 2, 0]).rows([index])]) {
      expect(act).toThrow(new RangeError(`index: expected one of 3 actions, got ${index}`));
    }
    expect(() => three.pick([1]).rows([1])).toThrow(new RangeError("index: expected one of 1 actions, got 1"));
  });

  it("refuse a matrix of more numbers than fit, and give the rows of some", () => {
    const many = among(Array.from({ length: 160_001 }, () => ({ id: "mug" })))();
    expect(() => many.matrix()).toThrow(new RangeError("features: expected at most 2560000 numbers of all actions together, got 2560016"));
    expect(many.pick([0, 160_000]).matrix()).toHaveLength(32);
  });

  it("have a catalogue if all features are multiplied, or none, and a core refuses them otherwise", () => {
    const { core } = freshCore();
    const handle = core.ridgeCreate(16, 1);
    core.draws.draw(handle, new Float64Array(16));
    core.draws.rows(handle, 1, 1, rowsOf(three));
    const pairs = encoder({ dimension: 16, interactions: [["country", "id"]] }).among([{ id: "mug" }])({ country: "PT" });
    const alone = encoder({ dimension: 16 }).among([{ id: "mug" }])({ country: "PT" });
    expect([three.catalogue !== undefined, alone.catalogue !== undefined, pairs.catalogue]).toEqual([true, true, undefined]);
    expect(core.draws.scores([stageOf(handle)], three, 1)).toEqual(new Float64Array(3));
    for (const act of [() => core.draws.scores([stageOf(handle)], pairs, 1), () => core.draws.products(pairs, new Float64Array(16))]) {
      expect(act).toThrow(new TypeError("actions: expected those of a catalogue"));
    }
  });
});

describe("columns of a catalogue", () => {
  it("stand for the actions in another process, bit for bit", () => {
    fc.assert(
      fc.property(given, fc.constantFrom(1, 7, 103), fc.nat({ max: 3 }), ({ actions, contexts, options }, draws, offset) => {
        const { core } = freshCore();
        const columns = encoder(options).columns(actions);
        // In the middle of other bytes.
        const bytes = new Uint8Array(columns.length + 8);
        bytes.set(columns, offset);
        const [own, other] = [encoder(options), encoder(options)];
        const featuresIn = own.among(actions);
        const again = other.among(actions, { columns: bytes.subarray(offset, offset + columns.length) });
        const { handle, theta, widths } = learnt(core, options.dimension, draws);
        core.draws.rows(handle, widths.length, 0.75, rowsOf(featuresIn()));
        for (const each of contexts) {
          const [first, second] = [featuresIn(each), again(each)];
          expect(rowsOf(second)).toBe(rowsOf(first));
          expect(core.draws.scores([stageOf(handle)], second, draws)).toEqual(core.draws.scores([stageOf(handle)], first, draws));
          expect(core.draws.products(second, theta)).toEqual(core.draws.products(first, theta));
          expect(second.matrix()).toEqual(first.matrix());
        }
        expect(other.columns(actions)).toEqual(columns);
      }),
      { numRuns: 40 },
    );
  });

  it("of other actions or of another encoder are refused", () => {
    const options: EncoderOptions = { dimension: 32, numeric, interactions: "all", vocabulary: [["brand", "a"]] };
    const actions: NamedFeatures[] = [{ brand: "a" }, { brand: "b", price: 3 }];
    const columns = encoder(options).columns(actions);
    const refused = expect.objectContaining({ name: "SnapshotError" });
    const others: EncoderOptions[] = [
      { ...options, dimension: 33 },
      { ...options, numeric: { ...numeric, price: { min: 0, max: 10 } } },
      { ...options, numeric: { price: numeric.price } },
      { ...options, vocabulary: [["brand", "b"]] },
      { ...options, vocabulary: [] },
    ];
    for (const other of others) expect(() => encoder(other).among(actions, { columns })).toThrow(refused);
    const { among } = encoder(options);
    expect(() => among([...actions, {}], { columns })).toThrow(refused);
    for (let length = 0; length < columns.length; length += 1 + (length >> 3)) {
      const attempt = () =>
        freshCore().core.draws.products(among(actions, { columns: columns.subarray(0, length) })({}), new Float64Array(32));
      expect(attempt).toThrow(refused);
    }
    const pairs = encoder({ ...options, interactions: [["country", "brand"]] });
    const unsupported = expect.objectContaining({ name: "UnsupportedError", code: "no-columns" });
    expect(() => pairs.columns(actions)).toThrow(unsupported);
    expect(() => pairs.among(actions, { columns })).toThrow(unsupported);
  });

  describe("that were changed", () => {
    const d = 24;
    const options: EncoderOptions = {
      dimension: d,
      numeric,
      interactions: "all",
      vocabulary: [
        ["brand", "a"],
        ["id", "sku-0"],
      ],
    };
    const actions = Array.from({ length: 6 }, (_, i) => ({ id: `sku-${i}`, brand: "abc"[i % 3], tags: ["x", "y"].slice(i % 3), price: i }));
    const columns = encoder(options).columns(actions);
    const context = { age: 30, country: "PT" };
    /** The actions by columns of which some words are others. */
    const changed = (changes: readonly (readonly [word: number, value: number])[]) => {
      const bytes = columns.slice();
      const view = new DataView(bytes.buffer);
      for (const [at, value] of changes) view.setUint32(4 * at, value, true);
      return encoder(options).among(actions, { columns: bytes })(context);
    };

    it("are refused, or give numbers, and leave the rest of the core alone", () => {
      const { core } = freshCore();
      const witness = encoder(options).among(actions)(context);
      const { handle, theta, widths } = learnt(core, d, 7);
      const stages = [stageOf(handle)];
      const check = () => {
        core.draws.rows(handle, widths.length, 0.75, rowsOf(witness));
        return [core.draws.scores(stages, witness, 7), core.draws.lists(stages, witness, 7, 3), core.ridgeEstimate(handle)];
      };
      const expected = check();
      const word = fc.oneof(
        fc.nat({ max: 40 }),
        fc.constantFrom(0x7fffffff, 0x80000000, 0xffffffff, 0x7fc00000, 0x7f800000, 0x3f800000, 0x10000, 0xfffffffc),
        fc.integer({ min: 0, max: 0xffffffff }),
      );
      const words = columns.length / 4;
      const place = fc.oneof(fc.nat({ max: 40 }), fc.nat({ max: words - 1 }), fc.nat({ max: words - 4096 }));
      let [refused, taken] = [0, 0];
      fc.assert(
        fc.property(fc.array(fc.tuple(place, word), { minLength: 1, maxLength: 3 }), (changes) => {
          try {
            const encoded = changed(changes);
            // Rows of a table that do not fit are refused before anything is computed.
            core.draws.rows(handle, widths.length, 0.75, Math.min(rowsOf(encoded), 1000));
            expect(core.draws.scores(stages, encoded, 7).every(Number.isFinite)).toBe(true);
            const lists = core.draws.lists(stages, encoded, 7, 3);
            expect(lists.every((index) => index >= 0 && index < actions.length)).toBe(true);
            expect(core.draws.products(encoded, theta).every(Number.isFinite)).toBe(true);
            taken++;
          } catch (error) {
            expect(error).toMatchObject({ name: expect.stringMatching(/^(SnapshotError|NumericalError|RangeError)$/) });
            refused++;
          }
          expect(check()).toEqual(expected);
        }),
        { numRuns: 3000 },
      );
      expect(Math.min(refused, taken)).toBeGreaterThan(200);
    });

    it.each([5, 8])("take no memory by a count that is too great: word %d", (word) => {
      const { core } = freshCore();
      const before = core.memoryBytes;
      for (const count of [2 ** 24, 2 ** 26]) {
        expect(() => core.draws.products(changed([[word, count]]), new Float64Array(d))).toThrow(
          expect.objectContaining({ name: "SnapshotError" }),
        );
      }
      expect(core.memoryBytes).toBeLessThan(before + 2 ** 20);
    });
  });
});
