import { describe, expect, it } from "vitest";
import { LINEAR } from "../../../assembly/abi.ts";
import { CoreProcess } from "../../../src/core/core-process.ts";
import { NumericalError } from "../../../src/values/errors.ts";
import { freshCore, logDeterminant, stageOf } from "../../support/core.ts";

// A result too large for a double is refused, wherever it occurs. The posterior stays unchanged.

const HUGE = 1e200;
/** Greatest number that samples are made of. */
const MOST = 2 ** 60;
/** Greatest feature and weight. */
const MOST_FACTOR = 2 ** 24;
const SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 17];

/** Candidates with two features, one of them huge. */
function candidates(k: number, place: number): Float64Array {
  const xs = new Float64Array(2 * k).fill(0.5);
  xs[2 * place] = HUGE;
  return xs;
}

function expectOverflow(act: () => unknown): void {
  expect(act).toThrow(expect.objectContaining({ code: "not-finite" }));
}

describe("a ridge posterior", () => {
  const { core } = freshCore();
  const handle = core.ridgeCreate(2, 1);
  core.ridgeReward(handle, Float64Array.of(1, 0), HUGE);
  const drawn = core.ridgeCreate(2, 1);
  core.draws.draw(drawn, Float64Array.of(1, 1));

  it.each(SIZES)("of %d candidates refuses the mean at any place", (k) => {
    for (let place = 0; place < k; place++) {
      const xs = candidates(k, place);
      expectOverflow(() => core.ridgeScore(handle, xs, new Float64Array(k), new Float64Array(k)));
      expectOverflow(() => core.ridgeSampleScores(handle, xs, Float64Array.of(1, 1), 1));
    }
  });

  it.each(SIZES)("of %d candidates refuses a feature beyond 2^24 at any place, among samples", (k) => {
    core.draws.rows(drawn, 1, 1, 0);
    for (let place = 0; place < k; place++) {
      for (const feature of [HUGE, -HUGE, 1.01 * MOST_FACTOR, -1.01 * MOST_FACTOR, Number.POSITIVE_INFINITY, Number.NaN]) {
        const points = candidates(k, place).with(2 * place, feature);
        expectOverflow(() => core.draws.scores([stageOf(drawn)], { count: k, points }, 2));
        expectOverflow(() => core.draws.lists([stageOf(drawn)], { count: k, points }, 2, 1));
      }
      const points = candidates(k, place).with(2 * place, -MOST_FACTOR);
      expect(core.draws.scores([stageOf(drawn)], { count: k, points }, 2).every(Number.isFinite)).toBe(true);
    }
  });

  it("refuses coefficients beyond 2^60, and has kept the earlier ones", () => {
    const point = { count: 1, points: Float64Array.of(MOST_FACTOR, MOST_FACTOR) };
    core.draws.rows(drawn, 1, MOST, 0, Float64Array.of(MOST, MOST));
    const before = core.draws.scores([stageOf(drawn)], point, 2);
    expect(Array.from(before)).toEqual([4 * MOST * MOST_FACTOR, 0]);
    for (const coefficient of [HUGE, -1.01 * MOST, Number.NEGATIVE_INFINITY, Number.NaN]) {
      for (const j of [0, 1]) expectOverflow(() => core.draws.rows(drawn, 1, 1, 0, Float64Array.of(1, 1).with(j, coefficient)));
      expectOverflow(() => core.draws.rows(drawn, 1, coefficient, 0));
    }
    core.draws.draw(handle, Float64Array.of(1, 1));
    expectOverflow(() => core.draws.rows(handle, 1, 1, 0));
    expect(core.draws.scores([stageOf(drawn)], point, 2)).toEqual(before);
  });

  it("refuses a weight of a stage beyond 2^24, and a level beyond 2^60", () => {
    core.draws.rows(drawn, 1, 1, 0);
    const point = { count: 1, points: Float64Array.of(1, 1) };
    for (const [key, most] of [
      ["weight", MOST_FACTOR],
      ["level", MOST],
    ] as const) {
      for (const value of [HUGE, -1.01 * most, Number.NaN]) {
        const stages = [stageOf(drawn), { ...stageOf(drawn), [key]: value }];
        for (const each of [stages, stages.slice(1), stages.toReversed()]) {
          expectOverflow(() => core.draws.scores(each, point, 2));
          expectOverflow(() => core.draws.lists(each, point, 2, 1));
        }
      }
    }
  });

  it("has finite scores at the greatest coefficients, and at the greatest features and weights that a policy takes", () => {
    core.draws.rows(drawn, 1, MOST, 0, Float64Array.of(MOST, MOST));
    const stages = [-1, 0, 0].map((parent) => ({ ...stageOf(drawn), parent, weight: MOST_FACTOR, level: MOST, isProbability: parent < 0 }));
    const points = Float64Array.of(MOST_FACTOR, MOST_FACTOR, -MOST_FACTOR, -MOST_FACTOR);
    expect(core.draws.scores(stages, { count: 2, points }, 2).every(Number.isFinite)).toBe(true);
  });

  it.each(SIZES)("of %d candidates refuses the width at any place", (k) => {
    for (let place = 0; place < k; place++) {
      const untaught = core.ridgeCreate(2, 1);
      expectOverflow(() => core.ridgeScore(untaught, candidates(k, place), new Float64Array(k), new Float64Array(k)));
      core.ridgeRelease(untaught);
    }
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8, 9])("of %d features refuses each of them alone, and has changed nothing", (d) => {
    for (let j = 0; j < d; j++) {
      const model = core.ridgeCreate(d, 0.5);
      const usual = Float64Array.from({ length: d }, (_, i) => (i + 1) / 8);
      core.ridgeAppend(model, usual);
      core.ridgeReward(model, usual, 0.5);
      const before = core.ridgeState(model).gram.slice();
      const estimate = core.ridgeEstimate(model);
      const huge = usual.with(j, HUGE);
      expectOverflow(() => core.ridgeAppend(model, huge));
      expectOverflow(() => core.ridgeReward(model, huge, HUGE));
      expect(core.ridgeState(model).gram).toEqual(before);
      expect(core.ridgeEstimate(model)).toEqual(estimate);
      expect(logDeterminant(core.ridgeState(model).factor)).toBeGreaterThan(d * Math.log(0.5));
      core.ridgeRelease(model);
    }
  });

  it.each([1, 2, 3, 4, 5])("of %d features refuses an estimate that only the factor makes infinite", (d) => {
    for (let j = 0; j < d; j++) {
      const model = core.ridgeCreate(d, 1e-200);
      core.ridgeReward(model, new Float64Array(d).with(j, 1), HUGE);
      expectOverflow(() => core.ridgeEstimate(model));
      core.ridgeRelease(model);
    }
  });

  it.each([1, 2, 3, 9])("of %d features refuses what exceeds the range with its prior only, and has changed nothing", (d) => {
    const diagonal = (i: number): number => ((i + 1) * (i + 2)) / 2 - 1;
    for (let j = 0; j < d; j++) {
      const model = core.ridgeCreate(d, 0.5);
      const precision = new Float64Array((d * (d + 1)) / 2);
      for (let i = 0; i < d; i++) precision[diagonal(i)] = 0.5;
      core.ridgeSetPrior(model, precision.with(diagonal(j), 4e307));
      core.ridgeRefactor(model);
      const x = new Float64Array(d).with(j, 1e153);
      core.ridgeAppend(model, x);
      const before = core.ridgeState(model).gram.slice();
      expectOverflow(() => core.ridgeAppend(model, new Float64Array(d).with(j, 1e154)));
      expect(core.ridgeState(model).gram).toEqual(before);
      // With a smaller prior there is room again.
      core.ridgeSetPrior(model, precision);
      core.ridgeRefactor(model);
      core.ridgeAppend(model, x);
      // A prior that is no number has no factor, and the old one stays.
      const { factor } = core.ridgeState(model);
      const kept = factor.slice();
      core.ridgeSetPrior(model, precision.with(diagonal(j), Number.NaN));
      expect(() => core.ridgeRefactor(model)).toThrow(expect.objectContaining({ code: "not-positive-definite" }));
      expect(core.ridgeState(model).factor).toEqual(kept);
      core.ridgeRelease(model);
    }
  });

  it.each([1, 2, 3, 4, 5])("of %d features refuses each solution from given sums", (d) => {
    const gram = new Float64Array((d * (d + 1)) / 2);
    for (let count = 1; count <= 3; count++) {
      for (let j = 0; j < count * d; j++) {
        const vectors = new Float64Array(count * d).fill(1).with(j, HUGE);
        expectOverflow(() => core.shrunkSolve(gram, 1e-200, vectors, count));
      }
    }
  });
});

describe("a Gaussian process", () => {
  const spec = { kernel: LINEAR, variance: 1, bias: 0, lengthscale: Float64Array.of(1, 1) };

  it.each(SIZES)("of %d candidates refuses the variance at any place", (k) => {
    for (let place = 0; place < k; place++) {
      const { core } = freshCore();
      const handle = new CoreProcess(core, spec, 0.25, 4);
      const xs = candidates(k, place);
      handle.watch(xs);
      expectOverflow(() => handle.score(xs));
      expectOverflow(() => handle.covariance(xs));
      expect(() => handle.sample(xs, new Float64Array(k), 1, 1)).toThrow(NumericalError);
      expectOverflow(() => handle.scoreWatched(new Float64Array(k), new Float64Array(k)));
      const start = place < 16 ? 0 : 16;
      const size = Math.min(16, k - start);
      expectOverflow(() => handle.scoreGroup(start, new Float64Array(size), new Float64Array(size)));
    }
  });

  it.each(SIZES)("of %d candidates refuses the mean at any place", (k) => {
    for (let place = 0; place < k; place++) {
      const { core } = freshCore();
      const handle = new CoreProcess(core, spec, 0.25, 4);
      handle.append(Float64Array.of(1, 0));
      handle.reward(0, HUGE, 0);
      expectOverflow(() => handle.mean(candidates(k, place)));
    }
  });

  it.each(SIZES)("of %d candidates refuses the draw at any place", (k) => {
    for (let place = 0; place < k; place++) {
      const { core } = freshCore();
      const handle = new CoreProcess(core, { kernel: 0, variance: 1, bias: 0, lengthscale: Float64Array.of(1) }, 0.25, 4);
      const xs = Float64Array.from({ length: k }, (_, i) => 100 * i);
      handle.watch(xs);
      const places = new Float64Array(0);
      const normals = new Float64Array(2 * k).with(place, HUGE);
      expectOverflow(() => handle.sample(xs, normals.subarray(0, k), HUGE, 1));
      expectOverflow(() => handle.sample(xs, normals.subarray(0, k), HUGE, 2));
      expectOverflow(() => handle.sampleWatched(xs, places, normals, HUGE, 1));
      expectOverflow(() => handle.sampleWatched(xs, places, normals, HUGE, 2));
    }
  });

  it("refuses sums that overflow, and keeps them", () => {
    const { core } = freshCore();
    const handle = new CoreProcess(core, spec, 0.25, 4);
    handle.append(Float64Array.of(1, 0));
    handle.reward(0, 1.5e308, 3);
    expectOverflow(() => handle.reward(0, 1.5e308, 1));
    expectOverflow(() => handle.reward(0, 1, Number.POSITIVE_INFINITY));
    const { sums, squares } = handle.state();
    expect([sums[0], squares]).toEqual([1.5e308, 3]);
  });

  it("refuses rows that have no factor, and keeps the old ones", () => {
    const { core } = freshCore();
    const process = new CoreProcess(core, spec, 0.25, 4);
    for (const [row, x] of [0, 1, 2].entries()) {
      process.append(Float64Array.of(x, 1), 1 + x);
      process.reward(row, x / 4, 0);
    }
    const xs = Float64Array.of(0.5, 0.5, 3, 1);
    const before = { state: structuredClone(process.state()), scores: process.score(xs) };
    const counts = Float64Array.of(1, Number.NaN);
    const next = { points: Float64Array.of(7, 7, 8, 8), counts, sums: Float64Array.of(5, 5), squares: 9 };
    expect(() => process.replace(next)).toThrow(expect.objectContaining({ code: "not-positive-definite" }));
    expect({ state: process.state(), scores: process.score(xs) }).toEqual(before);
  });
});
