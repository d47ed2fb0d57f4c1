import { describe, expect, it } from "vitest";
import { inducingPoints } from "../../../../src/model/gaussian-process/inducing-points.ts";
import { kernelSpec, linear, squaredExponential } from "../../../../src/model/gaussian-process/kernel.ts";
import { freshCore } from "../../../support/core.ts";
import { stream } from "../../../support/scenario.ts";

const { core } = freshCore();
const covariance = (a: readonly number[], b: readonly number[]): number => Math.exp(-((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) / 0.5);
const kernel = kernelSpec(squaredExponential({ lengthscale: 0.5 }), 2);

const chosenBy = (points: number[][], counts: number[], size: number): number[] =>
  Array.from(inducingPoints(core, kernel, Float64Array.from(points.flat()), counts, size));

/** Variance at x given the function at the chosen points, by elimination of their kernel matrix. */
function left(x: number[], chosen: number[][]): number {
  const rows = chosen.map((a) => [...chosen.map((b) => covariance(a, b)), covariance(a, x)]);
  for (let i = 0; i < rows.length; i++) {
    for (let r = 0; r < rows.length; r++) {
      if (r === i) continue;
      const factor = rows[r][i] / rows[i][i];
      rows[r] = rows[r].map((each, c) => each - factor * rows[i][c]);
    }
  }
  return covariance(x, x) - rows.reduce((sum, row, i) => sum + (row[rows.length] / row[i]) * covariance(chosen[i], x), 0);
}

describe("inducing points", () => {
  const random = stream(51);
  const points = Array.from({ length: 30 }, () => [3 * random(), 3 * random()]);
  const counts = points.map(() => 1 + Math.floor(9 * random()));

  it("are those, one after the other, at which the count times the variance given the others is greatest", () => {
    const chosen: number[] = [];
    for (let size = 1; size <= 10; size++) {
      const losses = points.map((point, i) => {
        const others = chosen.map((place) => points[place]);
        return chosen.includes(i) ? -1 : counts[i] * left(point, others);
      });
      chosen.push(losses.indexOf(Math.max(...losses)));
      const standIn = chosenBy(points, counts, size);
      expect(standIn.flatMap((own, i) => (own === i ? [i] : []))).toEqual(chosen.toSorted((a, b) => a - b));
      for (const [i, own] of standIn.entries()) {
        const nearest = Math.max(...chosen.map((place) => covariance(points[place], points[i])));
        expect(covariance(points[own], points[i])).toBeCloseTo(nearest, 12);
        expect(chosen).toContain(own);
      }
    }
  });

  it("are the first of those that tell as much", () => {
    const apart = [[0, 0], [100, 0], [200, 0], [300, 0]]; // biome-ignore format: one line
    expect(chosenBy(apart, [2, 2, 2, 2], 1)).toEqual([0, 0, 0, 0]);
    expect(chosenBy(apart, [1, 3, 1, 3], 2).filter((own, i) => own === i)).toEqual([1, 3]);
    expect(chosenBy(apart, [1, 3, 2, 3], 3).filter((own, i) => own === i)).toEqual([1, 2, 3]);
  });

  it("are all of them, each standing for itself, if there is room", () => {
    expect(chosenBy(points, counts, 30)).toEqual(points.map((_, i) => i));
    expect(chosenBy(points, counts, 99)).toEqual(points.map((_, i) => i));
  });

  it("are the first of the others where those chosen tell everything", () => {
    // The covariance of a and b is a b: after one point nothing is left at any.
    const line = kernelSpec(linear(), 1);
    const standIn = (size: number): number[] => Array.from(inducingPoints(core, line, Float64Array.of(1, 2, 4, 8), [1, 1, 1, 1], size));
    expect(standIn(1)).toEqual([3, 3, 3, 3]);
    expect(standIn(2)).toEqual([0, 3, 3, 3]);
    expect(standIn(3)).toEqual([0, 1, 3, 3]);
  });
});
