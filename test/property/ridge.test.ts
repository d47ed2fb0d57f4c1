import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Core, RidgeHandle } from "../../src/core/core.ts";
import { freshCore, logDeterminant, stageOf } from "./core.ts";
import { dot, exact, type Fraction, plus, rounded, solveExactly, times, ZERO } from "./fraction.ts";

// The core's ridge posterior against exact rational arithmetic: theta = V^-1 B and width^2 = x^T V^-1 x with
// V = ridge I + sum x x^T and B = sum reward x. Sizes are on both sides of the loops' two, four, eight and sixteen lanes.

const SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17];
const COUNTS = [1, 2, 3, 4, 5, 6, 8, 9];
const RIDGE = 0.5;

const eighth = (limit: number) => fc.integer({ min: -limit, max: limit }).map((value) => value / 8);
const vectorOf = (d: number) => fc.array(eighth(8), { minLength: d, maxLength: d });
const learntOf = (d: number) => fc.array(fc.record({ x: vectorOf(d), reward: eighth(16) }), { maxLength: 6 });

function learn(core: Core, handle: RidgeHandle, learnt: readonly { readonly x: number[]; readonly reward: number }[]): void {
  for (const { x, reward } of learnt) {
    core.ridgeAppend(handle, Float64Array.from(x));
    core.ridgeReward(handle, Float64Array.from(x), reward);
  }
}

function normalEquations(d: number, learnt: readonly { readonly x: number[]; readonly reward: number }[]) {
  const zeros = Array.from({ length: d }, () => ZERO);
  const matrix = zeros.map((_, i) => zeros.map((_, j) => exact(i === j ? RIDGE : 0)));
  const moment = [...zeros];
  for (const { x, reward } of learnt) {
    const row = x.map(exact);
    for (let i = 0; i < d; i++) {
      moment[i] = plus(moment[i], times(exact(reward), row[i]));
      for (let j = 0; j < d; j++) matrix[i][j] = plus(matrix[i][j], times(row[i], row[j]));
    }
  }
  return { matrix, moment };
}

/** The lower Cholesky factor of V, as rows of doubles. */
function factorOf(matrix: readonly (readonly Fraction[])[]): number[][] {
  const factor: number[][] = matrix.map(() => []);
  matrix.forEach((row, i) => {
    for (let j = 0; j <= i; j++) {
      let rest = rounded(row[j]);
      for (let t = 0; t < j; t++) rest -= factor[i][t] * factor[j][t];
      factor[i][j] = i === j ? Math.sqrt(rest) : rest / factor[j][j];
    }
  });
  return factor;
}

function near(actual: number, expected: number, tolerance = 1e-11): void {
  expect(Math.abs(actual - expected)).toBeLessThanOrEqual(tolerance * Math.max(1, Math.abs(expected)));
}

function logOf({ top, bottom }: Fraction): number {
  return Math.log(Number(top)) - Math.log(Number(bottom));
}

describe.each(SIZES)("a ridge posterior of %d features", (d) => {
  const settings = { numRuns: d > 9 ? 4 : 12 };

  it("has the exact estimate, means, widths and determinant, appended, restored and refactored", () => {
    fc.assert(
      fc.property(learntOf(d), fc.array(vectorOf(d), { minLength: 9, maxLength: 9 }), (learnt, points) => {
        const { core } = freshCore();
        const { matrix, moment } = normalEquations(d, learnt);
        const { solutions, determinant } = solveExactly(matrix, [moment, ...points.map((x) => x.map(exact))]);
        const [theta, ...directions] = solutions;
        const handle = core.ridgeCreate(d, RIDGE);
        learn(core, handle, learnt);
        // Reads results in between, so that derived values must be derived again.
        const asked = core.ridgeCreate(d, RIDGE);
        for (const { x, reward } of learnt) {
          core.ridgeReward(asked, Float64Array.from(x), reward);
          core.ridgeEstimate(asked);
          core.ridgeAppend(asked, Float64Array.from(x));
        }
        const restored = core.ridgeCreate(d, RIDGE);
        core.ridgeEstimate(restored);
        const state = core.ridgeState(handle);
        core.ridgeLoad(restored, { gram: state.gram.slice(), moment: state.moment.slice(), factor: state.factor.slice() });
        const rebuilt = core.ridgeCreate(d, RIDGE);
        learn(core, rebuilt, learnt);
        core.ridgeRefactor(rebuilt);
        for (const model of [handle, asked, restored, rebuilt]) {
          core.ridgeEstimate(model).forEach((value, i) => void near(value, rounded(theta[i])));
          near(logDeterminant(core.ridgeState(model).factor), logOf(determinant));
          for (const k of COUNTS) {
            const [mean, width] = [new Float64Array(k), new Float64Array(k)];
            core.ridgeScore(model, Float64Array.from(points.slice(0, k).flat()), mean, width);
            for (let c = 0; c < k; c++) {
              const x = points[c].map(exact);
              near(mean[c], rounded(dot(x, theta)));
              near(width[c] ** 2, rounded(dot(x, directions[c])));
            }
          }
          near(core.ridgeWidth(model, Float64Array.from(points[0])) ** 2, rounded(dot(points[0].map(exact), directions[0])));
        }
      }),
      settings,
    );
  });

  it("holds exact sums, a triangular factor of them, and forgets a retracted reward to the bit", () => {
    fc.assert(
      fc.property(learntOf(d), vectorOf(d), eighth(16), (learnt, x, reward) => {
        const { core } = freshCore();
        const { matrix, moment } = normalEquations(d, [...learnt, { x, reward: 0 }]);
        const handle = core.ridgeCreate(d, RIDGE);
        learn(core, handle, learnt);
        core.ridgeAppend(handle, Float64Array.from(x));
        const before = core.ridgeEstimate(handle);
        core.ridgeReward(handle, Float64Array.from(x), reward);
        core.ridgeReward(handle, Float64Array.from(x), -reward);
        expect(core.ridgeEstimate(handle)).toEqual(before);
        const state = core.ridgeState(handle);
        const factor = factorOf(matrix);
        for (let i = 0; i < d; i++) {
          expect(state.moment[i] + 0).toBe(rounded(moment[i]));
          for (let j = 0; j <= i; j++) {
            expect(state.gram[(i * (i + 1)) / 2 + j] + (i === j ? RIDGE : 0)).toBe(rounded(matrix[i][j]));
            near(state.factor[(i * (i + 1)) / 2 + j], factor[i][j]);
          }
        }
      }),
      settings,
    );
  });

  it("samples theta + scale L^-T z, one by one and many at once in opposite pairs", () => {
    fc.assert(
      fc.property(
        learntOf(d),
        fc.array(vectorOf(d), { minLength: 9, maxLength: 9 }),
        fc.array(vectorOf(d), { minLength: 9, maxLength: 9 }),
        fc.boolean(),
        (learnt, points, normals, centred) => {
          const { core } = freshCore();
          const { matrix, moment } = normalEquations(d, learnt);
          const factor = factorOf(matrix);
          const theta = solveExactly(matrix, [moment]).solutions[0].map(rounded);
          const handle = core.ridgeCreate(d, RIDGE);
          learn(core, handle, learnt);
          // Solves L^T w = z, starting with the last entry.
          const draws = normals.map((z) => {
            const w = [...z];
            for (let i = d - 1; i >= 0; i--) {
              for (let j = i + 1; j < d; j++) w[i] -= factor[j][i] * w[j];
              w[i] /= factor[i][i];
            }
            return w;
          });
          const centre = centred ? points[0] : theta;
          const scoreOf = (x: number[], w: number[], about: number[], scale: number) =>
            x.reduce((sum, value, j) => sum + value * (about[j] + scale * w[j]), 0);
          core.ridgeDraw(handle, Float64Array.from(normals.flat()));
          for (const k of COUNTS) {
            const xs = Float64Array.from(points.slice(0, k).flat());
            const alone = core.ridgeSampleScores(handle, xs, Float64Array.from(normals[0]), 0.75);
            for (let c = 0; c < k; c++) near(alone[c], scoreOf(points[c], draws[0], theta, 0.75));
            for (const samples of [1, 2, 5, 16, 17, 18]) {
              core.ridgeDrawScores(
                xs,
                [{ ...stageOf(handle), scale: 0.75, ...(centred && { centre: Float64Array.from(centre) }) }],
                samples,
              );
              const scores = core.ridgeDrawn(handle, k, 0, samples);
              for (let s = 0; s < samples; s++) {
                const sign = s % 2 === 0 ? 0.75 : -0.75;
                for (let c = 0; c < k; c++) near(scores[s * k + c], scoreOf(points[c], draws[s >> 1], centre, sign));
              }
            }
          }
        },
      ),
      settings,
    );
  });
});

describe.each([63, 64, 65, 127, 129, 130])("sparse features among %d", (d) => {
  const place = fc.oneof(fc.nat({ max: d - 1 }), fc.constantFrom(0, 1, d - 2, d - 1));
  const sparse = fc.array(fc.tuple(place, eighth(8)), { maxLength: 6 }).map((entries) => {
    const x = new Array<number>(d).fill(0);
    for (const [j, value] of entries) x[j] = value;
    return x;
  });

  it("score as the sum of their products with each draw", () => {
    const { core } = freshCore();
    const handle = core.ridgeCreate(d, 1);
    fc.assert(
      fc.property(
        fc.array(sparse, { minLength: 3, maxLength: 3 }),
        fc.array(vectorOf(d), { minLength: 2, maxLength: 2 }),
        (points, normals) => {
          core.ridgeDraw(handle, Float64Array.from(normals.flat()));
          // V is the identity, so a draw equals its normals.
          core.ridgeDrawScores(Float64Array.from(points.flat()), [stageOf(handle)], 4);
          for (let taken = 0; taken < 4; taken++) {
            const scores = core.ridgeDrawn(handle, points.length, taken, 1);
            points.forEach((x, c) => {
              const z = normals[taken >> 1];
              near(scores[c], (taken % 2 === 0 ? 1 : -1) * x.reduce((sum, value, j) => sum + value * z[j], 0));
            });
          }
        },
      ),
      { numRuns: 8 },
    );
  });
});

it("draws are counted at each place, of equal scores the first candidate first", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(eighth(2), eighth(2)), { minLength: 1, maxLength: 7 }),
      fc.integer({ min: 1, max: 21 }),
      (points, samples) => {
        const { core } = freshCore();
        const handle = core.ridgeCreate(2, 1);
        core.ridgeDraw(
          handle,
          core.normals(1, "draws", 22).map((z) => Math.round(z * 2) / 2),
        );
        const k = points.length;
        const xs = Float64Array.from(points.flat());
        const hits = Array.from({ length: k }, () => new Array<number>(k).fill(0));
        core.ridgeDrawScores(xs, [stageOf(handle)], samples);
        for (let s = 0; s < samples; s++) {
          const scores = core.ridgeDrawn(handle, k, s, 1);
          const order = Array.from(scores.keys()).sort((a, b) => scores[b] - scores[a] || a - b);
          order.forEach((candidate, rank) => void hits[candidate][rank]++);
        }
        for (let c = 0; c < k; c++) {
          for (let rank = 0; rank < k; rank++) expect(core.ridgeDrawHits(handle, k, samples, c, rank)).toBe(hits[c][rank]);
        }
      },
    ),
    { numRuns: 60 },
  );
});

describe.each(SIZES)("a ridge solved anew from its %d sums", (d) => {
  it("has the exact solutions and the exact trace of the inverse", () => {
    fc.assert(
      fc.property(learntOf(d), fc.array(vectorOf(d), { minLength: 1, maxLength: 3 }), (learnt, vectors) => {
        const { core } = freshCore();
        const { matrix } = normalEquations(d, learnt);
        const identity = matrix.map((_, i) => matrix.map((_, j) => exact(Number(i === j))));
        const { solutions } = solveExactly(matrix, [...vectors.map((each) => each.map(exact)), ...identity]);
        const gram = Float64Array.from(
          matrix.flatMap((row, i) => row.slice(0, i + 1).map((each, j) => rounded(each) - (i === j ? RIDGE : 0))),
        );
        const { solved, trace } = core.shrunkSolve(gram, RIDGE, Float64Array.from(vectors.flat()), vectors.length);
        solved.forEach((value, i) => void near(value, rounded(solutions[Math.floor(i / d)][i % d])));
        near(trace, rounded(identity.reduce((sum, _, i) => plus(sum, solutions[vectors.length + i][i]), ZERO)));
      }),
      { numRuns: d > 9 ? 3 : 10 },
    );
  });
});
