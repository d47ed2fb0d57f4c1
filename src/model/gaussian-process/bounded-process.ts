import type { Core, GaussianProcessHandle, KernelSpec } from "../../core/core.ts";
import { NumericalError } from "../../errors.ts";
import { malformed, type SnapshotReader, type SnapshotWriter } from "../../snapshot.ts";
import { FORGOTTEN } from "../delay/forgetting.ts";
import type { Domain } from "../domain.ts";
import type { JointPosterior, Moments } from "../posterior.ts";
import { INITIAL_ROWS } from "./gaussian-process.ts";
import { inducingPoints } from "./inducing-points.ts";

/** Below this many rows it costs more to merge the rows of a point than it saves. */
const UNMERGED_ROWS = 256;
/** How much of the capacity is in use after points were given up: the fuller, the less is lost, and the sooner it is full again. */
export const KEPT = 0.75;
/** What is new at a point waits until it is more than this share of what is in force there. */
const LAG = 0.125;

/** What was seen at some points, without their order: counts, sums and sums of squares of rewards, all weighted. */
export interface Evidence {
  /** n x d, row-major. */
  readonly points: Float64Array;
  readonly counts: Float64Array;
  readonly sums: Float64Array;
  readonly squares: Float64Array;
}

/** One point: what was seen there, and how much of it is in the rows. */
interface Site {
  readonly point: Float64Array;
  /** Its first row. */
  row: number;
  count: number;
  sum: number;
  squares: number;
  countInForce: number;
  sumInForce: number;
}

/**
 * Gaussian-process regression that runs for ever in bounded memory, in units of the noise: its variance is 1.
 *
 * What was seen at a point comes into force in groups: a row each, appended when the group is more than an eighth of what the
 * point has in force. A variance is then at most 9/8 of the exact one, and a point seen c times costs O(log c) rows. The rows of
 * a point are merged when there are twice as many rows as points. When `capacity` rows do not suffice, the points that explain
 * the most stay, and each other one's counts and sums move to the nearest of them.
 *
 * An impression weighs 1, or less where what is old is forgotten: its noise has the variance 1 / weight. The rows alone determine
 * the factor, to the bit, so that snapshots do without it.
 */
export class BoundedProcess implements JointPosterior {
  readonly domain: Domain | null;
  readonly #core: Core;
  readonly #handle: GaussianProcessHandle;
  readonly #capacity: number;
  #kernel: KernelSpec;
  #sites: Site[] = [];
  /** The site of each row. */
  #siteOf: Site[] = [];
  /** What it says of the domain, until something comes into force. */
  #overDomain: Moments | undefined;

  constructor(core: Core, kernel: KernelSpec, capacity: number, domain: Domain | null) {
    this.#core = core;
    this.#kernel = kernel;
    this.#capacity = capacity;
    this.domain = domain;
    this.#handle = core.gpCreate(kernel, 1, Math.min(capacity, INITIAL_ROWS));
    if (domain) core.gpWatch(this.#handle, domain.points);
  }

  /** Points kept. */
  get size(): number {
    return this.#sites.length;
  }

  get kernel(): KernelSpec {
    return this.#kernel;
  }

  /** **Cost:** O(n^3). */
  set kernel(kernel: KernelSpec) {
    this.#core.gpSetKernel(this.#handle, kernel);
    this.#overDomain = undefined;
    this.#kernel = kernel;
  }

  /** Counts an impression with this reward. **Cost:** O(n^2) if a row is due; now and then O(n^3). */
  add(point: Float64Array, reward: number, weight = 1): void {
    if (!Number.isFinite((this.#find(point)?.squares ?? 0) + reward * reward)) throw overflow();
    if (this.#siteOf.length >= this.#capacity) this.#makeRoom();
    const site = this.#find(point);
    if (site) this.#count(site, reward, weight);
    else if (weight >= FORGOTTEN) this.#open(point, reward, weight);
  }

  #count(site: Site, reward: number, weight: number): void {
    const next = { count: site.count + weight, sum: site.sum + weight * reward, squares: site.squares + weight * reward * reward };
    if (next.count - site.countInForce > LAG * site.countInForce) {
      this.#appendRow(site, next.count - site.countInForce, next.sum - site.sumInForce);
      site.countInForce = next.count;
      site.sumInForce = next.sum;
    }
    Object.assign(site, next);
    if (this.#siteOf.length >= UNMERGED_ROWS && this.#siteOf.length >= 2 * this.size) this.refactor();
  }

  /**
   * Replaces the reward `previous` of an impression that was added, and weighs so much by now, by `reward`: at a point that was
   * given up, at its nearest, unless it is forgotten.
   */
  replace(point: Float64Array, reward: number, previous: number, weight = 1): void {
    const forgotten = weight < FORGOTTEN || this.size === 0;
    const site = this.#find(point) ?? (forgotten ? undefined : this.#nearest(point));
    const squares = (site?.squares ?? 0) + weight * (reward * reward - previous * previous);
    if (!Number.isFinite(squares)) throw overflow();
    if (!site) return;
    const change = weight * (reward - previous);
    this.#core.gpReward(this.#handle, site.row, change, 0);
    this.#overDomain = undefined;
    site.sum += change;
    site.sumInForce += change;
    site.squares = squares;
  }

  /** Multiplies with `decay` what all that was seen weighs, and forgets points that weigh next to nothing. **Cost:** O(n^3). */
  discount(decay: number): void {
    const weighed = this.#sites.map((site) => {
      return { ...site, count: decay * site.count, sum: decay * site.sum, squares: decay * site.squares };
    });
    this.#rebuild(weighed.filter(({ count }) => count >= FORGOTTEN));
  }

  #find(point: Float64Array): Site | undefined {
    return this.#siteOf[this.#core.gpFind(this.#handle, point)];
  }

  #nearest(point: Float64Array): Site {
    return this.#sites[nearestTo(this.#core, this.#kernel, this.#points(), point)];
  }

  #open(point: Float64Array, reward: number, weight: number): void {
    const [sum, squares] = [weight * reward, weight * reward * reward];
    const site = { point: point.slice(), row: -1, count: weight, sum, squares, countInForce: weight, sumInForce: sum };
    this.#appendRow(site, weight, sum);
    this.#sites.push(site);
  }

  #appendRow(site: Site, count: number, sum: number): void {
    const row = this.#core.gpAppendGroup(this.#handle, site.point, count);
    this.#core.gpReward(this.#handle, row, sum, 0);
    this.#overDomain = undefined;
    if (site.row < 0) site.row = row;
    this.#siteOf.push(site);
  }

  #points(): Float64Array {
    const points = new Float64Array(this.size * this.#kernel.lengthscale.length);
    for (const [i, { point }] of this.#sites.entries()) points.set(point, i * point.length);
    return points;
  }

  #makeRoom(): void {
    if (this.size <= KEPT * this.#capacity) this.refactor();
    else this.#reduce();
  }

  #reduce(): void {
    const counts = this.#sites.map(({ count }) => count);
    const standIn = inducingPoints(this.#core, this.#kernel, this.#points(), counts, Math.floor(KEPT * this.#capacity));
    const kept = new Map(this.#sites.flatMap((site, i) => (standIn[i] === i ? [[i, { ...site }]] : [])));
    this.#sites.forEach((site, i) => {
      const into = kept.get(standIn[i]) as Site;
      if (standIn[i] === i) return;
      into.count += site.count;
      into.sum += site.sum;
      into.squares += site.squares;
    });
    this.#rebuild([...kept.values()]);
  }

  /** Merges the rows of each point, in order of first appearance, brings all into force and builds the factor. **Cost:** O(n^3). */
  refactor(): void {
    this.#rebuild(this.#sites.map((site) => ({ ...site })));
  }

  #rebuild(sites: Site[]): void {
    const before = this.#core.gpState(this.#handle);
    const rows = sites.map(({ point, count, sum }) => ({ point, count, sum }));
    try {
      this.#loadRows(rows);
    } catch (error) {
      this.#core.gpLoad(this.#handle, before);
      throw error;
    }
    for (const [row, site] of sites.entries()) Object.assign(site, { row, countInForce: site.count, sumInForce: site.sum });
    this.#sites = sites;
    this.#siteOf = [...sites];
  }

  #loadRows(rows: readonly { readonly point: Float64Array; readonly count: number; readonly sum: number }[]): void {
    const d = this.#kernel.lengthscale.length;
    const points = new Float64Array(rows.length * d);
    for (const [row, { point }] of rows.entries()) points.set(point, row * d);
    const counts = Float64Array.from(rows, ({ count }) => count);
    const sums = Float64Array.from(rows, ({ sum }) => sum);
    const factor = new Float64Array((rows.length * (rows.length + 1)) / 2);
    this.#overDomain = undefined;
    this.#core.gpLoad(this.#handle, { points, counts, sums, squares: 0, factor });
    this.#core.gpRefactor(this.#handle);
  }

  /** Mean and standard deviation, in units of the noise. **Cost:** O(k n^2); for the domain's own array of points O(k n) a new row. */
  moments(points: Float64Array): Moments {
    if (points === this.domain?.points) {
      this.#overDomain ??= this.#scoreDomain(this.domain.count);
      return this.#overDomain;
    }
    return momentsOf(this.#core.gpScore(this.#handle, points));
  }

  #scoreDomain(count: number): Moments {
    const scores = { mean: new Float64Array(count), variance: new Float64Array(count) };
    this.#core.gpScoreWatched(this.#handle, scores.mean, scores.variance);
    return momentsOf(scores);
  }

  /** The means alone: without a domain O(k n), which agrees with `moments` to rounding. */
  means(points: Float64Array): Float64Array {
    return this.domain ? this.moments(points).mean : this.#core.gpMean(this.#handle, points);
  }

  sample(points: Float64Array, normals: Float64Array, scale: number, samples: number): Moments & { readonly sample: Float64Array } {
    const { mean, variance, sample } = this.#core.gpSample(this.#handle, points, normals, scale, samples);
    return { mean, deviation: variance.map(Math.sqrt), sample };
  }

  /** All that was seen, or, of more than `limit` points, at so many of them, evenly spaced in order of first appearance. */
  evidence(limit: number): Evidence {
    const count = Math.min(limit, this.size);
    const chosen = Array.from({ length: count }, (_, i) => this.#sites[Math.floor((i * this.size) / count)]);
    const column = (of: (site: Site) => number): Float64Array => Float64Array.from(chosen, of);
    return {
      points: Float64Array.from(chosen.flatMap(({ point }) => [...point])),
      counts: column(({ count }) => count),
      sums: column(({ sum }) => sum),
      squares: column(({ squares }) => squares),
    };
  }

  save(writer: SnapshotWriter): void {
    const { counts, sums } = this.#core.gpState(this.#handle);
    const places = new Map(this.#sites.map((site, place) => [site, place]));
    const { points, ...seen } = this.evidence(this.size);
    writer.numbers(points);
    for (const column of [seen.counts, seen.sums, seen.squares]) writer.numbers(column);
    writer.numbers(this.#sites.flatMap(({ countInForce, sumInForce }) => [countInForce, sumInForce]));
    writer.numbers(this.#siteOf.map((site) => places.get(site) as number));
    writer.numbers(counts);
    writer.numbers(sums);
  }

  load(reader: SnapshotReader): void {
    const d = this.#kernel.lengthscale.length;
    const points = reader.numbers();
    const size = points.length / d;
    const [counts, sums, squares] = [0, 1, 2].map(() => reader.numbers(size));
    const inForce = reader.numbers(2 * size);
    const places = reader.numbers();
    const [rowCounts, rowSums] = [0, 1].map(() => reader.numbers(places.length));
    if (places.length > this.#capacity || !rowCounts.every((count) => count > 0)) throw malformed();
    const sites = Array.from(counts, (count, i): Site => {
      const [countInForce, sumInForce] = inForce.subarray(2 * i);
      return { row: -1, point: points.slice(i * d, (i + 1) * d), count, sum: sums[i], squares: squares[i], countInForce, sumInForce };
    });
    const siteOf = Array.from(places, (place) => sites[place]);
    if (siteOf.includes(undefined as never)) throw malformed();
    siteOf.forEach((site, row) => {
      if (site.row < 0) site.row = row;
    });
    if (sites.some(({ row, count, countInForce }) => row < 0 || !(count >= countInForce && countInForce > 0))) throw malformed();
    this.#loadRows(siteOf.map(({ point }, row) => ({ point, count: rowCounts[row], sum: rowSums[row] })));
    this.#sites = sites;
    this.#siteOf = siteOf;
  }

  /** The sums alone: for every point kept its coordinates, count and reward sum, points in lexicographic order. */
  statistics(): Float64Array {
    return Float64Array.from([...this.#sites].sort(byPoint).flatMap(({ point, count, sum }) => [...point, count, sum]));
  }
}

/** Which of the points (n x d, row-major) is nearest to a point: that of the greatest covariance, the first of equals. */
export function nearestTo(core: Core, kernel: KernelSpec, points: Float64Array, point: Float64Array): number {
  const covariance = core.kernelMatrix(kernel, points, point);
  return covariance.reduce((best, each, i) => (each > covariance[best] ? i : best), 0);
}

/** Compares two points by their coordinates, the first that differs. */
export function byPoint(a: { readonly point: Float64Array }, b: { readonly point: Float64Array }): number {
  const i = a.point.findIndex((coordinate, j) => coordinate !== b.point[j]);
  return i < 0 ? 0 : a.point[i] - b.point[i];
}

function momentsOf({ mean, variance }: { readonly mean: Float64Array; readonly variance: Float64Array }): Moments {
  return { mean, deviation: variance.map(Math.sqrt) };
}

function overflow(): NumericalError {
  return new NumericalError("not-finite", "a sum of squared rewards is too large for a floating-point number");
}
