import { ENCODER_VERSION, toDyadic } from "afterclick/research";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { featurizer, type ModelConfig } from "../../../worker/domain/model/model.ts";
import { matrixOf } from "../../support/reference/matrix.ts";

// Feature vectors are the same in a list and one by one, to the bit.

const number = fc.oneof(fc.double({ min: -10, max: 10, noNaN: true }), fc.constantFrom(-0, 1 / 4096, -1.5 / 4096, 0.3, -0.3));
const bits = (values: Float64Array): BigUint64Array => new BigUint64Array(values.slice().buffer);
const settings = { numRuns: 100 };

it("a number is rounded towards zero to a multiple of 2^-12, and never to -0", () => {
  fc.assert(
    fc.property(number, (value) => {
      const dyadic = toDyadic(value);
      expect(Number.isInteger(dyadic * 4096)).toBe(true);
      expect(Object.is(dyadic, -0)).toBe(false);
      expect(Math.abs(dyadic) <= Math.abs(value) && Math.abs(value - dyadic) < 1 / 4096 && dyadic * value >= 0).toBe(true);
    }),
    settings,
  );
});

describe("features of a model", () => {
  it("without an encoder are the context's numbers and then the action's", () => {
    const rows = fc.tuple(fc.array(number, { maxLength: 3 }), fc.array(fc.tuple(number, number), { minLength: 1, maxLength: 4 }));
    fc.assert(
      fc.property(rows, ([context, features]) => {
        const actions = features.map((each, place) => ({ id: `action ${place}`, features: each }));
        const config = { encoder: null, options: {} } as ModelConfig;
        const worker = featurizer(config);
        const expected = Float64Array.from(features.flatMap((each) => [...context, ...each].map(toDyadic)));
        expect(bits(matrixOf(worker.points(context, actions)))).toEqual(bits(expected));
        const alone = actions.flatMap((action) => [...worker.vector(context, action)]);
        expect(bits(Float64Array.from(alone))).toEqual(bits(expected));
      }),
      settings,
    );
  });

  it("with an encoder are the same in a list and alone, and the action's id is one of them", () => {
    const named: fc.Arbitrary<Record<string, string | number | string[]>> = fc.record(
      { brand: fc.constantFrom("Acme", "é", "👟"), price: number, tags: fc.array(fc.string(), { maxLength: 2 }) },
      { requiredKeys: [] },
    );
    const config = {
      options: {},
      encoder: { version: ENCODER_VERSION, dimension: 16, interactions: "all", numeric: { price: { min: 0, max: 5 } } },
    } as unknown as ModelConfig;
    const { vector } = featurizer(config);
    expect(vector({}, { id: "mug" })).not.toEqual(vector({}, { id: "tent" }));
    fc.assert(
      fc.property(fc.option(named, { nil: undefined }), fc.array(named, { minLength: 1, maxLength: 4 }), (context, features) => {
        const actions = features.map((each, place) => ({ id: `action ${place}`, features: each }));
        const worker = featurizer(config);
        const matrix = matrixOf(worker.points(context, actions));
        expect(bits(matrixOf(worker.points(context, actions)))).toEqual(bits(matrix));
        actions.forEach((action, place) => {
          expect(bits(worker.vector(context, action))).toEqual(bits(matrix.subarray(16 * place, 16 * (place + 1))));
        });
      }),
      settings,
    );
  });
});
