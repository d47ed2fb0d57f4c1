// Gaussian-process regression with capacity and refits. Counts and sums are the truth; the core's factor follows from them.

import type { Core, KernelSpec } from "../../core/core.ts";
import { CoreProcess, type CoreRows, INITIAL_ROWS, type KnownMeans } from "../../core/core-process.ts";
import { counted, malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import { Domain } from "../domain.ts";
import { checkSums } from "../exact-sums.ts";
import type { AppendedPoint, Draws, JointPosterior, Moments, PathwisePosterior, Posterior } from "../posterior.ts";
import { type Contenders, Search } from "./contenders.ts";
import { DomainMoments, momentsOf } from "./domain-moments.ts";
import { DomainRows } from "./domain-rows.ts";
import type { ParsedGaussianProcess, RefitSettings } from "./gaussian-process-settings.ts";
import { kernelSpec } from "./kernel.ts";
import { LikelihoodSearch } from "./likelihood-search.ts";

/** Most impressions at a point of a snapshot: 2^51, so that more can be counted. */
const MOST_COUNT = 2251799813685248;

/** Greatest factor on the initial noise variance, and on its inverse, in a fit. */
const MOST_UNITS = 4096;

/** Impressions of a group that are counted one by one: 10 ms. */
const MOST_SINGLE = 65_536;

/** Hyper-parameters that a fit sets. */
interface FittedHyperparameters {
  readonly variance: number;
  readonly lengthscale: Float64Array;
  readonly noiseVariance?: number;
}

/**
 * Gaussian-process regression over unique points, each with a count of impressions and a sum of rewards.
 *
 * An impression adds to a count (or adds a row), a conversion to a sum. At capacity a new point is merged into the nearest kept
 * one, by distance in units of the initial lengthscales, so that learning goes on at bounded cost.
 * `DomainMoments` explains how the process is invalidated. `DomainRows` explains the rows of a fixed domain.
 * **Source:** Calandriello et al. 2022, eq. 3 with averages for sums; Verma et al. 2022, eq. 1.
 */
export class GaussianProcess implements Posterior, JointPosterior, PathwisePosterior {
  readonly dimension: number;
  readonly domain: Domain | null;
  /** The moments of the domain, null without one. */
  readonly overDomain: DomainMoments | null;
  readonly #core: Core;
  readonly #process: CoreProcess;
  readonly #rows: DomainRows | null;
  readonly #search: Search;
  readonly #capacity: number;
  readonly #refits: RefitSettings | null;
  readonly #likelihoods: LikelihoodSearch;
  readonly #initial: KernelSpec;
  readonly #initialNoise: number;
  #kernel: KernelSpec;
  #noiseVariance: number;
  /** The greatest prior deviation in the domain, and its kernel. */
  #prior: { readonly kernel: KernelSpec; readonly deviation: number } | undefined;
  #impressions = 0;

  constructor(core: Core, options: ParsedGaussianProcess) {
    this.dimension = options.dimension;
    this.#core = core;
    this.#capacity = options.capacity;
    this.#refits = options.refit;
    this.#initialNoise = options.noiseVariance;
    this.#noiseVariance = options.noiseVariance;
    this.#initial = kernelSpec(options.kernel, options.dimension);
    this.#kernel = this.#initial;
    this.#likelihoods = new LikelihoodSearch(core, options.noiseVariance, options.refit?.noise === true);
    this.#process = new CoreProcess(core, this.#kernel, options.noiseVariance, Math.min(options.capacity, INITIAL_ROWS));
    this.#search = new Search(this.#process);
    this.domain = options.domain && new Domain(options.domain);
    this.#rows = this.domain && new DomainRows(this.domain, this.#process);
    this.overDomain = this.domain && new DomainMoments(this.#process, this.domain);
  }

  /** Returns its memory to the core. No other method may be called afterwards. */
  release(): void {
    this.#process.release();
  }

  /** Unique points kept. */
  get size(): number {
    return this.#rows?.points ?? this.#process.size;
  }

  /** Pivots of the factor that rounding pushed below their exact lower bound, and that were lifted to it. */
  get clamped(): number {
    return this.#process.clamped;
  }

  /** The present lengthscales and variance, after refits. */
  get kernel(): { readonly lengthscale: Float64Array; readonly variance: number } {
    return this.#kernel;
  }

  /** The present kernel and noise variance, to be adopted by another process. */
  get hyperparameters(): Required<FittedHyperparameters> {
    const { variance, lengthscale } = this.#kernel;
    return { variance, lengthscale, noiseVariance: this.#noiseVariance };
  }

  /** The greatest deviation in the domain before any impression. **Cost:** O(k d), once for each kernel. */
  get priorDeviation(): number {
    if (this.#prior?.kernel !== this.#kernel) this.#prior = { kernel: this.#kernel, deviation: this.#greatestDeviation() };
    return this.#prior.deviation;
  }

  #greatestDeviation(): number {
    const domain = this.domain as Domain;
    let variance = 0;
    for (let place = 0; place < domain.count; place++) {
      variance = Math.max(variance, this.#core.kernelMatrix(this.#kernel, domain.at(place), domain.at(place))[0]);
    }
    return Math.sqrt(variance);
  }

  /**
   * Counts `count` impressions at one point and returns their slot: the row, or the place in the domain.
   * **Cost:** O(n^2) for a new row, O((n - row)^2) for each impression at an old row.
   * @throws {RangeError} for a point outside the domain.
   */
  append(features: Float64Array, count = 1): number {
    const slot = this.#rows ? this.#appendInDomain(this.#rows, features) : this.#appendAnywhere(features);
    for (let repeated = 1; repeated < count; repeated++) this.#process.replicate(this.#rowOf(slot));
    this.#likelihoods.count(slot, count);
    return slot;
  }

  /**
   * Counts `count` impressions at a new point of a process without a domain. All but the last `MOST_SINGLE` count at once, because the
   * count may come from a snapshot.
   */
  appendGroup(features: Float64Array, count: number): number {
    const single = Math.min(count, MOST_SINGLE);
    const slot = this.#process.append(features, 1 + count - single);
    for (let repeated = 1; repeated < single; repeated++) this.#process.replicate(slot);
    this.#likelihoods.count(slot, count);
    return slot;
  }

  #appendAnywhere(features: Float64Array): number {
    const known = this.#process.rowOf(features);
    const row = known < 0 && this.size >= this.#capacity ? this.locate(features) : known;
    if (row < 0) return this.#process.append(features);
    this.#process.replicate(row);
    return row;
  }

  #appendInDomain(rows: DomainRows, features: Float64Array): number {
    const place = this.locate(features);
    const newest = this.#process.size - 1;
    if (newest >= 0 && rows.rowOf(place) === newest) {
      this.#process.replicate(newest);
      return place;
    }
    if (rows.crowded) this.#merge(rows);
    rows.append(place, features);
    return place;
  }

  /** The impressions and rewards, in views that hold until the next change. A point of a domain may have several rows. */
  get rows(): CoreRows {
    return this.#process.state();
  }

  /** Replaces all impressions and rewards. **Cost:** O(n^3). */
  replace(rows: CoreRows): void {
    this.#process.replace(rows);
    this.#rows?.reindex();
    this.#likelihoods.reset(rows.counts.reduce((sum, count) => sum + count, 0));
  }

  /** The slot of a point: its own, or the nearest one if the point was merged or forgotten. -1 if there is no point. */
  locate(features: Float64Array): number {
    if (this.domain) return this.domain.indexOf(features);
    const row = this.#process.rowOf(features);
    return row < 0 ? this.#process.nearest(features, this.#initial.lengthscale) : row;
  }

  nearest(features: Float64Array): Float64Array | undefined {
    const start = this.#process.nearest(features, this.#initial.lengthscale) * this.dimension;
    return start < 0 ? undefined : this.#process.state().points.slice(start, start + this.dimension);
  }

  /** The rows after the point move up. A point of the domain stays. **Cost:** O(n^3). */
  forget(features: Float64Array): boolean {
    const row = this.domain ? -1 : this.#process.rowOf(features);
    if (row < 0) return false;
    const { points, counts, sums, squares } = this.#process.state();
    const [d, count, sum] = [this.dimension, counts[row], sums[row]];
    const rest = {
      points: points.filter((_, i) => Math.floor(i / d) !== row),
      counts: counts.filter((_, i) => i !== row),
      sums: sums.filter((_, i) => i !== row),
      squares: this.size > 1 ? squares : 0,
    };
    this.#process.replace(rest);
    const into = this.locate(features);
    if (into >= 0) {
      rest.counts[into] += count;
      rest.sums[into] += sum;
      this.#process.replace(rest);
    }
    this.#likelihoods.reset();
    return true;
  }

  #rowOf(slot: number): number {
    return this.#rows ? this.#rows.rowOf(slot) : slot;
  }

  /** Merging changes a likelihood by rounding, so the search forgets its bounds. */
  #merge(rows: DomainRows): void {
    this.#likelihoods.reset();
    rows.merge();
  }

  /** Merges the rows of each point, and rebuilds the factor in order of first appearance. **Cost:** O(n^3). */
  refactor(): void {
    if (this.#rows) this.#merge(this.#rows);
    else this.#process.refactor();
  }

  /**
   * Replaces the reward `previous` of an impression by `reward`. Without a domain its features decide where, because `forget` moves
   * rows. If there is no point, nothing changes. **Cost:** O(n d), in a domain O(1), and O(n^2) at the next mean.
   */
  reward({ features, slot }: AppendedPoint, reward: number, previous: number): void {
    const at = this.domain ? slot : this.locate(features);
    if (!this.domain && this.size === 0) return;
    this.#process.reward(this.#rowOf(at), reward - previous, reward * reward - previous * previous);
    this.#likelihoods.change(at, previous);
  }

  /**
   * Mean and standard deviation, without noise. The moments of the domain hold until the next change.
   * **Cost:** O(k n^2). For the domain's own array of points O(k n) for a new row, and then nothing until the next change.
   */
  moments(points: Float64Array): Moments {
    if (this.overDomain && points === this.domain?.points) return this.overDomain.all();
    return this.overDomain?.lookUp(points) ?? momentsOf(this.#process.score(points));
  }

  /** See `Contending`. `known`: means to rank by, instead of its own. */
  contenders(points: Float64Array, limit: number, multiplier: number, known?: KnownMeans): Contenders | undefined {
    return this.domain ? undefined : this.#search.contenders(points, limit, multiplier, known);
  }

  /** The means of `moments`, nearly. */
  nearMeans(points: Float64Array): KnownMeans {
    return { mean: this.#process.mean(points), error: this.#process.meanError };
  }

  deviation(features: Float64Array): number {
    return this.moments(features).deviation[0];
  }

  /** Joint posterior covariance at `points` (k x d), without noise: k x k, row-major. */
  covariance(points: Float64Array): Float64Array {
    return this.#process.covariance(points).covariance;
  }

  /**
   * Draws the function at `points` (k x d) jointly: mean + scale L z with L L^T the posterior covariance, z = `normals` (k).
   *
   * More than one sample come in opposite pairs, mean + scale L z and mean - scale L z, for each row z of `normals`
   * (half as many x k): `sample` is samples x k. **Cost:** O(k n^2 + k^2 n + k^3 + samples k^2).
   */
  sample(points: Float64Array, normals: Float64Array, scale: number, samples = 1): Draws {
    const { mean, variance, sample } = this.#process.sample(points, normals, scale, samples);
    return { ...momentsOf({ mean, variance }), sample };
  }

  /**
   * Draws from the distribution of `sample` at the points of the domain. Each draw starts from a draw of the prior, whose factor is
   * kept, so that the posterior covariance needs no factor. `normals`: half as many rows as samples, of 2 k numbers.
   * **Cost:** O(samples (k^2 + k n)), and O(k^3) once for each kernel.
   */
  samplePathwise(normals: Float64Array, scale: number, samples: number): Draws {
    const { points } = this.domain as Domain;
    const places = (this.#rows as DomainRows).places();
    const { mean, variance, sample } = this.#process.sampleWatched(points, places, normals, scale, samples);
    return { ...momentsOf({ mean, variance }), sample };
  }

  /** Log marginal likelihood of every single reward. A pending impression counts as a reward of 0. */
  logMarginalLikelihood(): number {
    return this.#process.logMarginalLikelihood;
  }

  /** 1/2 log det(I + K / noiseVariance) over every single impression, in nats. */
  informationGain(): number {
    return this.#process.informationGain;
  }

  /**
   * Counts an impression for the refit schedule, whether or not it was appended here. Refits when due, and returns whether it did.
   * `refit`: what to do then, default the refit of this process.
   */
  elapse(refit: () => void = () => this.refit()): boolean {
    this.#impressions++;
    const { every, until = Number.MAX_SAFE_INTEGER } = this.#refits ?? { every: 0 };
    const due = every > 0 && this.#impressions % every === 0 && this.#impressions <= until;
    if (due) refit();
    return due;
  }

  /**
   * Sets the variance and the lengthscales (which keep their ratios) to a maximum of the log marginal likelihood, by a compass
   * search on their logarithms within a factor of 64 of the initial values. With `refit.noise` also the noise variance: the search is
   * then on the ratio of the variance to the noise, within a factor of 4096.
   *
   * Deterministic. **Cost:** about 40 factors of O(n^3) / 3; half of that if rewards were only added since the last refit.
   */
  refit(): void {
    const { lengthscale, variance } = this.#initial;
    const noise = this.#initialNoise;
    const unit = noise / this.#noiseVariance;
    const start = [this.#kernel.lengthscale[0] / lengthscale[0], (unit * this.#kernel.variance) / variance];
    const setKernel = (scale: number, factor: number, units = 1): void =>
      this.adopt({
        variance: variance * factor * units,
        lengthscale: lengthscale.map((value) => value * scale),
        noiseVariance: noise * units,
      });
    // Bounds from earlier searches hold for a fixed noise.
    if (this.#refits?.noise) this.#likelihoods.reset();
    const [scale, factor] = this.#likelihoods.maximum(start, (scale, factor) => {
      setKernel(scale, factor);
      return this.#refits?.noise ? this.#overNoise().likelihood : this.logMarginalLikelihood();
    });
    setKernel(scale, factor);
    if (this.#refits?.noise) setKernel(scale, factor, this.#overNoise().units);
  }

  /**
   * The factor on variance and noise together that maximises the log marginal likelihood, and the likelihood there. The rewards are
   * normal with covariance `units` times the present one, so it is the mean of the n squares of whitened rewards.
   */
  #overNoise(): { readonly units: number; readonly likelihood: number } {
    const n = this.#likelihoods.rewards;
    const likelihood = this.logMarginalLikelihood();
    if (n === 0) return { units: 1, likelihood };
    const quadratic = -2 * (likelihood + this.informationGain()) - n * this.#core.log(2 * Math.PI * this.#noiseVariance);
    const units = Math.min(Math.max(quadratic / n, 1 / MOST_UNITS), MOST_UNITS);
    return { units, likelihood: likelihood + quadratic / 2 - quadratic / (2 * units) - (n / 2) * this.#core.log(units) };
  }

  /** Takes over the hyper-parameters of another process. **Cost:** O(n^3). */
  adopt({ variance, lengthscale, noiseVariance = this.#noiseVariance }: FittedHyperparameters): void {
    const kernel = { ...this.#initial, variance, lengthscale };
    this.#process.setKernel(kernel, noiseVariance);
    this.#kernel = kernel;
    this.#noiseVariance = noiseVariance;
  }

  save(writer: SnapshotWriter): void {
    const { points, counts, sums, squares, factor } = this.#process.state();
    writer.numbers([this.#kernel.variance, squares, this.#impressions], this.#kernel.lengthscale, counts, sums, points, factor);
    if (this.#refits?.noise) writer.numbers([this.#noiseVariance]);
  }

  load(reader: SnapshotReader): void {
    const [variance, squares, impressions] = reader.numbers(3);
    counted("impressions", impressions);
    const lengthscale = reader.numbers(this.dimension);
    const counts = reader.numbers();
    const n = counts.length;
    if ((!this.domain && n > this.#capacity) || !(variance > 0) || !lengthscale.every((value) => value > 0)) throw malformed();
    for (const count of counts) counted("count", count, MOST_COUNT, 1);
    const sums = reader.numbers(n);
    checkSums(Float64Array.of(squares, ...sums));
    const points = reader.view(n * this.dimension);
    const factor = reader.view((n * (n + 1)) / 2);
    checkSums(factor);
    for (let row = 0; row < n; row++) if (!(factor[(row * (row + 3)) / 2] > 0)) throw malformed();
    const [noiseVariance] = this.#refits?.noise ? reader.numbers(1) : [this.#initialNoise];
    if (!(noiseVariance > 0)) throw malformed();
    this.adopt({ variance, lengthscale, noiseVariance });
    this.#process.load({ points, counts, sums, squares, factor });
    this.#impressions = impressions;
    this.#likelihoods.reset(counts.reduce((sum, count) => sum + count, 0));
    this.#rows?.reindex();
  }

  /** The sums alone: for every unique point its coordinates, count and reward sum, points in lexicographic order. */
  statistics(): Float64Array {
    const { points, counts, sums } = this.#process.state();
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
