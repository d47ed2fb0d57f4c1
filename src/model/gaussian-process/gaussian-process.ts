import type { Core, GaussianProcessHandle, KernelSpec } from "../../core/core.ts";
import { malformed, type SnapshotReader, type SnapshotWriter } from "../../snapshot.ts";
import { Domain } from "../domain.ts";
import type { AppendedPoint, JointPosterior, Moments, Posterior } from "../posterior.ts";
import { compassSearch } from "./compass-search.ts";
import type { ParsedGaussianProcess } from "./gaussian-process-settings.ts";
import { kernelSpec } from "./kernel.ts";
import { KnownLikelihoods } from "./known-likelihoods.ts";
import { LazyMoments } from "./lazy-moments.ts";

/** Rows there is room for at first, as a process grows by itself. */
export const INITIAL_ROWS = 64;
/** Below this many rows a fixed domain keeps repeated points apart: merging them costs more than it saves. */
const UNMERGED_ROWS = 256;

/**
 * Gaussian-process regression over unique points, each with a count of impressions and a sum of rewards.
 *
 * An impression adds to a count (or a row), a conversion to a sum.
 * At capacity a new point is merged into the nearest kept one, by distance in units of the initial lengthscales,
 * so that learning goes on at bounded cost.
 *
 * In a fixed domain a repeated point opens a row of its own, since a change of an early row would have to be solved for every
 * point of the domain again; when rows come to twice the unique points they are merged. The posterior is the same.
 * **Source:** Calandriello et al. 2022, eq. 3 with averages for sums; Verma et al. 2022, eq. 1.
 */
export class GaussianProcess implements Posterior, JointPosterior {
  readonly dimension: number;
  readonly #core: Core;
  readonly #handle: GaussianProcessHandle;
  readonly #capacity: number;
  readonly #refitEvery: number;
  readonly #initial: KernelSpec;
  readonly domain: Domain | null;
  /** With a domain: the newest row of each of its points, or -1. */
  readonly #rowOf: Int32Array;
  #unique = 0;
  #kernel: KernelSpec;
  #impressions = 0;
  /** For refits: how many rewards are counted, the slot of one that is 0 as it was appended just now, and what was found with fewer. */
  #rewards = 0;
  #appended = -1;
  readonly #likelihoods: KnownLikelihoods;
  /** With a domain: the moments of its points, until something changes. */
  #known: Moments | null = null;
  /** Where they stand from one time to the next. */
  readonly #kept: { readonly mean: Float64Array; readonly variance: Float64Array };
  /** Or those of some of its points, once that was asked for. */
  #lazy: LazyMoments | null = null;
  #priorDeviation = 0;

  constructor(core: Core, options: ParsedGaussianProcess) {
    this.dimension = options.dimension;
    this.#core = core;
    this.#capacity = options.capacity;
    this.#refitEvery = options.refit?.every ?? 0;
    this.#initial = kernelSpec(options.kernel, options.dimension);
    this.#kernel = this.#initial;
    this.#likelihoods = new KnownLikelihoods(-0.5 * core.log(2 * Math.PI * options.noiseVariance));
    this.#handle = core.gpCreate(this.#kernel, options.noiseVariance, Math.min(options.capacity, INITIAL_ROWS));
    this.domain = options.domain && new Domain(options.domain);
    this.#rowOf = new Int32Array(this.domain?.count ?? 0).fill(-1);
    this.#kept = { mean: new Float64Array(this.domain?.count ?? 0), variance: new Float64Array(this.domain?.count ?? 0) };
    if (this.domain) core.gpWatch(this.#handle, this.domain.points);
  }

  /** Gives its memory back to the core; nothing may be asked of it any more. */
  release(): void {
    this.#core.gpRelease(this.#handle);
  }

  /** Unique points kept. */
  get size(): number {
    return this.domain ? this.#unique : this.#core.gpSize(this.#handle);
  }

  /** Pivots of the factor that rounding had pushed below their exact lower bound and that were lifted to it. */
  get clamped(): number {
    return this.#core.gpClamped(this.#handle);
  }

  /** Lengthscales and variance in force, after refits. */
  get kernel(): { readonly lengthscale: Float64Array; readonly variance: number } {
    return this.#kernel;
  }

  /**
   * Counts `count` impressions at one point and returns their slot: the row, or the point's place in the domain.
   * **Cost:** O(n^2) for a new row, O((n - row)^2) for each at an old one.
   * @throws {RangeError} if there is a domain and the point is not in it.
   */
  append(features: Float64Array, count = 1): number {
    this.#forget(Number.POSITIVE_INFINITY);
    const slot = this.domain ? this.#appendInDomain(this.domain, features) : this.#appendAnywhere(features);
    const row = this.domain ? this.#rowOf[slot] : slot;
    if (count > 1) this.#forget(row);
    for (let repeated = 1; repeated < count; repeated++) this.#core.gpReplicate(this.#handle, row);
    this.#rewards += count;
    this.#appended = slot;
    return slot;
  }

  /** The slot at which a point that was appended is counted. */
  locate(features: Float64Array): number {
    if (this.domain) return this.domain.indexOf(features);
    const row = this.#core.gpFind(this.#handle, features);
    return row < 0 && this.size >= this.#capacity ? this.#core.gpNearest(this.#handle, features, this.#initial.lengthscale) : row;
  }

  /** Says that one more impression was made, counted here or not: refits when that is due, and returns whether it did. */
  elapse(): boolean {
    this.#impressions++;
    const due = this.#refitEvery > 0 && this.#impressions % this.#refitEvery === 0;
    if (due) this.refit();
    return due;
  }

  #appendAnywhere(features: Float64Array): number {
    const row = this.locate(features);
    if (row < 0) return this.#core.gpAppend(this.#handle, features);
    this.#core.gpReplicate(this.#handle, row);
    return row;
  }

  #appendInDomain(domain: Domain, features: Float64Array): number {
    const place = domain.indexOf(features);
    const rows = this.#core.gpSize(this.#handle);
    // The newest row may change: nothing was solved with it that a new row would not cost as well.
    if (rows > 0 && this.#rowOf[place] === rows - 1) {
      this.#forget(rows - 1);
      this.#core.gpReplicate(this.#handle, rows - 1);
      return place;
    }
    if (rows >= UNMERGED_ROWS && rows >= 2 * this.#unique) this.#merge(domain);
    if (this.#rowOf[place] < 0) this.#unique++;
    this.#rowOf[place] = this.#core.gpAppend(this.#handle, features);
    return place;
  }

  /** Merges the rows of each point of the domain, in order of first appearance, and builds the factor anew. */
  #merge(domain: Domain): void {
    this.#likelihoods.clear();
    this.#forget(0);
    const d = this.dimension;
    const { points: x, counts: c, sums: s, factor: l, squares } = this.#core.gpState(this.#handle);
    const state = { points: x.slice(), counts: c.slice(), sums: s.slice(), factor: l.slice(), squares };
    const rowOf = new Int32Array(domain.count).fill(-1);
    const points = new Float64Array(this.#unique * d);
    const counts = new Float64Array(this.#unique);
    const sums = new Float64Array(this.#unique);
    let rows = 0;
    state.counts.forEach((count, row) => {
      const point = state.points.subarray(row * d, (row + 1) * d);
      const place = domain.indexOf(point);
      if (rowOf[place] < 0) {
        points.set(point, rows * d);
        rowOf[place] = rows++;
      }
      counts[rowOf[place]] += count;
      sums[rowOf[place]] += state.sums[row];
    });
    const factor = new Float64Array((rows * (rows + 1)) / 2);
    try {
      this.#core.gpLoad(this.#handle, { points, counts, sums, squares, factor });
      this.#core.gpRefactor(this.#handle);
    } catch (error) {
      this.#core.gpLoad(this.#handle, state);
      throw error;
    }
    this.#rowOf.set(rowOf);
  }

  /** Merges rows of one point, and rebuilds L in the order of the rows, that of their first appearance. **Cost:** O(n^3). */
  refactor(): void {
    this.#forget(0);
    if (this.domain) this.#merge(this.domain);
    else this.#core.gpRefactor(this.#handle);
  }

  /** Replaces the reward `previous` of an impression by `reward`. **Cost:** O(1), and O(n^2) at the next mean. */
  reward({ slot }: AppendedPoint, reward: number, previous: number): void {
    const row = this.domain ? this.#rowOf[slot] : slot;
    this.#forget(row);
    if (slot !== this.#appended || previous !== 0) this.#likelihoods.clear();
    this.#appended = -1;
    this.#core.gpReward(this.#handle, row, reward - previous, reward * reward - previous * previous);
  }

  /**
   * Mean and standard deviation without noise; those of the domain hold until the next change. **Cost:** O(k n^2); for the domain's own array of points
   * O(k n) a new row, and from then on nothing for any of its points until something changes.
   */
  moments(points: Float64Array): Moments {
    if (points !== this.domain?.points) return this.#lookUp(points) ?? withDeviation(this.#core.gpScore(this.#handle, points));
    if (this.#known === null) {
      this.#core.gpScoreWatched(this.#handle, this.#kept.mean, this.#kept.variance);
      this.#known = withDeviation(this.#kept);
    }
    return this.#known;
  }

  deviation(features: Float64Array): number {
    return this.moments(features).deviation[0];
  }

  /** The rows from this one on have changed, and with them what is known of the domain. */
  #forget(row: number): void {
    this.#known = null;
    this.#lazy?.changed(row);
  }

  /** The moments of the domain's points, as far as one asks for them. */
  get lazy(): LazyMoments {
    this.#lazy ??= new LazyMoments(this.#core, this.#handle, (this.domain as Domain).count);
    return this.#lazy;
  }

  /** The greatest deviation in the domain before anything was seen. */
  get priorDeviation(): number {
    if (this.#priorDeviation > 0) return this.#priorDeviation;
    const domain = this.domain as Domain;
    let variance = 0;
    for (let place = 0; place < domain.count; place++) {
      variance = Math.max(variance, this.#core.kernelMatrix(this.#kernel, domain.at(place), domain.at(place))[0]);
    }
    this.#priorDeviation = Math.sqrt(variance);
    return this.#priorDeviation;
  }

  /** What is known of these points, which scoring them would give to the bit; null if nothing is, or not of all. */
  #lookUp(points: Float64Array): Moments | null {
    if (!this.domain || !(this.#known ?? this.#lazy)) return null;
    const mean = new Float64Array(points.length / this.dimension);
    const deviation = new Float64Array(mean.length);
    for (let i = 0; i < mean.length; i++) {
      const place = this.domain.find(points, i * this.dimension);
      const known = this.#known ?? (this.#lazy?.knows(place) ? this.#lazy : null);
      if (place < 0 || !known) return null;
      mean[i] = known.mean[place];
      deviation[i] = known.deviation[place];
    }
    return { mean, deviation };
  }

  /** Joint posterior covariance at `points` (k x d), without noise: k x k, row-major. Of the prior while nothing was appended. */
  covariance(points: Float64Array): Float64Array {
    return this.#core.gpCovariance(this.#handle, points).covariance;
  }

  /**
   * Draws the function at `points` (k x d) jointly: mean + scale L z with L L^T the posterior covariance, z = `normals` (k).
   *
   * More than one sample come in opposite pairs, mean + scale L z and mean - scale L z, of each row z of `normals`
   * (half as many x k): `sample` is samples x k. **Cost:** O(k n^2 + k^2 n + k^3 + samples k^2).
   */
  sample(points: Float64Array, normals: Float64Array, scale: number, samples = 1): Moments & { readonly sample: Float64Array } {
    const { mean, variance, sample } = this.#core.gpSample(this.#handle, points, normals, scale, samples);
    return { ...withDeviation({ mean, variance }), sample };
  }

  /**
   * What `sample` draws at the points of the domain, in distribution: from a draw of the prior, whose factor is kept, instead of a
   * factor of the posterior covariance each time. `normals`: half as many rows as samples, of two numbers for each point.
   * **Cost:** O(samples (k^2 + k n)), and O(k^3) once for the kernel in force.
   */
  samplePathwise(normals: Float64Array, scale: number, samples: number): Moments & { readonly sample: Float64Array } {
    const { points, dimension } = this.domain as Domain;
    const rows = this.#core.gpState(this.#handle).points;
    const places = new Float64Array(rows.length / dimension);
    for (let row = 0; row < places.length; row++) places[row] = (this.domain as Domain).find(rows, row * dimension);
    const { mean, variance, sample } = this.#core.gpSampleWatched(this.#handle, points, places, normals, scale, samples);
    return { ...withDeviation({ mean, variance }), sample };
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
   * Deterministic. **Cost:** about 40 factors of O(n^3) / 3; half of that where rewards are only added from one time to the next.
   */
  refit(): void {
    const [scale, variance] = this.#relative();
    this.#likelihoods.begin();
    this.#appended = -1;
    const best = compassSearch(this.#core, [this.#core.log(scale), this.#core.log(variance)], (point, toBeat) =>
      this.#likelihoods.exceeding(toBeat, point.join(), this.#rewards, () => {
        this.#setKernel(this.#core.exp(point[0]), this.#core.exp(point[1]));
        return this.logMarginalLikelihood();
      }),
    );
    this.#setKernel(this.#core.exp(best[0]), this.#core.exp(best[1]));
  }

  #relative(): [scale: number, variance: number] {
    return [this.#kernel.lengthscale[0] / this.#initial.lengthscale[0], this.#kernel.variance / this.#initial.variance];
  }

  #setKernel(scale: number, variance: number): void {
    this.adopt({ variance: this.#initial.variance * variance, lengthscale: this.#initial.lengthscale.map((value) => value * scale) });
  }

  /** Takes over the hyper-parameters of another process. **Cost:** O(n^3). */
  adopt({ variance, lengthscale }: { readonly variance: number; readonly lengthscale: Float64Array }): void {
    const kernel = { ...this.#initial, variance, lengthscale };
    this.#forget(0);
    this.#core.gpSetKernel(this.#handle, kernel);
    this.#kernel = kernel;
    // Its variances before the first row are those of another kernel.
    this.#lazy = null;
    this.#priorDeviation = 0;
  }

  /** Writes its state into a snapshot. */
  save(writer: SnapshotWriter): void {
    const { points, counts, sums, squares, factor } = this.#core.gpState(this.#handle);
    writer.numbers([this.#kernel.variance, squares, this.#impressions]);
    writer.numbers(this.#kernel.lengthscale);
    writer.numbers(counts);
    writer.numbers(sums);
    writer.numbers(points);
    writer.numbers(factor);
  }

  /** Takes its state from a snapshot. */
  load(reader: SnapshotReader): void {
    const [variance, squares, impressions] = reader.numbers(3);
    const lengthscale = reader.numbers(this.dimension);
    const counts = reader.numbers();
    const n = counts.length;
    if ((!this.domain && n > this.#capacity) || !(variance > 0) || !lengthscale.every((value) => value > 0)) throw malformed();
    if (!counts.every((count) => Number.isSafeInteger(count) && count > 0)) throw malformed();
    const sums = reader.numbers(n);
    const points = reader.view(n * this.dimension);
    const factor = reader.view((n * (n + 1)) / 2);
    this.adopt({ variance, lengthscale });
    this.#core.gpLoad(this.#handle, { points, counts, sums, squares, factor });
    this.#impressions = impressions;
    this.#rewards = counts.reduce((sum, count) => sum + count, 0);
    this.#likelihoods.clear();
    if (this.domain) this.#index(this.domain, points);
  }

  #index(domain: Domain, points: Float64Array): void {
    const d = this.dimension;
    for (let row = 0; row * d < points.length; row++) this.#rowOf[domain.indexOf(points.subarray(row * d, (row + 1) * d))] = row;
    this.#unique = this.#rowOf.reduce((unique, row) => unique + Number(row >= 0), 0);
  }

  /** The sums alone: for every unique point its coordinates, count and reward sum, points in lexicographic order. */
  statistics(): Float64Array {
    const { points, counts, sums } = this.#core.gpState(this.#handle);
    const d = this.dimension;
    const compare = (a: number, b: number): number => {
      let i = 0;
      while (i < d - 1 && points[a * d + i] === points[b * d + i]) i++;
      return points[a * d + i] - points[b * d + i];
    };
    const statistics: number[] = [];
    let last = -1;
    for (const row of Array.from(counts.keys()).sort(compare)) {
      if (last < 0 || compare(last, row) !== 0) statistics.push(...points.subarray(row * d, (row + 1) * d), 0, 0);
      statistics[statistics.length - 2] += counts[row];
      statistics[statistics.length - 1] += sums[row];
      last = row;
    }
    return Float64Array.from(statistics);
  }
}

/** Takes the roots of variances in place: a plain loop costs a fifth of a callback for each. */
function withDeviation({ mean, variance }: { readonly mean: Float64Array; readonly variance: Float64Array }): Moments {
  for (let i = 0; i < variance.length; i++) variance[i] = Math.sqrt(variance[i]);
  return { mean, deviation: variance };
}
