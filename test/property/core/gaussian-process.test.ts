import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ADDITIVE_MATERN32, KERNEL_IDS, LINEAR, MATERN12, MATERN32, MATERN52, SQUARED_EXPONENTIAL } from "../../../assembly/abi.ts";
import type { KernelSpec } from "../../../src/core/core.ts";
import { CoreProcess } from "../../../src/core/core-process.ts";
import { freshCore } from "../../support/core.ts";
import { cholesky, covariance, type Evaluation, matrixOf, naivePosterior, solve } from "../../support/reference/naive-process.ts";

// Compares the core's Gaussian process, after any sequence of operations, with a naive posterior of every single
// evaluation. Many points coincide: the core merges them, and the reference does not.

const NOISE = 0.25;
const KERNELS = [
  ["squared exponential", SQUARED_EXPONENTIAL],
  ["Matern 1/2", MATERN12],
  ["Matern 3/2", MATERN32],
  ["Matern 5/2", MATERN52],
  ["linear", LINEAR],
  ["additive of one context feature", ADDITIVE_MATERN32 + KERNEL_IDS],
  ["additive without context", ADDITIVE_MATERN32],
] as const;

const specOf = (kernel: number, d: number, stretch = 1): KernelSpec => ({
  kernel,
  variance: 1.5,
  bias: 0.5,
  lengthscale: Float64Array.from({ length: d }, (_, j) => stretch * (0.5 + 0.25 * j)),
});

const coordinate = fc.integer({ min: -8, max: 8 }).map((value) => value / 8);
const pointOf = (d: number) => fc.array(coordinate, { minLength: d, maxLength: d });
const pick = fc.nat({ max: 1000 });
const reward = fc.integer({ min: -8, max: 8 }).map((value) => value / 4);
const stepOf = (d: number) =>
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ type: fc.constant("append" as const), x: pointOf(d), y: reward }) },
    {
      weight: 1,
      arbitrary: fc.record({ type: fc.constant("group" as const), x: pointOf(d), y: reward, count: fc.integer({ min: 1, max: 4 }) }),
    },
    { weight: 3, arbitrary: fc.record({ type: fc.constant("replicate" as const), pick, y: reward }) },
    { weight: 3, arbitrary: fc.record({ type: fc.constant("reward" as const), pick, y: reward }) },
    {
      weight: 1,
      arbitrary: fc.record({ type: fc.constantFrom("refactor" as const, "kernel" as const, "restore" as const, "watch" as const) }),
    },
    { weight: 2, arbitrary: fc.record({ type: fc.constant("look" as const), pick }) },
  );
type Step = ReturnType<typeof stepOf> extends fc.Arbitrary<infer T> ? T : never;

function near(actual: number, expected: number, tolerance = 1e-9): void {
  expect(Math.abs(actual - expected)).toBeLessThanOrEqual(tolerance * Math.max(1, Math.abs(expected)));
}

/** The core's process and its evaluations. */
class Run {
  readonly #core = freshCore().core;
  process: CoreProcess;
  spec: KernelSpec;
  readonly candidates: readonly number[][];
  /** Evaluations by row. */
  readonly rows: { readonly x: number[]; readonly y: number[] }[] = [];

  constructor(spec: KernelSpec, candidates: readonly number[][]) {
    this.spec = spec;
    this.process = new CoreProcess(this.#core, spec, NOISE, 1);
    this.candidates = candidates;
    this.#watch();
  }

  #watch(): void {
    this.process.watch(Float64Array.from(this.candidates.flat()));
  }

  evaluations(): Evaluation[] {
    return this.rows.flatMap(({ x, y }) => y.map((each) => ({ x, y: each })));
  }

  #set(row: number, place: number, y: number): void {
    const ys = this.rows[row].y;
    this.process.reward(row, y - ys[place], y * y - ys[place] * ys[place]);
    ys[place] = y;
  }

  take(step: Step): void {
    const { rows } = this;
    const row = "pick" in step ? step.pick % Math.max(rows.length, 1) : 0;
    if (step.type === "append" || step.type === "group") {
      const x = Float64Array.from(step.x);
      const index = step.type === "append" ? this.process.append(x) : this.process.append(x, step.count);
      expect(index).toBe(rows.length);
      rows.push({ x: step.x, y: new Array<number>(step.type === "append" ? 1 : step.count).fill(0) });
      this.#set(index, 0, step.y);
    } else if (step.type === "refactor") this.process.refactor();
    else if (step.type === "watch") this.#watch();
    else if (step.type === "kernel") {
      this.spec = { ...this.spec, variance: this.spec.variance === 1.5 ? 2 : 1.5 };
      this.process.setKernel(this.spec);
    } else if (step.type === "restore") this.#restore();
    else if (step.type === "look") this.#look(step.pick);
    else if ("pick" in step && rows.length > 0) {
      if (step.type === "replicate") {
        this.process.replicate(row);
        rows[row].y.push(0);
      }
      this.#set(row, step.pick % rows[row].y.length, step.y);
    }
  }

  #restore(): void {
    const { points, counts, sums, factor, squares } = this.process.state();
    const state = { points: points.slice(), counts: counts.slice(), sums: sums.slice(), factor: factor.slice(), squares };
    const restored = new CoreProcess(this.#core, this.spec, NOISE, 1);
    restored.load(state);
    this.process.release();
    this.process = restored;
    this.#watch();
  }

  /** Checks that watched candidates, all or one group, get the same scores to the bit. */
  #look(place: number): void {
    const k = this.candidates.length;
    const groups = Math.ceil(k / 16);
    const start = 16 * (place % (groups + 1));
    const all = start === 16 * groups;
    const size = all ? k : Math.min(16, k - start);
    const [mean, deviation] = [new Float64Array(size), new Float64Array(size)];
    if (all) this.process.scoreWatched(mean, deviation);
    else this.process.scoreGroup(start, mean, deviation);
    const shown = Float64Array.from(this.candidates.slice(all ? 0 : start, all ? k : start + size).flat());
    const scores = this.process.score(shown);
    expect({ mean, deviation }).toEqual({ mean: scores.mean, deviation: scores.variance.map(Math.sqrt) });
  }

  compare(): void {
    const { process, spec, candidates } = this;
    const xs = Float64Array.from(candidates.flat());
    const evaluations = this.evaluations();
    const naive = naivePosterior(spec, NOISE, evaluations, candidates);
    const { mean, variance } = process.score(xs);
    const joint = process.covariance(xs);
    const means = process.mean(xs);
    candidates.forEach((_, i) => {
      near(mean[i], naive.mean[i]);
      near(means[i], naive.mean[i]);
      near(joint.mean[i], naive.mean[i]);
      near(variance[i], naive.covariance[i][i]);
      for (const j of candidates.keys()) near(joint.covariance[i * candidates.length + j], naive.covariance[i][j]);
    });
    near(process.logMarginalLikelihood, naive.logMarginalLikelihood);
    near(process.informationGain, naive.informationGain);
    expect(process.clamped).toBe(0);
    for (const place of [0, 1, 2]) this.#look(place);
    this.#compareState();
    this.#compareSamples(naive.covariance, mean);
  }

  #compareState(): void {
    const { process, rows } = this;
    const whitened = process.whitened().slice();
    const { points, counts, sums, factor, squares } = process.state();
    expect(Array.from(points)).toEqual(rows.flatMap(({ x }) => x));
    expect(Array.from(counts)).toEqual(rows.map(({ y }) => y.length));
    const totals = rows.map(({ y }) => y.reduce((sum, each) => sum + each, 0));
    totals.forEach((total, i) => void near(sums[i], total));
    near(
      squares,
      this.evaluations().reduce((sum, { y }) => sum + y * y, 0),
    );
    // L z = s / c.
    for (const [i, { y }] of rows.entries()) {
      let sum = 0;
      for (let j = 0; j <= i; j++) sum += factor[(i * (i + 1)) / 2 + j] * whitened[j];
      near(sum, totals[i] / y.length);
    }
  }

  /** With unit vectors as normals, draws give the columns of L with L L^T = covariance. */
  #compareSamples(expected: readonly (readonly number[])[], mean: Float64Array): void {
    const k = Math.min(this.candidates.length, 9);
    const xs = Float64Array.from(this.candidates.slice(0, k).flat());
    const identity = new Float64Array(k * k);
    for (let i = 0; i < k; i++) identity[i * k + i] = 1;
    const samples = 2 * k - 1;
    const drawn = this.process.sample(xs, identity, 0.5, samples);
    expect(drawn.mean).toEqual(mean.subarray(0, k));
    const columns = Array.from({ length: samples }, (_, s) =>
      Array.from({ length: k }, (_, i) => ((drawn.sample[s * k + i] - mean[i]) / 0.5) * (s % 2 === 0 ? 1 : -1)),
    );
    for (let i = 0; i < k; i++) {
      near(drawn.variance[i], expected[i][i]);
      for (let j = 0; j < k; j++) {
        let product = 0;
        for (let t = 0; t < k; t++) product += columns[2 * t][i] * columns[2 * t][j];
        near(product, expected[i][j], 1e-7);
        if (j > i) near(columns[2 * j][i], 0);
        if (2 * j + 1 < samples) near(columns[2 * j + 1][i], columns[2 * j][i]);
      }
    }
  }
}

describe.each(KERNELS)("a Gaussian process with a kernel that is %s", (_, kernel) => {
  it.each([
    [1, 5],
    [2, 17],
    [3, 2],
    [5, 35],
  ])("of %d features is the naive posterior at %d candidates, whatever was done to it", (d, k) => {
    fc.assert(
      fc.property(fc.array(pointOf(d), { minLength: k, maxLength: k }), fc.array(stepOf(d), { maxLength: 30 }), (candidates, steps) => {
        const run = new Run(specOf(kernel, d), candidates);
        for (const step of steps) run.take(step);
        run.compare();
      }),
      { numRuns: k > 20 ? 4 : 8 },
    );
  });
});

it("scores watched candidates by the state that it has loaded, whatever it scored before", () => {
  const process = new CoreProcess(freshCore().core, specOf(MATERN52, 1), NOISE, 1);
  const xs = Float64Array.of(-0.5, 0.25, 1);
  const scored = () => {
    const [mean, deviation] = [new Float64Array(3), new Float64Array(3)];
    process.scoreWatched(mean, deviation);
    return { mean, deviation };
  };
  process.watch(xs);
  const add = (x: number, y: number) => process.reward(process.append(Float64Array.of(x)), y, y * y);
  add(0, 1);
  add(0.5, -1);
  const expected = scored();
  const { points, counts, sums, factor, squares } = process.state();
  const state = { points: points.slice(), counts: counts.slice(), sums: sums.slice(), factor: factor.slice(), squares };
  add(0.75, 2);
  expect(scored()).not.toEqual(expected);
  process.load(state);
  expect(scored()).toEqual(expected);
});

it.each([-1, 1])("has no row %i after one point", (row) => {
  const process = new CoreProcess(freshCore().core, specOf(MATERN52, 1), NOISE, 1);
  process.append(Float64Array.of(0));
  for (const call of [() => process.reward(row, 1, 1), () => process.replicate(row)]) {
    expect(call).toThrow(new RangeError(`row: expected a row below 1, got ${row}`));
  }
});

it("finds the row of an equal point, and the nearest row in units of the scales, the lowest of equals", () => {
  const { core } = freshCore();
  const scale = fc.constantFrom(0.5, 1, 4);
  const cases = fc
    .integer({ min: 1, max: 3 })
    .chain((d) => fc.tuple(fc.array(pointOf(d), { maxLength: 9 }), pointOf(d), fc.array(scale, { minLength: d, maxLength: d })));
  fc.assert(
    fc.property(cases, ([points, x, scales]) => {
      const process = new CoreProcess(core, specOf(MATERN12, x.length), NOISE, 4);
      for (const point of points) process.append(Float64Array.from(point));
      const squares = points.map((point) => point.reduce((sum, value, j) => sum + ((x[j] - value) / scales[j]) ** 2, 0));
      const given = Float64Array.from(x);
      expect(process.rowOf(given)).toBe(squares.indexOf(0));
      expect(process.rowOf(given.map((value) => -value))).toBe(points.findIndex((point) => point.every((value, j) => value === -x[j])));
      expect(process.nearest(given, Float64Array.from(scales))).toBe(squares.indexOf(Math.min(...squares)));
      // Only the last feature tells these two points apart.
      const other = given.map((value, j) => (j === x.length - 1 ? value + 0.5 : value));
      expect(process.rowOf(other)).toBe(points.findIndex((point) => point.every((value, j) => value === other[j])));
      process.release();
    }),
    { numRuns: 100 },
  );
});

it.each(KERNELS)("the kernel matrix is its formula at any number of pairs: %s", (_, kernel) => {
  const { core } = freshCore();
  fc.assert(
    fc.property(
      fc
        .integer({ min: 1, max: 3 })
        .chain((d) =>
          fc.tuple(
            fc.constant(d),
            fc.array(pointOf(d), { minLength: 1, maxLength: 9 }),
            fc.array(pointOf(d), { minLength: 1, maxLength: 9 }),
          ),
        ),
      ([d, xs, ys]) => {
        const spec = specOf(kernel, d);
        const matrix = core.kernelMatrix(spec, Float64Array.from(xs.flat()), Float64Array.from(ys.flat()));
        xs.forEach((x, i) => {
          ys.forEach((y, j) => void near(matrix[i * ys.length + j], covariance(spec, x, y), 1e-13));
        });
      },
    ),
    { numRuns: 25 },
  );
});

it.each([1, 2, 3, 4, 5, 8, 9, 16, 17, 18])("draws from the prior of %d watched candidates, less what the observations contradict", (k) => {
  fc.assert(
    fc.property(fc.array(pick, { maxLength: 12 }), fc.integer({ min: 1, max: 5 }), (picks, samples) => {
      const { core } = freshCore();
      // The candidate's row. Two candidates may share one.
      const spec = specOf(MATERN12, 1, 0.5);
      const candidates = Array.from({ length: k }, (_, i) => [i / 2]);
      const xs = Float64Array.from(candidates.flat());
      const process = new CoreProcess(core, spec, NOISE, 1);
      process.watch(xs);
      const places = picks.map((each) => each % k);
      places.forEach((place, i) => {
        process.append(Float64Array.from(candidates[place]), 1 + (i % 3));
        process.reward(i, i / 4, i / 4);
      });
      const pairs = Math.ceil(samples / 2);
      const normals = core.normals(1, "prior", pairs * 2 * k);
      const { mean, variance, sample } = process.sampleWatched(xs, Float64Array.from(places), normals, 0.75, samples);
      expect({ mean, variance }).toEqual(process.score(xs));
      const factor = cholesky(matrixOf(spec, candidates, candidates));
      const counts = candidates.map((_, c) => places.reduce((sum, place, i) => sum + (place === c ? 1 + (i % 3) : 0), 0));
      const points = places.map((place) => candidates[place]);
      const noisy = matrixOf(spec, points, points).map((row, i) => row.map((value, j) => value + (i === j ? NOISE / (1 + (i % 3)) : 0)));
      for (let s = 0; s < samples; s++) {
        const z = normals.subarray((s >> 1) * 2 * k, ((s >> 1) + 1) * 2 * k);
        const prior = factor.map((row) => row.reduce((sum, entry, j) => sum + entry * z[j], 0));
        const observed = places.map((place) => [prior[place] + Math.sqrt(NOISE / counts[place]) * z[k + place]]);
        const { x: weights } = solve(noisy, observed);
        candidates.forEach((candidate, c) => {
          const change = prior[c] - points.reduce((sum, point, i) => sum + covariance(spec, candidate, point) * weights[i][0], 0);
          near(sample[s * k + c], mean[c] + (s % 2 === 0 ? 0.75 : -0.75) * change);
        });
      }
    }),
    { numRuns: 10 },
  );
});
