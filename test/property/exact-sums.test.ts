import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ExactSums } from "../../src/model/exact-sums.ts";
import { SnapshotError } from "../../src/values/errors.ts";

// Sums against whole numbers of any length, in units of 2^-24.

const UNIT = 2 ** -24;
const SIZE = 3;

/** A multiple of the unit with at most 53 bits, of any size up to 2^77. */
const term = fc.tuple(fc.maxSafeInteger(), fc.integer({ min: 0, max: 48 })).map(([digits, shift]) => digits * UNIT * 2 ** shift);
const small = fc.integer({ min: -(2 ** 26), max: 2 ** 26 }).map((digits) => digits * UNIT);
const terms = fc.array(fc.record({ place: fc.nat({ max: SIZE - 1 }), term: fc.oneof(term, small) }), { maxLength: 60 });
type Term = { readonly place: number; readonly term: number };

const zero = (): ExactSums => new ExactSums(new Float64Array(SIZE));
const unitsOf = (value: number): bigint => BigInt(value / UNIT);

/** The sums as whole numbers of units. */
function whole(sums: ExactSums): bigint[] {
  const units = Array.from(sums.values, unitsOf);
  const rests = sums.rests();
  for (let i = 0; i < rests.length; i += 2) units[rests[i]] += unitsOf(rests[i + 1]);
  return units;
}

function added(all: readonly Term[]): ExactSums {
  const sums = zero();
  for (const { place, term } of all) sums.add(place, term);
  return sums;
}

function saved(sums: ExactSums): number[] {
  let numbers: number[] = [];
  sums.save({
    numbers(section: ArrayLike<number>) {
      numbers = Array.from(section);
    },
  });
  return numbers;
}

const loaded = (numbers: readonly number[]): ExactSums => ExactSums.load({ numbers: () => Float64Array.from(numbers) }, SIZE);

describe("sums of multiples of 2^-24", () => {
  it("are exact, and their values the doubles nearest to them", () => {
    fc.assert(
      fc.property(terms, (all) => {
        const expected = Array.from({ length: SIZE }, (_, i) =>
          all.reduce((sum, { place, term }) => sum + (place === i ? unitsOf(term) : 0n), 0n),
        );
        const sums = added(all);
        expect(whole(sums)).toEqual(expected);
        expect(Array.from(sums.values)).toEqual(expected.map((each) => Number(each) * UNIT));
      }),
      { numRuns: 500 },
    );
  });

  it("are the same bytes in any order and grouping, and after they were saved", () => {
    fc.assert(
      fc.property(terms, fc.nat({ max: 60 }), (all, cut) => {
        const expected = saved(added(all));
        expect(saved(added(all.toReversed()))).toEqual(expected);
        const grouped = loaded(saved(added(all.slice(cut))));
        grouped.addAll(added(all.slice(0, cut)));
        expect(saved(grouped)).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  it("forget what is taken away again", () => {
    fc.assert(
      fc.property(terms, (all) => {
        expect(saved(added([...all, ...all.map(({ place, term }) => ({ place, term: -term }))]))).toEqual([0, 0, 0]);
      }),
      { numRuns: 200 },
    );
  });

  it("of vectors and squares are those of their entries", () => {
    const x = Float64Array.of(4095 / 4096, -3 / 4096);
    const [sums, entries] = [zero(), zero()];
    for (const factor of [2 ** 40, 1, -(2 ** 20)]) {
      sums.addMultiple(0, x, factor);
      sums.addSquare(x);
      for (const [place, term] of [factor * x[0], factor * x[1]].entries()) entries.add(place, term);
      for (const [place, term] of [x[0] * x[0], x[1] * x[0], x[1] * x[1]].entries()) entries.add(place, term);
    }
    expect(whole(sums)).toEqual(whole(entries));
  });

  it("of squares are exact too where their entries differ in size", () => {
    const sums = zero();
    for (const x of [Float64Array.of(2 ** 20, 2 ** -12), Float64Array.of(2 ** -12, 2 ** 20)]) sums.addSquare(x);
    const both = unitsOf(2 ** 40) + 1n;
    expect(whole(sums)).toEqual([both, unitsOf(2 ** 9), both]);
  });

  it("times a power of two are the sums of the terms times it", () => {
    fc.assert(
      fc.property(terms, (all) => {
        const sums = added(all.map(({ place, term }) => ({ place, term: 2 * term })));
        sums.scale(1 / 2);
        expect(saved(sums)).toEqual(saved(added(all)));
      }),
      { numRuns: 200 },
    );
  });
});

it("sums that overflow are infinite, and have no rest", () => {
  const sums = added([1, 2].map(() => ({ place: 0, term: 1.7e308 })));
  expect([sums.values[0], sums.rests()]).toEqual([Number.POSITIVE_INFINITY, []]);
});

it.each([
  ["too few values", [1, 2]],
  ["a rest without its size", [1, 2, 2 ** 60, 2]],
  ["a rest of no sum", [1, 2, 2 ** 60, 3, 1]],
  ["rests in the wrong order", [2 ** 60, 2 ** 60, 1, 1, 1, 0, 1]],
  ["a rest of zero", [1, 2, 2 ** 60, 2, 0]],
  ["a rest that is no rest", [1, 2, 2 ** 60, 2, 1024]],
])("saved sums with %s are refused", (_, numbers) => {
  expect(loaded([1, 2, 2 ** 60, 2, 1]).values).toEqual(Float64Array.of(1, 2, 2 ** 60));
  expect(() => loaded(numbers)).toThrow(SnapshotError);
});
