import fc from "fast-check";
import { expect, it } from "vitest";
import { best } from "../../src/model/ranking.ts";

/** Few values, so that many are equal; all of them may be the least there is. */
const score = fc.constantFrom(Number.NEGATIVE_INFINITY, -1, -0, 0, 2, Number.POSITIVE_INFINITY);

it("ranks as a stable sort would, however few places there are", () => {
  fc.assert(
    fc.property(fc.array(score), fc.integer({ min: 1, max: 12 }), (scores, limit) => {
      const sorted = Array.from(scores.keys()).sort((a, b) => (scores[a] === scores[b] ? a - b : scores[a] > scores[b] ? -1 : 1));
      expect(best(Float64Array.from(scores), limit)).toEqual(sorted.slice(0, limit));
    }),
  );
});

it("refuses a score that is not a number, wherever it stands", () => {
  for (let place = 0; place < 5; place++) {
    const scores = new Float64Array(5).fill(Number.NEGATIVE_INFINITY);
    scores[place] = Number.NaN;
    expect(() => best(scores, 2)).toThrow(expect.objectContaining({ code: "not-a-number" }));
  }
});
