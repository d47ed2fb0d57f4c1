import { featurizer } from "afterclick/research";
import { describe, expect, it } from "vitest";

const options = { dimension: 16, interactions: "all" } as const;
const actions = [{ id: "boots", features: { brand: "Acme" } }];
const context = { country: "PT" };

describe("a list that is prepared", () => {
  const expected = featurizer(options).points(context, actions);
  const rowsOf = (points: typeof expected) => (points instanceof Float64Array ? points : points.rows([0]));

  it("has the vectors of one that is not, whichever columns came with it", () => {
    const own = featurizer(options).columns(actions) as Uint8Array;
    const other = featurizer({ ...options, dimension: 64 }).columns(actions) as Uint8Array;
    for (const columns of [own, other, own.subarray(0, 5)]) {
      const prepared = featurizer(options);
      prepared.prepare(actions, columns);
      expect(rowsOf(prepared.points(context, actions))).toEqual(rowsOf(expected));
    }
  });

  it("refuses columns that are no bytes, and features that do not fit the model", () => {
    expect(() => featurizer(options).prepare(actions, "columns" as never)).toThrow(TypeError);
    const priced = [{ id: "boots", features: { price: 3 } }];
    expect(() => featurizer(options).prepare(priced, undefined as never)).toThrow("price: expected its range under encoder.numeric");
  });
});
