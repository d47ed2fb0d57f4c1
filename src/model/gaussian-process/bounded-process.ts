// A Gaussian process whose rows stay below a capacity, however long it runs.

import type { Core, KernelSpec } from "../../core/core.ts";
import { CoreProcess, INITIAL_ROWS, type KnownMeans } from "../../core/core-process.ts";
import { NumericalError } from "../../values/errors.ts";
import { malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import { FORGOTTEN } from "../delay/forgetting.ts";
import type { Domain } from "../domain.ts";
import { checkSums } from "../exact-sums.ts";
import type { Draws, JointPosterior, Moments } from "../posterior.ts";
import { type Contenders, Search } from "./contenders.ts";
import { DomainMoments, momentsOf } from "./domain-moments.ts";
import { UNMERGED_ROWS } from "./domain-rows.ts";
import { inducingPoints } from "./inducing-points.ts";

/** Share of the capacity that stays in use when points are merged. A greater share loses less, but is full again sooner. */
export const KEPT = 0.75;
/** New impressions at a point wait until they are more than this share of the impressions in its rows. */
const LAG = 0.125;

/** Impressions at some points, without their order: counts, sums and sums of squares of rewards, all weighted. */
export interface Evidence {
  /** n x d, row-major. */
  readonly points: Float64Array;
  readonly counts: Float64Array;
  readonly sums: Float64Array;
  readonly squares: Float64Array;
}

/** One point, with its impressions and rewards. */
interface Site {
  readonly point: Float64Array;
  /** The first row of the point. */
  row: number;
  count: number;
  sum: number;
  squares: number;
  /** The part of `count` and `sum` that is in the rows. */
  countInForce: number;
  sumInForce: number;
}

/**
 * Gaussian-process regression in bounded memory, however long it runs. Units of the noise: the noise variance is 1.
 *
 * Impressions at a point come into force in groups. A group gets a row when it is more than an eighth of the impressions in the
 * point's rows. A variance is then at most 9/8 of the exact one, and a point with c impressions costs O(log c) rows. The rows of
 * a point are merged when there are twice as many rows as points. When `capacity` rows do not suffice, the most informative points
 * stay, and the counts and sums of each other point move to the nearest of them.
 *
 * An impression has the weight 1, or less with forgetting: its noise variance is 1 / weight. The rows alone determine the factor,
 * to the bit, so a snapshot does not contain it.
 */
export class BoundedProcess implements JointPosterior {
  readonly domain: Domain | null;
  readonly #core: Core;
  readonly #process: CoreProcess;
  readonly #search: Search;
  readonly #overDomain: DomainMoments | null;
  readonly #capacity: number;
  #kernel: KernelSpec;
  #sites: Site[] = [];
  /** The site of each row. */
  #siteOf: Site[] = [];

  constructor(core: Core, kernel: KernelSpec, capacity: number, domain: Domain | null) {
    this.#core = core;
    this.#kernel = kernel;
    this.#capacity = capacity;
    this.domain = domain;
    this.#process = new CoreProcess(core, kernel, 1, Math.min(capacity, INITIAL_ROWS));
    this.#search = new Search(this.#process);
    this.#overDomain = domain && new DomainMoments(this.#process, domain);
  }

  /** Grows with every change of the posterior. */
  get version(): number {
    return this.#process.version;
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
    this.#process.setKernel(kernel);
    this.#kernel = kernel;
  }

  /** Counts an impression with this reward. **Cost:** O(n^2) if a row is due, and O(n^3) for a merge. */
  append(point: Float64Array, reward: number, weight = 1): void {
    if (!Number.isFinite((this.#siteAt(point)?.squares ?? 0) + reward * reward)) throw overflow();
    if (this.#siteOf.length >= this.#capacity) this.#makeRoom();
    const site = this.#siteAt(point);
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
   * Replaces the reward `previous` of an impression by `reward`. `weight` is its present weight. If its point was merged, the
   * nearest point takes the change, unless the impression is forgotten.
   */
  replace(point: Float64Array, reward: number, previous: number, weight = 1): void {
    const forgotten = weight < FORGOTTEN || this.size === 0;
    const site = this.#siteAt(point) ?? (forgotten ? undefined : this.#nearest(point));
    const squares = (site?.squares ?? 0) + weight * (reward * reward - previous * previous);
    if (!Number.isFinite(squares)) throw overflow();
    if (!site) return;
    const change = weight * (reward - previous);
    this.#process.reward(site.row, change, 0);
    site.sum += change;
    site.sumInForce += change;
    site.squares = squares;
  }

  /** Multiplies all weights by `decay`, and drops points with less weight than `FORGOTTEN`. **Cost:** O(n^3). */
  discount(decay: number): void {
    const weighed = this.#sites.map((site) => {
      return { ...site, count: decay * site.count, sum: decay * site.sum, squares: decay * site.squares };
    });
    this.#rebuild(weighed.filter(({ count }) => count >= FORGOTTEN));
  }

  #siteAt(point: Float64Array): Site | undefined {
    return this.#siteOf[this.#process.rowOf(point)];
  }

  #nearest(point: Float64Array, sites = this.#sites): Site {
    return sites[nearestTo(this.#core, this.#kernel, pointsOf(sites, this.#kernel), point)];
  }

  /** The kept point nearest to another one. Undefined if there is none. */
  nearest(point: Float64Array): Float64Array | undefined {
    return this.size > 0 ? this.#nearest(point).point : undefined;
  }

  /** Removes a point, and merges it into the nearest other one. Returns whether it was kept. **Cost:** O(n^3). */
  forget(point: Float64Array): boolean {
    const forgotten = this.#siteAt(point);
    if (!forgotten) return false;
    const others = this.#sites.filter((site) => site !== forgotten).map((site) => ({ ...site }));
    if (others.length > 0) merge(this.#nearest(point, others), forgotten);
    this.#rebuild(others);
    return true;
  }

  #open(point: Float64Array, reward: number, weight: number): void {
    const [sum, squares] = [weight * reward, weight * reward * reward];
    const site = { point: point.slice(), row: -1, count: weight, sum, squares, countInForce: weight, sumInForce: sum };
    this.#appendRow(site, weight, sum);
    this.#sites.push(site);
  }

  #appendRow(site: Site, count: number, sum: number): void {
    const row = this.#process.append(site.point, count);
    this.#process.reward(row, sum, 0);
    if (site.row < 0) site.row = row;
    this.#siteOf.push(site);
  }

  #makeRoom(): void {
    if (this.size <= KEPT * this.#capacity) this.refactor();
    else this.#reduce();
  }

  #reduce(): void {
    const counts = this.#sites.map(({ count }) => count);
    const points = pointsOf(this.#sites, this.#kernel);
    const standIn = inducingPoints(this.#core, this.#kernel, points, counts, Math.floor(KEPT * this.#capacity));
    const kept = new Map(this.#sites.flatMap((site, i) => (standIn[i] === i ? [[i, { ...site }]] : [])));
    this.#sites.forEach((site, i) => {
      const into = kept.get(standIn[i]) as Site;
      if (standIn[i] !== i) merge(into, site);
    });
    this.#rebuild([...kept.values()]);
  }

  /** Merges the rows of each point, in order of first appearance, with all impressions in force. **Cost:** O(n^3). */
  refactor(): void {
    this.#rebuild(this.#sites.map((site) => ({ ...site })));
  }

  #rebuild(sites: Site[]): void {
    this.#replaceRows(sites);
    for (const [row, site] of sites.entries()) Object.assign(site, { row, countInForce: site.count, sumInForce: site.sum });
    this.#sites = sites;
    this.#siteOf = [...sites];
  }

  #replaceRows(rows: readonly Pick<Site, "point" | "count" | "sum">[]): void {
    const counts = Float64Array.from(rows, ({ count }) => count);
    const sums = Float64Array.from(rows, ({ sum }) => sum);
    this.#process.replace({ points: pointsOf(rows, this.#kernel), counts, sums, squares: 0 });
  }

  /** Mean and standard deviation, in units of the noise. **Cost:** as `GaussianProcess.moments`. */
  moments(points: Float64Array): Moments {
    if (this.#overDomain && points === this.domain?.points) return this.#overDomain.all();
    return momentsOf(this.#process.score(points));
  }

  /** See `Contending`. Without a domain. */
  contenders(points: Float64Array, limit: number, multiplier: number, known: KnownMeans): Contenders | undefined {
    return this.#search.contenders(points, limit, multiplier, known);
  }

  /** The means alone. **Cost:** without a domain O(k n), equal to the means of `moments` up to rounding. */
  means(points: Float64Array): Float64Array {
    return this.domain ? this.moments(points).mean : this.#process.mean(points);
  }

  sample(points: Float64Array, normals: Float64Array, scale: number, samples: number): Draws {
    const { mean, variance, sample } = this.#process.sample(points, normals, scale, samples);
    return { ...momentsOf({ mean, variance }), sample };
  }

  /** The impressions at all points. With more than `limit` points: at that many, evenly spaced in order of first appearance. */
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
    const { counts, sums } = this.#process.state();
    const places = new Map(this.#sites.map((site, place) => [site, place]));
    const { points, ...seen } = this.evidence(this.size);
    const inForce = this.#sites.flatMap(({ countInForce, sumInForce }) => [countInForce, sumInForce]);
    const siteOf = this.#siteOf.map((site) => places.get(site) as number);
    writer.numbers(points, seen.counts, seen.sums, seen.squares, inForce, siteOf, counts, sums);
  }

  load(reader: SnapshotReader): void {
    const d = this.#kernel.lengthscale.length;
    const points = reader.numbers();
    const size = points.length / d;
    const [counts, sums, squares] = [0, 1, 2].map(() => reader.numbers(size));
    for (const each of [counts, sums, squares]) checkSums(each);
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
    this.#replaceRows(siteOf.map(({ point }, row) => ({ point, count: rowCounts[row], sum: rowSums[row] })));
    this.#sites = sites;
    this.#siteOf = siteOf;
  }

  /** The sums alone: for every point kept its coordinates, count and reward sum, points in lexicographic order. */
  statistics(): Float64Array {
    return Float64Array.from([...this.#sites].sort(byPoint).flatMap(({ point, count, sum }) => [...point, count, sum]));
  }
}

/** Adds the impressions of a site to those of another. */
function merge(into: Site, { count, sum, squares }: Site): void {
  into.count += count;
  into.sum += sum;
  into.squares += squares;
}

interface AtPoint {
  readonly point: Float64Array;
}

/** The points of n sites: n x d, row-major. */
export function pointsOf(sites: readonly AtPoint[], { lengthscale }: KernelSpec): Float64Array {
  const points = new Float64Array(sites.length * lengthscale.length);
  for (const [i, { point }] of sites.entries()) points.set(point, i * point.length);
  return points;
}

/** The index of the nearest of n points (n x d, row-major): the one of greatest covariance, the first among equals. */
export function nearestTo(core: Core, kernel: KernelSpec, points: Float64Array, point: Float64Array): number {
  const covariance = core.kernelMatrix(kernel, points, point);
  return covariance.reduce((best, each, i) => (each > covariance[best] ? i : best), 0);
}

/** Lexicographic order of points. */
export function byPoint(a: AtPoint, b: AtPoint): number {
  const i = a.point.findIndex((coordinate, j) => coordinate !== b.point[j]);
  return i < 0 ? 0 : a.point[i] - b.point[i];
}

function overflow(): NumericalError {
  return new NumericalError("not-finite", "a sum of squared rewards is too large for a floating-point number");
}
