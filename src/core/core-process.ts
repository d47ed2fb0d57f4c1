// Gaussian processes in the core, as typed calls: rows, factors and scores. Policies see numbers, and never a pointer.

import { UnsupportedError } from "../values/errors.ts";
import { allocated, check, exactly, rows, triangle } from "./checks.ts";
import { type Core, type KernelSpec, parameters } from "./core.ts";
import type { CoreExports } from "./exports.ts";
import type { LinearMemory } from "./linear-memory.ts";

/** Watched candidates are scored in groups of this size. */
export const GROUP = 16;
/** Initial capacity, in rows, of a process that grows while it learns. */
export const INITIAL_ROWS = 64;

const NOTHING = /* @__PURE__ */ new Float64Array(0);

/** Posterior means and variances of k points, without the noise of a single reward. */
export interface CoreScores {
  readonly mean: Float64Array;
  readonly variance: Float64Array;
}

/** Joint draws at k points, and the moments there. */
export interface CoreDraws extends CoreScores {
  /** samples x k, row-major. */
  readonly sample: Float64Array;
}

/** Some of k points, and the moments there. */
export interface CoreContenders extends CoreScores {
  readonly places: Float64Array;
  /** k */
  readonly count: number;
}

/** Means that a process other than that of the variances gives, each within `error` prior deviations. */
export interface KnownMeans {
  readonly mean: Float64Array;
  readonly error: number;
}

/** The impressions and rewards of n rows. */
export interface CoreRows {
  /** n x d, row-major. */
  readonly points: Float64Array;
  readonly counts: Float64Array;
  readonly sums: Float64Array;
  /** Sum of all squared rewards. Only the likelihood uses it. */
  readonly squares: number;
}

export interface CoreProcessState extends CoreRows {
  /** Packed lower triangle: n (n + 1) / 2. */
  readonly factor: Float64Array;
}

/**
 * A Gaussian process in the core's memory: n rows, each a point with a count and a sum of rewards, and their factor.
 *
 * `assembly/` documents each computation, in functions with the prefix `gp`.
 * **Throws:** as `Core`.
 */
export class CoreProcess {
  readonly #exports: CoreExports;
  readonly #memory: LinearMemory;
  readonly #pointer: number;
  readonly #dimension: number;
  #noiseVariance: number;
  /** The number of watched candidates. */
  #watched = 0;
  #version = 0;
  #listener: ((row: number) => void) | undefined;

  /** A process without rows, and with room for `capacity` of them. */
  constructor({ exports, memory }: Core, spec: KernelSpec, noiseVariance: number, capacity: number) {
    if (!exports.gpCreate)
      throw new UnsupportedError("linear-core", "expected core.wasm, got linear.wasm, which has no Gaussian processes");
    this.#exports = exports;
    this.#memory = memory;
    this.#dimension = spec.lengthscale.length;
    this.#noiseVariance = noiseVariance;
    const params = memory.put(parameters(spec));
    this.#pointer = allocated(exports.gpCreate(this.#dimension, spec.kernel, params, noiseVariance, capacity));
  }

  /** Returns its memory to the core. No other method may be called afterwards. */
  release(): void {
    this.#exports.gpRelease(this.#pointer);
  }

  /** Grows with every change. A value derived from the process holds until then. */
  get version(): number {
    return this.#version;
  }

  /** Every method that changes the process ends here. `row`: the first row that changed, or -1 for a new kernel. */
  #changed(row: number): void {
    this.#version++;
    this.#listener?.(row);
  }

  /** The number of rows (n). */
  get size(): number {
    return this.#exports.gpSize(this.#pointer);
  }

  get clamped(): number {
    return this.#exports.gpClamped(this.#pointer);
  }

  get logMarginalLikelihood(): number {
    return this.#exports.gpLogMarginalLikelihood(this.#pointer);
  }

  get informationGain(): number {
    return this.#exports.gpInformationGain(this.#pointer);
  }

  /** Replaces the kernel, and the noise variance if one is given. If it throws, neither has changed. */
  setKernel(spec: KernelSpec, noiseVariance = this.#noiseVariance): void {
    exactly(spec.lengthscale, this.#dimension);
    this.#exports.gpSetNoise(this.#pointer, noiseVariance);
    const status = this.#exports.gpSetKernel(this.#pointer, spec.kernel, this.#memory.put(parameters(spec)));
    if (status < 0) this.#exports.gpSetNoise(this.#pointer, this.#noiseVariance);
    check(status);
    this.#noiseVariance = noiseVariance;
    this.#changed(-1);
  }

  /** The row of a point, or -1. */
  rowOf(x: Float64Array): number {
    return this.#exports.gpFind(this.#pointer, this.#point(x));
  }

  /** The row of the nearest point, in units of `scales`, or -1 without rows. */
  nearest(x: Float64Array, scales: Float64Array): number {
    const [point, units] = this.#memory.place([exactly(x, this.#dimension), exactly(scales, this.#dimension)]);
    return this.#exports.gpNearest(this.#pointer, point, units);
  }

  /** Adds a row for `count` impressions at one point. Returns the row. */
  append(x: Float64Array, count = 1): number {
    const row = check(this.#exports.gpAppendGroup(this.#pointer, this.#point(x), count));
    this.#changed(row);
    return row;
  }

  /** Adds one to the count of a row. */
  replicate(row: number): void {
    this.#exports.gpReplicate(this.#pointer, this.#existing(row));
    this.#changed(row);
  }

  /** Adds to the sum of rewards of a row, and to the sum of all squared rewards. */
  reward(row: number, deltaSum: number, deltaSquares: number): void {
    check(this.#exports.gpReward(this.#pointer, this.#existing(row), deltaSum, deltaSquares));
    this.#changed(row);
  }

  #point(x: Float64Array): number {
    return this.#memory.put(exactly(x, this.#dimension));
  }

  #existing(row: number): number {
    if (row >= 0 && row < this.size) return row;
    throw new RangeError(`row: expected a row below ${this.size}, got ${row}`);
  }

  score(xs: Float64Array): CoreScores {
    const k = rows(xs, this.#dimension);
    const [points, mean, variance] = this.#memory.place([xs], [k, k]);
    check(this.#exports.gpScore(this.#pointer, points, k, mean, variance));
    return { mean: this.#memory.copy(mean, k), variance: this.#memory.copy(variance, k) };
  }

  /** The means of `score` alone, to rounding. */
  mean(xs: Float64Array): Float64Array {
    const k = rows(xs, this.#dimension);
    const [points, mean] = this.#memory.place([xs], [k]);
    check(this.#exports.gpMean(this.#pointer, points, k, mean));
    return this.#memory.copy(mean, k);
  }

  /** How far `mean` is from the means of `score`, at most, in prior deviations. Infinite if that is not known. */
  get meanError(): number {
    return this.#exports.gpMeanError(this.#pointer);
  }

  /**
   * The candidates of `xs` (k x d) that may have one of the `limit` greatest mean + `multiplier` deviations, and perhaps others, with the bits
   * of `score`. With `known` means these count, and are returned.
   */
  contenders(xs: Float64Array, limit: number, multiplier: number, known?: KnownMeans): CoreContenders {
    const k = rows(xs, this.#dimension);
    const error = known?.error ?? this.meanError;
    const [points, given, mean, variance, place] = this.#memory.place([xs, known ? exactly(known.mean, k) : NOTHING], [k, k, k]);
    const at = known ? given : 0;
    const found = check(this.#exports.gpContenders(this.#pointer, points, k, limit, multiplier, at, error, mean, variance, place));
    const [places, means, variances] = [place, mean, variance].map((each) => this.#memory.copy(each, found));
    return { places, mean: means, variance: variances, count: k };
  }

  /** The joint covariance of `xs` (k x d): k x k. */
  covariance(xs: Float64Array): { mean: Float64Array; covariance: Float64Array } {
    const k = rows(xs, this.#dimension);
    const [points, mean, covariance] = this.#memory.place([xs], [k, k * k]);
    check(this.#exports.gpCovariance(this.#pointer, points, k, mean, covariance));
    return { mean: this.#memory.copy(mean, k), covariance: this.#memory.copy(covariance, k * k) };
  }

  /** `samples` joint draws at `xs` (k x d), two for each row of `normals`: `sample` is samples x k. */
  sample(xs: Float64Array, normals: Float64Array, scale: number, samples: number): CoreDraws {
    const k = rows(xs, this.#dimension);
    const given = exactly(normals, Math.ceil(samples / 2) * k);
    const [points, z, mean, variance, sample] = this.#memory.place([xs, given], [k, k, samples * k]);
    check(this.#exports.gpSample(this.#pointer, points, k, z, scale, samples, mean, variance, sample));
    return this.#drawn(k, samples, mean, variance, sample);
  }

  #drawn(k: number, samples: number, mean: number, variance: number, sample: number): CoreDraws {
    return {
      mean: this.#memory.copy(mean, k),
      variance: this.#memory.copy(variance, k),
      sample: this.#memory.copy(sample, samples * k),
    };
  }

  /**
   * Keeps the candidates `xs` for `scoreWatched`, instead of earlier ones. After each change of the process `listener` gets the
   * first row that changed, or -1 for a new kernel.
   */
  watch(xs: Float64Array, listener?: (row: number) => void): void {
    const k = rows(xs, this.#dimension);
    check(this.#exports.gpWatch(this.#pointer, this.#memory.put(xs), k));
    this.#watched = k;
    this.#listener = listener;
  }

  /**
   * Writes the means of `score` for the watched candidates and the square roots of its variances, to the bit, and solves only for rows
   * that changed.
   */
  scoreWatched(mean: Float64Array, deviation: Float64Array): void {
    const k = this.#watched;
    const means = this.#memory.put(NOTHING, 2 * k);
    check(this.#exports.gpScoreWatched(this.#pointer, means, means + 8 * k));
    this.#readMoments(means, exactly(mean, k), exactly(deviation, k));
  }

  /** Reads means, and the roots of the variances behind them. */
  #readMoments(means: number, mean: Float64Array, deviation: Float64Array): void {
    const variances = means + 8 * mean.length;
    this.#exports.squareRoots(variances, deviation.length);
    this.#memory.read(means, mean);
    this.#memory.read(variances, deviation);
  }

  /** `scoreWatched` for one group: 16 candidates from `start`, a multiple of 16, or those that remain. */
  scoreGroup(start: number, mean: Float64Array, deviation: Float64Array): void {
    const size = Math.min(GROUP, this.#watched - start);
    const means = this.#memory.put(NOTHING, 2 * size);
    check(this.#exports.gpScoreGroup(this.#pointer, start / GROUP, means, means + 8 * size));
    this.#readMoments(means, exactly(mean, size), exactly(deviation, size));
  }

  /**
   * `samples` joint draws at the watched candidates `xs` (k x d), two for each row of `normals` (2 k): samples x k.
   * `places[i]` is the place of row i among the candidates.
   */
  sampleWatched(xs: Float64Array, places: Float64Array, normals: Float64Array, scale: number, samples: number): CoreDraws {
    const k = rows(xs, this.#dimension);
    const given = exactly(normals, Math.ceil(samples / 2) * 2 * k);
    check(this.#exports.gpFactorPrior(this.#pointer, this.#memory.put(xs)));
    const [place, z, mean, variance, sample] = this.#memory.place([exactly(places, this.size), given], [k, k, samples * k]);
    check(this.#exports.gpSampleWatched(this.#pointer, place, z, scale, samples, mean, variance, sample));
    return this.#drawn(k, samples, mean, variance, sample);
  }

  /** L^-1 of the rows' mean rewards: n. A view, valid until the next call. */
  whitened(): Float64Array {
    return this.#memory.view(this.#exports.gpWhitened(this.#pointer), this.size);
  }

  /** Rebuilds the factor from points and counts. */
  refactor(): void {
    check(this.#exports.gpRefactor(this.#pointer));
    this.#changed(0);
  }

  /** Views, valid until the next call. */
  state(): CoreProcessState {
    const n = this.size;
    return {
      points: this.#memory.view(this.#exports.gpPoints(this.#pointer), n * this.#dimension),
      counts: this.#memory.view(this.#exports.gpCounts(this.#pointer), n),
      sums: this.#memory.view(this.#exports.gpSums(this.#pointer), n),
      factor: this.#memory.view(this.#exports.gpFactor(this.#pointer), triangle(n)),
      squares: this.#exports.gpSquares(this.#pointer),
    };
  }

  /** Replaces all rows, and builds their factor. If that fails, the old rows stay. **Cost:** O(n^3). */
  replace(next: CoreRows): void {
    const { points, counts, sums, squares, factor } = this.state();
    const before = { points: points.slice(), counts: counts.slice(), sums: sums.slice(), squares, factor: factor.slice() };
    try {
      this.load({ ...next, factor: new Float64Array(triangle(next.counts.length)) });
      this.refactor();
    } catch (error) {
      this.load(before);
      throw error;
    }
  }

  /** Replaces all rows and their factor. */
  load(state: CoreProcessState): void {
    const n = state.counts.length;
    exactly(state.points, n * this.#dimension);
    exactly(state.sums, n);
    exactly(state.factor, triangle(n));
    check(this.#exports.gpResize(this.#pointer, n));
    this.#memory.write(this.#exports.gpPoints(this.#pointer), state.points);
    this.#memory.write(this.#exports.gpCounts(this.#pointer), state.counts);
    this.#memory.write(this.#exports.gpSums(this.#pointer), state.sums);
    this.#memory.write(this.#exports.gpFactor(this.#pointer), state.factor);
    this.#exports.gpSetSquares(this.#pointer, state.squares);
    this.#exports.gpTouch(this.#pointer);
    this.#changed(0);
  }
}
