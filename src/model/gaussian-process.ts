import { oneOf, onlyKeys, positiveNumber, record, wholeNumber } from "../argument.ts";
import type { Core, GaussianProcessHandle, KernelSpec } from "../core/core.ts";
import { malformed, type SnapshotReader, type SnapshotWriter } from "../snapshot.ts";
import { type Kernel, kernelSpec, parseKernel, squaredExponential } from "./kernel.ts";
import type { AppendedPoint, Moments, Posterior } from "./posterior.ts";

/** Options of every policy that holds a Gaussian process. */
export interface GaussianProcessSettings {
  /** Features per candidate (d): of the action, or of context and action one after the other. */
  readonly dimension: number;
  /** Default: a squared exponential of lengthscale 1. */
  readonly kernel?: Kernel;
  /** Variance of one reward about its expectation (lambda), default 0.01. */
  readonly noiseVariance?: number;
  /** Most unique points kept, default 1000; an impression elsewhere then counts at the nearest of them. */
  readonly capacity?: number;
  /** Sets the kernel to the maximum of the marginal likelihood after every so many impressions; default never. */
  readonly refit?: { readonly every: number; readonly method?: "marginal-likelihood" } | null;
}

export const gaussianProcessOptions = ["dimension", "kernel", "noiseVariance", "capacity", "refit"];

/** Checks the options of a Gaussian process and fills in defaults. */
export function parseGaussianProcess(options: GaussianProcessSettings): Required<GaussianProcessSettings> {
  const dimension = wholeNumber("dimension", options.dimension, 1, 4096);
  const kernel = parseKernel("kernel", options.kernel ?? squaredExponential());
  kernelSpec(kernel, dimension);
  return {
    dimension,
    kernel,
    noiseVariance: positiveNumber("noiseVariance", options.noiseVariance ?? 0.01),
    capacity: wholeNumber("capacity", options.capacity ?? 1000, 1, 20_000),
    refit: options.refit == null ? null : parseRefit(options.refit),
  };
}

function parseRefit(value: NonNullable<GaussianProcessSettings["refit"]>): { every: number; method: "marginal-likelihood" } {
  onlyKeys("refit", record("refit", value), ["every", "method"]);
  return {
    every: wholeNumber("refit.every", value.every, 1),
    method: oneOf("refit.method", value.method ?? "marginal-likelihood", ["marginal-likelihood"]),
  };
}

const INITIAL_ROWS = 64;

/**
 * Gaussian-process regression over unique points, each with a count of impressions and a sum of rewards.
 *
 * An impression adds to a count (or a row), a conversion to a sum.
 * At capacity a new point is merged into the nearest kept one, by distance in units of the initial lengthscales,
 * so that learning goes on at bounded cost.
 * **Source:** Calandriello et al. 2022, eq. 3 with averages for sums; Verma et al. 2022, eq. 1.
 */
export class GaussianProcess implements Posterior {
  readonly dimension: number;
  readonly #core: Core;
  readonly #handle: GaussianProcessHandle;
  readonly #capacity: number;
  readonly #refitEvery: number;
  readonly #initial: KernelSpec;
  #kernel: KernelSpec;
  #impressions = 0;

  constructor(core: Core, options: Required<GaussianProcessSettings>) {
    this.dimension = options.dimension;
    this.#core = core;
    this.#capacity = options.capacity;
    this.#refitEvery = options.refit?.every ?? 0;
    this.#initial = kernelSpec(options.kernel, options.dimension);
    this.#kernel = this.#initial;
    this.#handle = core.gpCreate(this.#kernel, options.noiseVariance, Math.min(options.capacity, INITIAL_ROWS));
  }

  /** Unique points kept. */
  get size(): number {
    return this.#core.gpSize(this.#handle);
  }

  /** Pivots of the factor that rounding had pushed below their exact lower bound and that were lifted to it. */
  get clamped(): number {
    return this.#core.gpClamped(this.#handle);
  }

  /** Lengthscales and variance in force, after refits. */
  get kernel(): { readonly lengthscale: Float64Array; readonly variance: number } {
    return this.#kernel;
  }

  /** Counts one impression and returns the row it is counted at. **Cost:** O(n^2) for a new point, O((n - row)^2) for one seen before. */
  append(features: Float64Array): number {
    let row = this.#core.gpFind(this.#handle, features);
    if (row < 0 && this.size >= this.#capacity) row = this.#core.gpNearest(this.#handle, features, this.#initial.lengthscale);
    if (row >= 0) this.#core.gpReplicate(this.#handle, row);
    else row = this.#core.gpAppend(this.#handle, features);
    this.#impressions++;
    if (this.#refitEvery > 0 && this.#impressions % this.#refitEvery === 0) this.refit();
    return row;
  }

  /** Replaces the reward `previous` of an impression at row `slot`. **Cost:** O(1), and O(n^2) at the next mean. */
  reward({ slot }: AppendedPoint, reward: number, previous: number): void {
    this.#core.gpReward(this.#handle, slot, reward - previous, reward * reward - previous * previous);
  }

  /** Mean and standard deviation without noise. **Cost:** O(k n^2). */
  moments(points: Float64Array): Moments {
    const { mean, variance } = this.#core.gpScore(this.#handle, points);
    return { mean, deviation: variance.map(Math.sqrt) };
  }

  /** Joint posterior covariance at `points` (k x d), without noise: k x k, row-major. Of the prior while nothing was appended. */
  covariance(points: Float64Array): Float64Array {
    return this.#core.gpCovariance(this.#handle, points).covariance;
  }

  /** Draws the function at `points` (k x d) jointly: mean + scale L z with L L^T the posterior covariance, z = `normals` (k). */
  sample(points: Float64Array, normals: Float64Array, scale: number): Moments & { readonly sample: Float64Array } {
    const { mean, variance, sample } = this.#core.gpSample(this.#handle, points, normals, scale);
    return { mean, deviation: variance.map(Math.sqrt), sample };
  }

  /** Log marginal likelihood of every single reward, pending ones counted as they stand. */
  logMarginalLikelihood(): number {
    return this.#core.gpLogMarginalLikelihood(this.#handle);
  }

  /** 1/2 log det(I + K / noiseVariance) over every single impression, in nats. */
  informationGain(): number {
    return this.#core.gpInformationGain(this.#handle);
  }

  /**
   * Sets variance and lengthscales (keeping the lengthscales' ratios) to a maximum of the log marginal likelihood,
   * by a compass search on their logarithms within a factor of 64 of the initial values.
   *
   * Deterministic. **Cost:** about 60 refits of O(n^3).
   */
  refit(): void {
    const [scale, variance] = this.#relative();
    const best = compassSearch(this.#core, [this.#core.log(scale), this.#core.log(variance)], (point) => {
      this.#setKernel(this.#core.exp(point[0]), this.#core.exp(point[1]));
      return this.logMarginalLikelihood();
    });
    this.#setKernel(this.#core.exp(best[0]), this.#core.exp(best[1]));
  }

  #relative(): [scale: number, variance: number] {
    return [this.#kernel.lengthscale[0] / this.#initial.lengthscale[0], this.#kernel.variance / this.#initial.variance];
  }

  #setKernel(scale: number, variance: number): void {
    const kernel = {
      ...this.#initial,
      variance: this.#initial.variance * variance,
      lengthscale: this.#initial.lengthscale.map((value) => value * scale),
    };
    this.#core.gpSetKernel(this.#handle, kernel);
    this.#kernel = kernel;
  }

  save(writer: SnapshotWriter): void {
    const { points, counts, sums, squares, factor } = this.#core.gpState(this.#handle);
    writer.numbers([this.#kernel.variance, squares]);
    writer.numbers(this.#kernel.lengthscale);
    writer.numbers(counts);
    writer.numbers(sums);
    writer.numbers(points);
    writer.numbers(factor);
  }

  load(reader: SnapshotReader): void {
    const [variance, squares] = reader.numbers(2);
    const lengthscale = reader.numbers(this.dimension);
    const counts = reader.numbers();
    const n = counts.length;
    if (n > this.#capacity || !(variance > 0) || !lengthscale.every((value) => value > 0)) throw malformed();
    if (!counts.every((count) => Number.isSafeInteger(count) && count > 0)) throw malformed();
    const sums = reader.numbers(n);
    const points = reader.numbers(n * this.dimension);
    const factor = reader.numbers((n * (n + 1)) / 2);
    this.#kernel = { ...this.#initial, variance, lengthscale };
    this.#core.gpSetKernel(this.#handle, this.#kernel);
    this.#core.gpLoad(this.#handle, { points, counts, sums, squares, factor });
    this.#impressions = counts.reduce((sum, count) => sum + count, 0);
  }

  /** The sums alone: for every point its coordinates, count and reward sum, points in lexicographic order. */
  statistics(): Float64Array {
    const { points, counts, sums } = this.#core.gpState(this.#handle);
    const d = this.dimension;
    const order = Array.from(counts.keys()).sort((a, b) => {
      for (let i = 0; i < d; i++) {
        const difference = points[a * d + i] - points[b * d + i];
        if (difference !== 0) return difference;
      }
      return 0;
    });
    return Float64Array.from(order.flatMap((row) => [...points.subarray(row * d, (row + 1) * d), counts[row], sums[row]]));
  }
}

/** Maximises `value` over two log-parameters: the best of a coarse grid and of the start, then ever smaller steps. */
function compassSearch(core: Core, start: [number, number], value: (point: [number, number]) => number): [number, number] {
  const bound = core.log(64);
  let best = start;
  let bestValue = value(start);
  const attempt = (point: [number, number]): boolean => {
    if (Math.abs(point[0]) > bound || Math.abs(point[1]) > bound) return false;
    const pointValue = value(point);
    if (!(pointValue > bestValue)) return false;
    best = point;
    bestValue = pointValue;
    return true;
  };
  for (const scale of [-2, -1, 0, 1, 2]) for (const variance of [-1, 0, 1]) attempt([scale * core.log(4), variance * core.log(8)]);
  // A step of 0.02 changes a lengthscale by 2 %, well inside its posterior spread.
  for (let step = core.log(2); step > 0.02; ) {
    const [scale, variance] = best;
    const moved =
      attempt([scale + step, variance]) ||
      attempt([scale - step, variance]) ||
      attempt([scale, variance + step]) ||
      attempt([scale, variance - step]);
    if (!moved) step /= 2;
  }
  return best;
}
