import fc from "fast-check";
import { expect, it } from "vitest";
import { best, chancesOf, type Rankings, sampled } from "../../../src/model/ranking.ts";

/** Few values, so that many scores are equal. All may be the lowest number. */
const score = fc.constantFrom(Number.NEGATIVE_INFINITY, -1, -0, 0, 2, Number.POSITIVE_INFINITY);

it("ranks as a stable sort would, however few places there are", () => {
  fc.assert(
    fc.property(fc.array(score), fc.integer({ min: 1, max: 12 }), (scores, limit) => {
      const sorted = Array.from(scores.keys()).sort((a, b) => (scores[a] === scores[b] ? a - b : scores[a] > scores[b] ? -1 : 1));
      expect(best(Float64Array.from(scores), limit)).toEqual(sorted.slice(0, limit));
    }),
  );
});

it("says of every candidate the one place to which ranking brings it", () => {
  fc.assert(
    fc.property(fc.array(score, { minLength: 1, maxLength: 8 }), (scores) => {
      const chance = chancesOf({ random: 0, count: 1, scores: () => Float64Array.from(scores) }, scores.length);
      const ranked = best(Float64Array.from(scores), scores.length);
      for (let index = 0; index < scores.length; index++) {
        for (let place = 0; place <= scores.length; place++) {
          expect(chance(index, place)).toBe(Number(ranked[place] === index));
        }
      }
    }),
  );
});

it("gives a candidate the share of the samples that bring it to a place, of equal ones to the first", () => {
  const samples = Float64Array.of(1, 1, 0, 2, 1, 2, 0, 3, 3, 5, 4, 4);
  const request = { points: samples, count: 3, draws: 4, normals: () => samples, uniforms: () => Float64Array.of(0.5) };
  const { score, rankings } = sampled(samples, request);
  const chance = chancesOf(rankings as Rankings, 3);
  expect(score).toEqual(Float64Array.of(0, 3, 3));
  expect([0, 1, 2].map((index) => [0, 1, 2].map((place) => chance(index, place)))).toEqual([
    [0.75, 0, 0.25],
    [0.25, 0.5, 0.25],
    [0, 0.5, 0.5],
  ]);
});

it("refuses a score that is not a number, wherever it stands", () => {
  for (let place = 0; place < 5; place++) {
    const scores = new Float64Array(5).fill(Number.NEGATIVE_INFINITY);
    scores[place] = Number.NaN;
    expect(() => best(scores, 2)).toThrow(expect.objectContaining({ code: "not-a-number" }));
  }
});
