import { NOT_FINITE, NOT_POSITIVE_DEFINITE, OUT_OF_MEMORY } from "../../assembly/abi.ts";
import { NumericalError, UnsupportedError } from "../errors.ts";
import type { CoreExports } from "./exports.ts";
import { LinearMemory, outOfMemory } from "./linear-memory.ts";

declare const brand: unique symbol;
interface Handle {
  readonly pointer: number;
  readonly dimension: number;
}

/** A ridge posterior in the memory of the core that created it; opaque to everyone else. */
export type RidgeHandle = Handle & { readonly [brand]: "ridge" };
/** A Gaussian process in the memory of the core that created it; opaque to everyone else. */
export type GaussianProcessHandle = Handle & { readonly [brand]: "gaussian-process" };

export interface KernelSpec {
  /** An id of `assembly/abi`. */
  readonly kernel: number;
  readonly variance: number;
  readonly bias: number;
  /** One per feature: its length is the dimension. */
  readonly lengthscale: Float64Array;
}

export interface RidgeState {
  /** sum x x^T, packed lower triangle: d (d + 1) / 2. */
  readonly gram: Float64Array;
  /** sum reward x: d. */
  readonly moment: Float64Array;
  /** L of ridge I + gram, packed lower triangle. */
  readonly factor: Float64Array;
}

export interface GaussianProcessState {
  /** n x d, row-major. */
  readonly points: Float64Array;
  readonly counts: Float64Array;
  readonly sums: Float64Array;
  /** Packed lower triangle: n (n + 1) / 2. */
  readonly factor: Float64Array;
  /** Sum of all squared rewards. */
  readonly squares: number;
}

/** Makes a core of its own, with memory of its own, from the compiled core.wasm. */
export async function instantiate(module: WebAssembly.Module): Promise<Core> {
  const instance = await WebAssembly.instantiate(module, {});
  return new Core(instance.exports as unknown as CoreExports);
}

const NOTHING = /* @__PURE__ */ new Float64Array(0);
const FOUR_ZEROS = /* @__PURE__ */ new Float64Array(4);
/** Bytes that go through the core's memory at once: few enough to stay in the processor's cache. */
const PIECE = 32768;
/** Watched candidates are scored in groups of so many. */
export const GROUP = 16;
const triangle = (n: number): number => (n * (n + 1)) / 2;
/** 2^32, as a literal: `src/` takes no powers. */
const WORD = 4294967296;

/**
 * The numerical core as typed calls: arrays go in and come out as copies, failures are thrown.
 *
 * Points are row-major, their number follows from the dimension; what each call computes stands in `assembly/`.
 * Whoever creates a handle releases it, or drops the whole core.
 * **Throws:** NumericalError with code "out-of-memory", "not-positive-definite" or "not-finite" (an overflow), and
 * RangeError for an array of the wrong length; a call that throws has changed nothing.
 */
export class Core {
  readonly #exports: CoreExports;
  readonly #memory: LinearMemory;
  /** How many candidates a Gaussian process watches. */
  readonly #watched = new WeakMap<GaussianProcessHandle, number>();

  constructor(exports: CoreExports) {
    this.#exports = exports;
    this.#memory = new LinearMemory(exports);
  }

  exp(x: number): number {
    return this.#exports.exp(x);
  }

  log(x: number): number {
    return this.#exports.log(x);
  }

  /** h(u) = E max(u + Z, 0) of a standard normal Z, accurate far into the lower tail. */
  improvement(u: number): number {
    return this.#exports.improvement(u);
  }

  /** log h(u), also where h(u) is below the smallest double. */
  logImprovement(u: number): number {
    return this.#exports.logImprovement(u);
  }

  /** Size of its WebAssembly memory, which never shrinks. */
  get memoryBytes(): number {
    return this.#memory.bytes;
  }

  /** The 64-bit digest of `bytes` in 16 hex digits. Finds damage, not forgery. */
  digest(bytes: Uint8Array): string {
    const [input, out] = this.#memory.place([], [Math.ceil(bytes.length / 8), 1]);
    this.#memory.writeBytes(input, bytes);
    this.#exports.digest(input, bytes.length, out);
    return this.#memory.hexadecimal(out);
  }

  /** A digest of parts of a multiple of 8 bytes each: another one than `digest`, and faster where they are long. */
  checksum(...parts: readonly Uint8Array[]): string {
    const states = this.#memory.put(FOUR_ZEROS, 1 + PIECE / 8);
    const out = states + 32;
    const piece = out + 8;
    for (const part of parts) {
      for (let start = 0; start < part.length; start += PIECE) {
        const bytes = part.subarray(start, start + PIECE);
        this.#memory.writeBytes(piece, bytes);
        this.#exports.absorb(piece, bytes.length, states);
      }
    }
    this.#exports.digest(states, 32, out);
    return this.#memory.hexadecimal(out);
  }

  /** `digest` of a text's UTF-8 bytes. */
  digestText(text: string): string {
    const out = this.#memory.put(NOTHING, 1 + Math.ceil((3 * text.length) / 8));
    this.#exports.digest(out + 8, this.#memory.writeText(out + 8, text), out);
    return this.#memory.hexadecimal(out);
  }

  /** `count` numbers in (0, 1) from place `first` on of the sequence that (seed, id) names; `seed` is a safe integer. */
  uniforms(seed: number, id: string, count: number, first = 0): Float64Array {
    return this.#random("uniforms", seed, id, count, first);
  }

  /** Like `uniforms`, standard normal and independent of them. */
  normals(seed: number, id: string, count: number, first = 0): Float64Array {
    return this.#random("normals", seed, id, count, first);
  }

  #random(law: "uniforms" | "normals", seed: number, id: string, count: number, first: number): Float64Array {
    // A character is three bytes at most.
    const [text, name, out] = this.#memory.place([], [Math.ceil((3 * id.length) / 8), 1, count]);
    this.#exports.digest(text, this.#memory.writeText(text, id), name);
    const [low, high] = [this.#memory.word(name), this.#memory.word(name + 4)];
    const seedHigh = Math.floor(seed / WORD);
    // Numbers beyond 32 bits are taken modulo 2^32 where they enter the core: what is left of a seed is its low word.
    this.#exports[law](seed, seedHigh, low, high, first, count, out);
    return this.#memory.copy(out, count);
  }

  /** The kernel's values at every pair of `xs` (n x d) and `ys` (k x d): n x k. */
  kernelMatrix(spec: KernelSpec, xs: Float64Array, ys: Float64Array): Float64Array {
    const d = spec.lengthscale.length;
    const n = rows(xs, d);
    const k = rows(ys, d);
    const [params, x, y, out] = this.#memory.place([parameters(spec), xs, ys], [n * k]);
    check(this.#exports.kernelMatrix(spec.kernel, params, d, x, n, y, k, out));
    return this.#memory.copy(out, n * k);
  }

  ridgeCreate(dimension: number, ridge: number): RidgeHandle {
    return created(this.#exports.ridgeCreate(dimension, ridge), dimension) as RidgeHandle;
  }

  ridgeRelease(h: RidgeHandle): void {
    this.#exports.ridgeRelease(h.pointer);
  }

  ridgeAppend(h: RidgeHandle, x: Float64Array): void {
    check(this.#exports.ridgeAppend(h.pointer, this.#memory.put(exactly(x, h.dimension))));
  }

  ridgeReward(h: RidgeHandle, x: Float64Array, delta: number): void {
    check(this.#exports.ridgeReward(h.pointer, this.#memory.put(exactly(x, h.dimension)), delta));
  }

  /** Writes the means and the widths of `xs` (k x d) into `mean` and `width` (k). */
  ridgeScore(h: RidgeHandle, xs: Float64Array, mean: Float64Array, width: Float64Array): void {
    const k = rows(xs, h.dimension);
    exactly(mean, k);
    exactly(width, k);
    const points = this.#memory.put(xs, 2 * k);
    const means = points + 8 * xs.length;
    const widths = means + 8 * k;
    check(this.#exports.ridgeScore(h.pointer, points, k, means, widths));
    this.#memory.read(means, mean);
    this.#memory.read(widths, width);
  }

  /** The width of one point, with the bits that `ridgeScore` gives it. */
  ridgeWidth(h: RidgeHandle, x: Float64Array): number {
    const point = this.#memory.put(exactly(x, h.dimension), 2);
    const out = point + 8 * x.length;
    check(this.#exports.ridgeScore(h.pointer, point, 1, out, out + 8));
    return this.#memory.number(out + 8);
  }

  ridgeEstimate(h: RidgeHandle): Float64Array {
    const [out] = this.#memory.place([], [h.dimension]);
    check(this.#exports.ridgeEstimate(h.pointer, out));
    return this.#memory.copy(out, h.dimension);
  }

  /** Scores <x, parameter> of `xs` (k x d) by a parameter drawn as theta + scale L^-T z, z = `normals` (d): k. */
  ridgeSampleScores(h: RidgeHandle, xs: Float64Array, normals: Float64Array, scale: number): Float64Array {
    const k = rows(xs, h.dimension);
    const [points, parameter, scores] = this.#memory.place([xs, exactly(normals, h.dimension)], [k]);
    check(this.#exports.ridgeSample(h.pointer, parameter, scale, parameter));
    check(this.#exports.ridgeProducts(h.pointer, points, k, parameter, scores));
    return this.#memory.copy(scores, k);
  }

  /** Keeps a draw for each row of `normals` (m x d), for `ridgeDrawScores`, until the factor changes. */
  ridgeDraw(h: RidgeHandle, normals: Float64Array): void {
    const m = rows(normals, h.dimension);
    const [z] = this.#memory.place([normals]);
    check(this.#exports.ridgeDraw(h.pointer, z, m));
  }

  /**
   * Scores `xs` (k x d) by each of `samples` parameters, two to a kept draw, about theta or a `centre` (d) instead. Returns the
   * scores by the one that is `taken`.
   */
  ridgeDrawScores(h: RidgeHandle, xs: Float64Array, scale: number, samples: number, taken: number, centre?: Float64Array): Float64Array {
    const k = rows(xs, h.dimension);
    const [points, parameter, scores] = this.#memory.place([xs, centre ? exactly(centre, h.dimension) : xs.subarray(0, 0)], [k]);
    check(this.#exports.ridgeDrawScores(h.pointer, centre ? parameter : 0, points, k, scale, samples));
    this.#exports.ridgeDrawn(h.pointer, k, taken, scores);
    return this.#memory.copy(scores, k);
  }

  /** How many of the samples that `ridgeDrawScores` scored k candidates by last put one of them at a place. */
  ridgeDrawHits(h: RidgeHandle, k: number, samples: number, candidate: number, place: number): number {
    return this.#exports.ridgeDrawHits(h.pointer, k, samples, candidate, place);
  }

  ridgeLogDeterminant(h: RidgeHandle): number {
    return this.#exports.ridgeLogDeterminant(h.pointer);
  }

  ridgeRefactor(h: RidgeHandle): void {
    check(this.#exports.ridgeRefactor(h.pointer));
  }

  /** Views that hold until the next call. */
  ridgeState(h: RidgeHandle): RidgeState {
    const d = h.dimension;
    const state = this.#memory.view(this.#exports.ridgeState(h.pointer), 2 * triangle(d) + d);
    const moment = triangle(d);
    return { gram: state.subarray(0, moment), moment: state.subarray(moment, moment + d), factor: state.subarray(moment + d) };
  }

  ridgeLoad(h: RidgeHandle, state: RidgeState): void {
    const d = h.dimension;
    const at = this.#exports.ridgeState(h.pointer) >>> 0;
    const parts = [exactly(state.gram, triangle(d)), exactly(state.moment, d), exactly(state.factor, triangle(d))];
    this.#memory.write(at, parts[0]);
    this.#memory.write(at + triangle(d) * 8, parts[1]);
    this.#memory.write(at + (triangle(d) + d) * 8, parts[2]);
    this.#exports.ridgeTouch(h.pointer);
  }

  /** With A = `gram` (packed) + ridge I: A^-1 of each of `count` rows of `vectors`, and the trace of A^-1. */
  shrunkSolve(gram: Float64Array, ridge: number, vectors: Float64Array, count: number): { solved: Float64Array; trace: number } {
    const d = vectors.length / count;
    const [sums, solved, trace] = this.#memory.place([exactly(gram, triangle(d)), vectors], [1]);
    check(this.#exports.shrunkSolve(sums, d, ridge, solved, count, trace));
    return { solved: this.#memory.copy(solved, vectors.length), trace: this.#memory.copy(trace, 1)[0] };
  }

  gpCreate(spec: KernelSpec, noiseVariance: number, capacity: number): GaussianProcessHandle {
    if (!this.#exports.gpCreate) throw new UnsupportedError("linear-core", "linear.wasm has no Gaussian processes: core.wasm has");
    const d = spec.lengthscale.length;
    const [params] = this.#memory.place([parameters(spec)]);
    return created(this.#exports.gpCreate(d, spec.kernel, params, noiseVariance, capacity), d) as GaussianProcessHandle;
  }

  gpRelease(h: GaussianProcessHandle): void {
    this.#exports.gpRelease(h.pointer);
  }

  gpSetKernel(h: GaussianProcessHandle, spec: KernelSpec): void {
    exactly(spec.lengthscale, h.dimension);
    const [params] = this.#memory.place([parameters(spec)]);
    check(this.#exports.gpSetKernel(h.pointer, spec.kernel, params));
  }

  gpFind(h: GaussianProcessHandle, x: Float64Array): number {
    const [point] = this.#memory.place([exactly(x, h.dimension)]);
    return this.#exports.gpFind(h.pointer, point);
  }

  gpNearest(h: GaussianProcessHandle, x: Float64Array, scales: Float64Array): number {
    const [point, units] = this.#memory.place([exactly(x, h.dimension), exactly(scales, h.dimension)]);
    return this.#exports.gpNearest(h.pointer, point, units);
  }

  gpAppend(h: GaussianProcessHandle, x: Float64Array): number {
    const [point] = this.#memory.place([exactly(x, h.dimension)]);
    return check(this.#exports.gpAppend(h.pointer, point));
  }

  gpAppendGroup(h: GaussianProcessHandle, x: Float64Array, count: number): number {
    const [point] = this.#memory.place([exactly(x, h.dimension)]);
    return check(this.#exports.gpAppendGroup(h.pointer, point, count));
  }

  gpReplicate(h: GaussianProcessHandle, row: number): void {
    this.#exports.gpReplicate(h.pointer, this.#existing(h, row));
  }

  gpReward(h: GaussianProcessHandle, row: number, deltaSum: number, deltaSquares: number): void {
    check(this.#exports.gpReward(h.pointer, this.#existing(h, row), deltaSum, deltaSquares));
  }

  #existing(h: GaussianProcessHandle, row: number): number {
    if (row >= 0 && row < this.gpSize(h)) return row;
    throw new RangeError(`row: expected one of ${this.gpSize(h)}, got ${row}`);
  }

  gpScore(h: GaussianProcessHandle, xs: Float64Array): { mean: Float64Array; variance: Float64Array } {
    const k = rows(xs, h.dimension);
    const [points, mean, variance] = this.#memory.place([xs], [k, k]);
    check(this.#exports.gpScore(h.pointer, points, k, mean, variance));
    return { mean: this.#memory.copy(mean, k), variance: this.#memory.copy(variance, k) };
  }

  /** Keeps the candidates `xs` for `gpScoreWatched`, instead of those given before. */
  gpWatch(h: GaussianProcessHandle, xs: Float64Array): void {
    const k = rows(xs, h.dimension);
    const [points] = this.#memory.place([xs]);
    check(this.#exports.gpWatch(h.pointer, points, k));
    this.#watched.set(h, k);
  }

  /** Writes what `gpScore` gives for the watched candidates, to the bit, without solving again what did not change. */
  gpScoreWatched(h: GaussianProcessHandle, mean: Float64Array, variance: Float64Array): void {
    const k = this.#watched.get(h) ?? 0;
    exactly(mean, k);
    exactly(variance, k);
    const means = this.#memory.put(NOTHING, 2 * k);
    check(this.#exports.gpScoreWatched(h.pointer, means, means + 8 * k));
    this.#memory.read(means, mean);
    this.#memory.read(means + 8 * k, variance);
  }

  /** `gpScoreWatched` for the candidates from `start`, a multiple of 16, as many as `mean` and `variance` have: 16, or what is left. */
  gpScoreGroup(h: GaussianProcessHandle, start: number, mean: Float64Array, variance: Float64Array): void {
    const size = Math.min(GROUP, (this.#watched.get(h) ?? 0) - start);
    exactly(mean, size);
    exactly(variance, size);
    const means = this.#memory.put(NOTHING, 2 * GROUP);
    check(this.#exports.gpScoreGroup(h.pointer, start / GROUP, means, means + 8 * GROUP));
    this.#memory.read(means, mean);
    this.#memory.read(means + 8 * GROUP, variance);
  }

  /** L^-1 of the points' mean rewards: n. A view that holds until the next call. */
  gpWhitened(h: GaussianProcessHandle): Float64Array {
    return this.#memory.view(this.#exports.gpWhitened(h.pointer), this.gpSize(h));
  }

  gpMean(h: GaussianProcessHandle, xs: Float64Array): Float64Array {
    const k = rows(xs, h.dimension);
    const [points, mean] = this.#memory.place([xs], [k]);
    check(this.#exports.gpMean(h.pointer, points, k, mean));
    return this.#memory.copy(mean, k);
  }

  gpCovariance(h: GaussianProcessHandle, xs: Float64Array): { mean: Float64Array; covariance: Float64Array } {
    const k = rows(xs, h.dimension);
    const [points, mean, covariance] = this.#memory.place([xs], [k, k * k]);
    check(this.#exports.gpCovariance(h.pointer, points, k, mean, covariance));
    return { mean: this.#memory.copy(mean, k), covariance: this.#memory.copy(covariance, k * k) };
  }

  /** `samples` joint draws at `xs` (k x d), two to a row of `normals`: `sample` is samples x k. */
  gpSample(
    h: GaussianProcessHandle,
    xs: Float64Array,
    normals: Float64Array,
    scale: number,
    samples: number,
  ): { mean: Float64Array; variance: Float64Array; sample: Float64Array } {
    const k = rows(xs, h.dimension);
    const given = exactly(normals, Math.ceil(samples / 2) * k);
    const [points, z, mean, variance, sample] = this.#memory.place([xs, given], [k, k, samples * k]);
    check(this.#exports.gpSample(h.pointer, points, k, z, scale, samples, mean, variance, sample));
    return {
      mean: this.#memory.copy(mean, k),
      variance: this.#memory.copy(variance, k),
      sample: this.#memory.copy(sample, samples * k),
    };
  }

  /**
   * `samples` joint draws at the watched candidates `xs` (k x d), two to a row of `normals` (2 k): samples x k.
   * Row i of the process is of the candidate `places[i]`.
   */
  gpSampleWatched(
    h: GaussianProcessHandle,
    xs: Float64Array,
    places: Float64Array,
    normals: Float64Array,
    scale: number,
    samples: number,
  ): { mean: Float64Array; variance: Float64Array; sample: Float64Array } {
    const k = rows(xs, h.dimension);
    const n = this.gpSize(h);
    const given = exactly(normals, Math.ceil(samples / 2) * 2 * k);
    check(this.#exports.gpFactorPrior(h.pointer, this.#memory.put(xs)));
    const [place, z, mean, variance, sample] = this.#memory.place([exactly(places, n), given], [k, k, samples * k]);
    check(this.#exports.gpSampleWatched(h.pointer, place, z, scale, samples, mean, variance, sample));
    return {
      mean: this.#memory.copy(mean, k),
      variance: this.#memory.copy(variance, k),
      sample: this.#memory.copy(sample, samples * k),
    };
  }

  gpLogMarginalLikelihood(h: GaussianProcessHandle): number {
    return this.#exports.gpLogMarginalLikelihood(h.pointer);
  }

  gpInformationGain(h: GaussianProcessHandle): number {
    return this.#exports.gpInformationGain(h.pointer);
  }

  gpSize(h: GaussianProcessHandle): number {
    return this.#exports.gpSize(h.pointer);
  }

  gpClamped(h: GaussianProcessHandle): number {
    return this.#exports.gpClamped(h.pointer);
  }

  gpRefactor(h: GaussianProcessHandle): void {
    check(this.#exports.gpRefactor(h.pointer));
  }

  /** Views that hold until the next call. */
  gpState(h: GaussianProcessHandle): GaussianProcessState {
    const n = this.gpSize(h);
    return {
      points: this.#memory.view(this.#exports.gpPoints(h.pointer), n * h.dimension),
      counts: this.#memory.view(this.#exports.gpCounts(h.pointer), n),
      sums: this.#memory.view(this.#exports.gpSums(h.pointer), n),
      factor: this.#memory.view(this.#exports.gpFactor(h.pointer), triangle(n)),
      squares: this.#exports.gpSquares(h.pointer),
    };
  }

  gpLoad(h: GaussianProcessHandle, state: GaussianProcessState): void {
    const n = state.counts.length;
    exactly(state.points, n * h.dimension);
    exactly(state.sums, n);
    exactly(state.factor, triangle(n));
    check(this.#exports.gpResize(h.pointer, n));
    this.#memory.write(this.#exports.gpPoints(h.pointer), state.points);
    this.#memory.write(this.#exports.gpCounts(h.pointer), state.counts);
    this.#memory.write(this.#exports.gpSums(h.pointer), state.sums);
    this.#memory.write(this.#exports.gpFactor(h.pointer), state.factor);
    this.#exports.gpSetSquares(h.pointer, state.squares);
    this.#exports.gpTouch(h.pointer);
  }
}

const parameters = ({ variance, bias, lengthscale }: KernelSpec): Float64Array => Float64Array.of(variance, bias, ...lengthscale);

function rows(points: Float64Array, dimension: number): number {
  const count = points.length / dimension;
  if (Number.isInteger(count)) return count;
  throw new RangeError(`points: expected rows of ${dimension} numbers, got ${points.length} numbers`);
}

function exactly(values: Float64Array, length: number): Float64Array {
  if (values.length === length) return values;
  throw new RangeError(`expected ${length} numbers, got ${values.length}`);
}

function created(pointer: number, dimension: number): Handle {
  if (pointer === 0) throw outOfMemory();
  return { pointer, dimension };
}

/** Passes on what is not negative; the rest are failures. */
function check(status: number): number {
  if (status >= 0) return status;
  if (status === OUT_OF_MEMORY) throw outOfMemory();
  if (status === NOT_POSITIVE_DEFINITE) throw new NumericalError("not-positive-definite", "a pivot is not a positive finite number");
  if (status === NOT_FINITE) throw new NumericalError("not-finite", "a result is too large for a floating-point number");
  throw new Error(`unknown status ${status} of the core`);
}
