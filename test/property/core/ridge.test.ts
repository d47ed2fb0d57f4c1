import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Core } from "../../../src/core/core.ts";
import type { RidgeHandle } from "../../../src/core/ridge-handle.ts";
import { freshCore, logDeterminant, rankedBy, stageOf } from "../../support/core.ts";
import { dot, exact, type Fraction, plus, rounded, solveExactly, times, ZERO } from "../../support/reference/fraction.ts";

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

  it("has the exact posterior of another prior, once refactored or loaded, and the old one until then", () => {
    // P = 0.5 I + sum of squares: none of its eigenvalues is below the ridge.
    fc.assert(
      fc.property(learntOf(d), learntOf(d), vectorOf(d), (learnt, before, point) => {
        const { core } = freshCore();
        const { moment } = normalEquations(d, learnt);
        const { matrix: prior } = normalEquations(d, before);
        const { matrix } = normalEquations(d, [...before, ...learnt]);
        const { solutions, determinant } = solveExactly(matrix, [moment, point.map(exact)]);
        const precision = Float64Array.from(prior.flatMap((row, i) => row.slice(0, i + 1).map(rounded)));
        const [first, last, loaded] = [0, 1, 2].map(() => core.ridgeCreate(d, RIDGE));
        // Twice, because the second time it is there already.
        core.ridgeSetPrior(
          first,
          precision.map((each) => 2 * each),
        );
        core.ridgeSetPrior(first, precision);
        core.ridgeRefactor(first);
        for (const handle of [first, last]) learn(core, handle, learnt);
        const untouched = core.ridgeEstimate(last);
        core.ridgeSetPrior(last, precision);
        expect(core.ridgeEstimate(last)).toEqual(untouched);
        core.ridgeRefactor(last);
        const { gram, moment: own, factor } = core.ridgeState(last);
        core.ridgeLoad(loaded, { gram: gram.slice(), moment: own.slice(), factor: factor.slice() });
        core.ridgeSetPrior(loaded, precision);
        for (const handle of [first, last, loaded]) {
          core.ridgeEstimate(handle).forEach((value, i) => void near(value, rounded(solutions[0][i])));
          near(logDeterminant(core.ridgeState(handle).factor), logOf(determinant));
          near(core.ridgeWidth(handle, Float64Array.from(point)) ** 2, rounded(dot(point.map(exact), solutions[1])));
        }
        // The sums have no prior in them.
        expect(core.ridgeState(first).gram).toEqual(core.ridgeState(last).gram);
        core.ridgeRefactor(loaded);
        expect(core.ridgeState(loaded).factor).toEqual(core.ridgeState(last).factor);
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
          core.draws.draw(handle, Float64Array.from(normals.flat()));
          for (const k of COUNTS) {
            const xs = Float64Array.from(points.slice(0, k).flat());
            const alone = core.ridgeSampleScores(handle, xs, Float64Array.from(normals[0]), 0.75);
            for (let c = 0; c < k; c++) near(alone[c], scoreOf(points[c], draws[0], theta, 0.75));
            for (const samples of [1, 2, 5, 16, 17, 18]) {
              core.draws.rows(handle, Math.ceil(samples / 2), 0.75, k % 3, centred ? Float64Array.from(centre) : undefined);
              const scores = core.draws.scores([stageOf(handle)], { count: k, points: xs }, samples);
              expect(scores.length).toBe(samples * k);
              for (let s = 0; s < samples; s++) {
                const sign = s % 2 === 0 ? 0.75 : -0.75;
                for (let c = 0; c < k; c++) near(scores[s * k + c], scoreOf(points[c], draws[s >> 1], centre, sign), 1e-5);
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

  it("score as the sum of their products with each draw, in single precision and in order of the features", () => {
    const { core } = freshCore();
    const handle = core.ridgeCreate(d, 1);
    const { fround } = Math;
    const normal = fc.double({ min: -4, max: 4, noNaN: true });
    const vector = fc.array(normal, { minLength: d, maxLength: d });
    fc.assert(
      fc.property(
        fc.array(sparse, { minLength: 3, maxLength: 3 }),
        fc.array(vector, { minLength: 3, maxLength: 3 }),
        normal,
        (points, [centre, ...normals], level) => {
          core.draws.draw(handle, Float64Array.from(normals.flat()));
          core.draws.rows(handle, 2, 0.3, 0, Float64Array.from(centre));
          const candidates = { count: points.length, points: Float64Array.from(points.flat()) };
          const scores = core.draws.scores([{ ...stageOf(handle), level }], candidates, 4);
          const sumOf = (x: readonly number[], row: readonly number[]): number =>
            x.reduce((sum, value, j) => (value === 0 ? sum : fround(sum + fround(value * fround(row[j])))), 0);
          for (let sample = 0; sample < 4; sample++) {
            points.forEach((x, c) => {
              // V is the identity, so a draw equals its normals.
              const bonus = sumOf(
                x,
                normals[sample >> 1].map((each) => 0.3 * each),
              );
              const mean = fround(sumOf(x, centre) + fround(level));
              expect(scores[sample * points.length + c] + 0).toBe(fround(sample % 2 === 0 ? mean + bonus : mean - bonus) + 0);
            });
          }
        },
      ),
      { numRuns: 8 },
    );
  });
});

describe("lists of the best candidates of each sample", () => {
  const bounds = fc.record({
    of: fc.array(fc.integer({ min: -1, max: 2 }), { minLength: 7, maxLength: 7 }),
    room: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 3, maxLength: 3 }),
  });

  it.each([
    ["of equal scores the first candidate first", fc.constant(undefined)],
    ["within the room of their families", bounds],
  ])("are those of their scores: %s", (_, families) => {
    const { core } = freshCore();
    const handle = core.ridgeCreate(2, 1);
    core.draws.draw(
      handle,
      core.normals(1, "draws", 260).map((z) => Math.round(z * 2) / 2),
    );
    fc.assert(
      fc.property(
        fc.array(fc.tuple(eighth(2), eighth(2)), { minLength: 1, maxLength: 7 }),
        fc.oneof(fc.integer({ min: 1, max: 21 }), fc.integer({ min: 98, max: 106 }), fc.integer({ min: 200, max: 260 })),
        families,
        (points, samples, given) => {
          const k = points.length;
          const candidates = { count: k, points: Float64Array.from(points.flat()) };
          const within = given && { of: Int32Array.from(given.of.slice(0, k)), room: Int32Array.from(given.room) };
          core.draws.rows(handle, Math.ceil(samples / 2), 1, 0);
          const scores = core.draws.scores([stageOf(handle)], candidates, samples);
          for (let limit = 1; limit <= k; limit++) {
            const lists = core.draws.lists([stageOf(handle)], candidates, samples, limit, within);
            expect(lists.length).toBe(samples * limit);
            for (let s = 0; s < samples; s++) {
              const own = Array.from(lists.subarray(s * limit, (s + 1) * limit));
              expect(own).toEqual(rankedBy(scores.subarray(s * k, (s + 1) * k), limit, within));
            }
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("several stages", () => {
  /** Stages of two features each. */
  const stage = fc.record({
    theta: fc.tuple(eighth(16), eighth(16)),
    level: eighth(4),
    weight: eighth(8),
    scale: fc.constantFrom(0, 0.25, 1),
  });

  it.each([
    ["one stage of a weight", [-1]],
    ["a chain", [-1, 0, 1]],
    ["two after one", [-1, 0, 0]],
    ["beside each other", [-1, -1]],
    ["a chain beside others", [-1, 0, -1, 2, 2, -1]],
  ])("multiply their samples along the stages before them, and add up: %s", (_, parents) => {
    fc.assert(
      fc.property(
        fc.array(stage, { minLength: parents.length, maxLength: parents.length }),
        fc.array(fc.tuple(eighth(8), eighth(8)), { minLength: 1, maxLength: 4 }),
        fc.array(fc.boolean(), { minLength: parents.length, maxLength: parents.length }),
        fc.constantFrom(1, 2, 7, 102, 103),
        (given, points, probabilities, samples) => {
          const { core } = freshCore();
          const pairs = Math.ceil(samples / 2);
          const normals = given.map((__, i) => core.normals(i, "stages", 2 * pairs).map((z) => Math.round(8 * z) / 8));
          const stages = given.map(({ theta, level, weight, scale }, i) => {
            const handle = core.ridgeCreate(2, 1);
            core.draws.draw(handle, normals[i]);
            core.draws.rows(handle, pairs, scale, 0, Float64Array.from(theta));
            return { handle, level, weight, parent: parents[i], isProbability: probabilities[i] };
          });
          const candidates = { count: points.length, points: Float64Array.from(points.flat()) };
          const scores = core.draws.scores(stages, candidates, samples);
          const worthOf = (i: number, [x0, x1]: readonly [number, number], s: number): number => {
            const { theta, level, weight, scale } = given[i];
            const [z0, z1] = normals[i].subarray(s & ~1);
            const sign = s % 2 === 0 ? scale : -scale;
            const plain = level + x0 * (theta[0] + sign * z0) + x1 * (theta[1] + sign * z1);
            const sample = probabilities[i] ? Math.min(Math.max(plain, 0), 1) : plain;
            return sample * parents.reduce((sum, parent, t) => (parent === i ? sum + worthOf(t, [x0, x1], s) : sum), weight);
          };
          points.forEach((x, c) => {
            for (let s = 0; s < samples; s++) {
              const expected = parents.reduce((sum, parent, i) => (parent < 0 ? sum + worthOf(i, x, s) : sum), 0);
              near(scores[s * points.length + c], expected, 1e-5);
            }
          });
          const limit = Math.min(2, points.length);
          const lists = core.draws.lists(stages, candidates, samples, limit);
          for (let s = 0; s < samples; s++) {
            const own = scores.subarray(s * points.length, (s + 1) * points.length);
            expect(Array.from(lists.subarray(s * limit, (s + 1) * limit))).toEqual(rankedBy(own, limit));
          }
        },
      ),
      { numRuns: 30 },
    );
  });

  it("keeps the samples of one stage of weight 1 between 0 and 1, if they are probabilities", () => {
    const { core } = freshCore();
    const handle = core.ridgeCreate(1, 1);
    core.draws.draw(handle, Float64Array.of(1));
    core.draws.rows(handle, 1, 1, 0, Float64Array.of(0.5));
    const stage = { ...stageOf(handle), isProbability: true };
    expect(Array.from(core.draws.scores([stage], { count: 1, points: Float64Array.of(1) }, 2))).toEqual([1, 0]);
  });
});

describe.each(SIZES)("a ridge solved anew from its %d sums", (d) => {
  it("has the exact solutions and the exact diagonal of the inverse", () => {
    fc.assert(
      fc.property(learntOf(d), fc.array(vectorOf(d), { minLength: 1, maxLength: 3 }), (learnt, vectors) => {
        const { core } = freshCore();
        const { matrix } = normalEquations(d, learnt);
        const identity = matrix.map((_, i) => matrix.map((_, j) => exact(Number(i === j))));
        const { solutions } = solveExactly(matrix, [...vectors.map((each) => each.map(exact)), ...identity]);
        const gram = Float64Array.from(
          matrix.flatMap((row, i) => row.slice(0, i + 1).map((each, j) => rounded(each) - (i === j ? RIDGE : 0))),
        );
        const { solved, variances } = core.shrunkSolve(gram, RIDGE, Float64Array.from(vectors.flat()), vectors.length);
        solved.forEach((value, i) => void near(value, rounded(solutions[Math.floor(i / d)][i % d])));
        variances.forEach((each, i) => void near(each, rounded(solutions[vectors.length + i][i])));
      }),
      { numRuns: d > 9 ? 3 : 10 },
    );
  });
});
