// The door to WebAssembly: makes a core, and hands out its ridges, draws and processes. The layers above know no pointer and no status.

import { allocated, check, exactly, rows, triangle } from "./checks.ts";
import { CoreDraws } from "./core-draws.ts";
import type { CoreExports } from "./exports.ts";
import { LinearMemory } from "./linear-memory.ts";
import type { RidgeHandle } from "./ridge-handle.ts";

/** A kernel as the core takes it. */
export interface KernelSpec {
  /** An id of `assembly/abi`. */
  readonly kernel: number;
  readonly variance: number;
  readonly bias: number;
  /** One per feature: its length is the dimension. */
  readonly lengthscale: Float64Array;
}

/** A kernel in the layout of `createKernel` (`assembly/gaussian-process/kernels.ts`). */
export const parameters = ({ variance, bias, lengthscale }: KernelSpec): Float64Array => Float64Array.of(variance, bias, ...lengthscale);

export interface RidgeState {
  /** sum x x^T, packed lower triangle: d (d + 1) / 2. */
  readonly gram: Float64Array;
  /** sum reward x: d. */
  readonly moment: Float64Array;
  /** L of ridge I + gram, packed lower triangle. */
  readonly factor: Float64Array;
}

/** Makes a core, with its own memory, from the compiled core.wasm. */
export async function instantiate(module: WebAssembly.Module): Promise<Core> {
  const instance = await WebAssembly.instantiate(module, {});
  return new Core(instance.exports as unknown as CoreExports);
}

const NOTHING = /* @__PURE__ */ new Float64Array(0);
/** Doubles with room for three numbers of 17 characters, and spaces. */
const MOST_DIGITS = 7;
const FOUR_ZEROS = /* @__PURE__ */ new Float64Array(4);
/** Bytes that `checksum` copies into the core's memory at once: few enough for the processor's cache. */
const PIECE = 32768;
/** 2^32, as a literal: `src/` computes no powers. */
const WORD = 4294967296;

/**
 * The numerical core as typed calls. Arrays go in and come out as copies.
 *
 * Points are row-major, and their number follows from the dimension. `assembly/` documents each computation.
 * The caller releases each handle it creates, or drops the whole core.
 * **Throws:** NumericalError with code "out-of-memory", "not-positive-definite" or "not-finite" (an overflow), and
 * RangeError for an array of the wrong length. A call that throws has changed nothing.
 */
export class Core {
  /** For `CoreProcess`, as is `memory`. */
  readonly exports: CoreExports;
  readonly memory: LinearMemory;
  readonly draws: CoreDraws;

  constructor(exports: CoreExports) {
    this.exports = exports;
    this.memory = new LinearMemory(exports);
    this.draws = new CoreDraws(exports, this.memory);
  }

  exp(x: number): number {
    return this.exports.exp(x);
  }

  log(x: number): number {
    return this.exports.log(x);
  }

  /** h(u) = E max(u + Z, 0) for a standard normal Z, accurate far into the lower tail. */
  improvement(u: number): number {
    return this.exports.improvement(u);
  }

  /** log h(u), even if h(u) is below the smallest double. */
  logImprovement(u: number): number {
    return this.exports.logImprovement(u);
  }

  /** Size of the WebAssembly memory, which never shrinks. */
  get memoryBytes(): number {
    return this.memory.bytes;
  }

  /** The 64-bit digest of `bytes` in 16 hexadecimal digits. It detects damage, not forgery. */
  digest(bytes: Uint8Array): string {
    const [input, out] = this.memory.place([], [Math.ceil(bytes.length / 8), 1]);
    this.memory.writeBytes(input, bytes);
    this.exports.digest(input, bytes.length, out);
    return this.memory.hexadecimal(out);
  }

  /**
   * A 64-bit digest of several parts, each a multiple of 8 bytes long. It differs from `digest` of the same bytes, and is faster
   * for long parts.
   */
  checksum(...parts: readonly Uint8Array[]): string {
    const states = this.memory.put(FOUR_ZEROS, 1 + PIECE / 8);
    const out = states + 32;
    const piece = out + 8;
    for (const part of parts) {
      for (let start = 0; start < part.length; start += PIECE) {
        const bytes = part.subarray(start, start + PIECE);
        this.memory.writeBytes(piece, bytes);
        this.exports.absorb(piece, bytes.length, states);
      }
    }
    this.exports.digest(states, 32, out);
    return this.memory.hexadecimal(out);
  }

  /** Whether all numbers are finite. In a new process a loop of JavaScript would take ten times as long. */
  areFinite(values: Float64Array): boolean {
    for (let start = 0; start < values.length; start += PIECE / 8) {
      const piece = values.subarray(start, start + PIECE / 8);
      if (!this.exports.allFinite(this.memory.put(piece), piece.length)) return false;
    }
    return true;
  }

  /** `digest` of the UTF-8 bytes of whole numbers with spaces between them, `second` and `third` not negative. It makes no strings of them. */
  digestNumbers(first: number, second: number, third: number): string {
    const out = this.memory.put(NOTHING, 1 + MOST_DIGITS);
    const start = out + 8;
    let end = first < 0 ? start + this.memory.writeText(start, `${first}`) : this.memory.writeDigits(start, first);
    end = this.memory.writeDigits(this.memory.writeSpace(end), second);
    end = this.memory.writeDigits(this.memory.writeSpace(end), third);
    this.exports.digest(start, end - start, out);
    return this.memory.hexadecimal(out);
  }

  /** Elements [first, first + count) of the sequence of uniforms on (0, 1) for (seed, id). `seed` is a safe integer. */
  uniforms(seed: number, id: string, count: number, first = 0): Float64Array {
    return this.#random("uniforms", seed, id, count, first);
  }

  /** Like `uniforms`, for standard normals, which are independent of the uniforms. */
  normals(seed: number, id: string, count: number, first = 0): Float64Array {
    return this.#random("normals", seed, id, count, first);
  }

  #random(law: "uniforms" | "normals", seed: number, id: string, count: number, first: number): Float64Array {
    // A UTF-16 unit takes at most three bytes of UTF-8.
    const [text, name, out] = this.memory.place([], [Math.ceil((3 * id.length) / 8), 1, count]);
    this.exports.digest(text, this.memory.writeText(text, id), name);
    const [low, high] = [this.memory.word(name), this.memory.word(name + 4)];
    const seedHigh = Math.floor(seed / WORD);
    // WebAssembly takes a number modulo 2^32, so `seed` passes its low word.
    this.exports[law](seed, seedHigh, low, high, first, count, out);
    return this.memory.copy(out, count);
  }

  /** The kernel matrix of `xs` (n x d) and `ys` (k x d): n x k. */
  kernelMatrix(spec: KernelSpec, xs: Float64Array, ys: Float64Array): Float64Array {
    const d = spec.lengthscale.length;
    const n = rows(xs, d);
    const k = rows(ys, d);
    const [params, x, y, out] = this.memory.place([parameters(spec), xs, ys], [n * k]);
    check(this.exports.kernelMatrix(spec.kernel, params, d, x, n, y, k, out));
    return this.memory.copy(out, n * k);
  }

  ridgeCreate(dimension: number, ridge: number): RidgeHandle {
    return { pointer: allocated(this.exports.ridgeCreate(dimension, ridge)), dimension } as RidgeHandle;
  }

  ridgeRelease(h: RidgeHandle): void {
    this.exports.ridgeRelease(h.pointer);
  }

  ridgeAppend(h: RidgeHandle, x: Float64Array): void {
    check(this.exports.ridgeAppend(h.pointer, this.memory.put(exactly(x, h.dimension))));
  }

  ridgeReward(h: RidgeHandle, x: Float64Array, delta: number): void {
    check(this.exports.ridgeReward(h.pointer, this.memory.put(exactly(x, h.dimension)), delta));
  }

  /** Writes the means and widths of `xs` (k x d) into `mean` and `width` (k each). */
  ridgeScore(h: RidgeHandle, xs: Float64Array, mean: Float64Array, width: Float64Array): void {
    const k = rows(xs, h.dimension);
    exactly(mean, k);
    exactly(width, k);
    const points = this.memory.put(xs, 2 * k);
    const means = points + 8 * xs.length;
    const widths = means + 8 * k;
    check(this.exports.ridgeScore(h.pointer, points, k, means, widths));
    this.memory.read(means, mean);
    this.memory.read(widths, width);
  }

  /** The width of one point, with the bits of `ridgeScore`. */
  ridgeWidth(h: RidgeHandle, x: Float64Array): number {
    const point = this.memory.put(exactly(x, h.dimension), 2);
    const out = point + 8 * x.length;
    check(this.exports.ridgeScore(h.pointer, point, 1, out, out + 8));
    return this.memory.number(out + 8);
  }

  /** theta (d), in `into`. */
  ridgeEstimate(h: RidgeHandle, into: Float64Array = new Float64Array(h.dimension)): Float64Array {
    const out = this.memory.put(NOTHING, h.dimension);
    check(this.exports.ridgeEstimate(h.pointer, out));
    return this.memory.read(out, into);
  }

  /** The means of `xs` (k x d), with the bits of `ridgeScore`: k. */
  ridgeMeans(h: RidgeHandle, xs: Float64Array): Float64Array {
    const k = rows(xs, h.dimension);
    const [points, theta, means] = this.memory.place([xs], [h.dimension, k]);
    check(this.exports.ridgeEstimate(h.pointer, theta));
    check(this.exports.ridgeProducts(h.pointer, points, k, theta, means));
    return this.memory.copy(means, k);
  }

  /** Scores <x, parameter> of `xs` (k x d) for the draw theta + scale L^-T z, z = `normals` (d): k. */
  ridgeSampleScores(h: RidgeHandle, xs: Float64Array, normals: Float64Array, scale: number): Float64Array {
    const k = rows(xs, h.dimension);
    const [points, parameter, scores] = this.memory.place([xs, exactly(normals, h.dimension)], [k]);
    check(this.exports.ridgeSample(h.pointer, parameter, scale, parameter));
    check(this.exports.ridgeProducts(h.pointer, points, k, parameter, scores));
    return this.memory.copy(scores, k);
  }

  /** The draw theta + scale L^-T z for z = `normals`: d. */
  ridgeSample(h: RidgeHandle, normals: Float64Array, scale: number): Float64Array {
    const at = this.memory.put(exactly(normals, h.dimension));
    check(this.exports.ridgeSample(h.pointer, at, scale, at));
    return this.memory.copy(at, h.dimension);
  }

  /** Replaces the precision of the prior (packed). Call `ridgeRefactor` afterwards. */
  ridgeSetPrior(h: RidgeHandle, precision: Float64Array): void {
    check(this.exports.ridgeSetPrior(h.pointer, this.memory.put(exactly(precision, triangle(h.dimension)))));
  }

  ridgeRefactor(h: RidgeHandle): void {
    check(this.exports.ridgeRefactor(h.pointer));
  }

  /** Views, valid until the next call. Without the factor, which costs nothing then. */
  ridgeSums(h: RidgeHandle): Omit<RidgeState, "factor"> {
    const moment = triangle(h.dimension);
    const sums = this.memory.view(this.exports.ridgeSums(h.pointer), moment + h.dimension);
    return { gram: sums.subarray(0, moment), moment: sums.subarray(moment) };
  }

  /** Views, valid until the next call. **Cost:** O(d^2) for each impression since the factor was read. */
  ridgeState(h: RidgeHandle): RidgeState {
    const d = h.dimension;
    const state = this.memory.view(this.exports.ridgeState(h.pointer), 2 * triangle(d) + d);
    const moment = triangle(d);
    return { gram: state.subarray(0, moment), moment: state.subarray(moment, moment + d), factor: state.subarray(moment + d) };
  }

  /** Without a factor the caller calls `ridgeRefactor` next. */
  ridgeLoad(h: RidgeHandle, { gram, moment, factor }: Omit<RidgeState, "factor"> & Partial<RidgeState>): void {
    const d = h.dimension;
    const at = this.exports.ridgeSums(h.pointer) >>> 0;
    exactly(moment, d);
    if (factor) exactly(factor, triangle(d));
    this.memory.write(at, exactly(gram, triangle(d)));
    this.memory.write(at + triangle(d) * 8, moment);
    if (factor) this.memory.write(at + (triangle(d) + d) * 8, factor);
    this.exports.ridgeTouch(h.pointer);
  }

  /** A^-1 times each of the `count` rows of `vectors`, and the diagonal of A^-1, with A = `gram` (packed) + ridge I. */
  shrunkSolve(gram: Float64Array, ridge: number, vectors: Float64Array, count: number): { solved: Float64Array; variances: Float64Array } {
    const d = vectors.length / count;
    const [sums, solved, variances] = this.memory.place([exactly(gram, triangle(d)), vectors], [d]);
    check(this.exports.shrunkSolve(sums, d, ridge, solved, count, variances));
    return { solved: this.memory.copy(solved, vectors.length), variances: this.memory.copy(variances, d) };
  }
}
