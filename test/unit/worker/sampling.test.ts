import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { exponentAt, isKept, NONE, sampled } from "../../../worker/domain/impression/sampling.ts";
import { stream } from "../../support/scenario.ts";

const random = stream(41);
/** An id that ends with 48 bits of a number between 0 and 1. */
const idOf = (share: number): string =>
  `01a1fdfa-4600-7101-8101-${Math.floor(share * 2 ** 48)
    .toString(16)
    .padStart(12, "0")}`;

describe("the exponent of a sampling", () => {
  it.each([
    [0, 0],
    [0.7499, 0],
    [0.75, 1],
    [0.8749, 1],
    [0.875, 2],
    [0.9375, 3],
    [1 - 2 ** -16, 15],
    [1 - 2 ** -17, 16],
    [1 - 2 ** -30, 16],
    [1, NONE],
    [1.5, NONE],
  ])("of a model that uses %d of a limit is %d", (used, exponent) => {
    expect(exponentAt(used)).toBe(exponent);
  });
});

describe("an impression", () => {
  it("is kept with the stated probability", () => {
    const ids = Array.from({ length: 40_000 }, () => idOf(random()));
    for (let exponent = 0; exponent <= 6; exponent++) {
      const expected = ids.length * 2 ** -exponent;
      const kept = ids.filter((id) => isKept(id, exponent)).length;
      // Five standard deviations.
      expect(Math.abs(kept - expected)).toBeLessThanOrEqual(5 * Math.sqrt(expected * (1 - 2 ** -exponent)));
    }
    expect(ids.filter((id) => isKept(id, NONE))).toEqual([]);
  });

  it("that is kept by a sampling is kept by every weaker one", () => {
    fc.assert(
      fc.property(fc.nat({ max: 2 ** 16 - 1 }), (bits) => {
        const id = idOf(bits / 2 ** 16);
        const keptBy = Array.from({ length: 17 }, (_, exponent) => isKept(id, exponent));
        expect(keptBy.indexOf(false)).toBe(keptBy.includes(false) ? keptBy.lastIndexOf(true) + 1 : -1);
        expect(keptBy[0]).toBe(true);
      }),
    );
  });

  it("states the sampling in force only where there is one", () => {
    const rows = [{ id: "a" }, { id: "b" }];
    expect(sampled(rows, 0)).toBe(rows);
    expect(sampled(rows, 3)).toEqual([
      { id: "a", sampling: 3 },
      { id: "b", sampling: 3 },
    ]);
  });
});
