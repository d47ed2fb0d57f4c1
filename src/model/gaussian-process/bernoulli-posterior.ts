// A Gaussian process behind a logistic, for rewards that come late or never.

import type { Core, KernelSpec } from "../../core/core.ts";
import { CoreProcess, INITIAL_ROWS } from "../../core/core-process.ts";
import { finiteNumber } from "../../values/argument.ts";
import { counted, malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import { FORGOTTEN, Forgetting } from "../delay/forgetting.ts";
import { UnmaturedSums } from "../delay/unmatured-sums.ts";
import type { Moment, Window } from "../delay/window.ts";
import { Domain } from "../domain.ts";
import { logistic } from "../linear/logistic.ts";
import type { AppendedImpression, Draws, JointPosterior, Moments, ReportedDelay } from "../posterior.ts";
import { byPoint, KEPT, nearestTo, pointsOf } from "./bounded-process.ts";
import { medianKernel, type ParsedDelayAware } from "./delay-aware-settings.ts";
import { mostProbable } from "./hyperparameters.ts";
import { inducingPoints } from "./inducing-points.ts";
import { kernelSpec } from "./kernel.ts";
import { information, laplaceEvidence, laplaceMode, type Trials } from "./laplace.ts";

/** The approximation is renewed after this many impressions and conversions per point: O(n^3) each time, O(n^2) on average. */
const LAG = 1 / 16;
/** Conversions before the first fit of the hyper-parameters. Each further fit comes when they have doubled. */
const FIRST_FIT = 8;
/** Most points that a fit uses. */
const FITTED_POINTS = 128;

/** One point, with its impressions and the sum of their rewards, both weighted. */
interface Site {
  readonly point: Float64Array;
  count: number;
  successes: number;
}

/** A reward as a share of a success. The rewards of several goals together count as at least 0 and at most 1. */
const success = (reward: number): number => Math.min(Math.max(reward, 0), 1);

/**
 * A posterior for rewards between 0 and 1: an impression of age s has converted with probability F(s) times the logistic of a
 * Gaussian process.
 *
 * F is the distribution of delays, estimated from all conversions so far, without forgetting. An impression counts as F(s) trials
 * for the mean and as one trial for the variance. Mean and variance each come from a Laplace approximation with one row per point,
 * in a process of its own. The approximation is renewed after every few impressions and conversions, so it is at most LAG times the
 * number of points behind. At capacity the most informative points stay, and the trials of the others move to the nearest of them.
 * **Source:** Rasmussen and Williams 2006, section 3.4, for the approximation and its hyper-parameters.
 */
export class BernoulliPosterior implements JointPosterior {
  readonly domain: Domain | null;
  readonly #core: Core;
  readonly #median: KernelSpec;
  readonly #context: number;
  readonly #capacity: number;
  /** The processes of the mean and of the variance. The rows of both are the sites, in the same order. */
  readonly #matured: CoreProcess;
  readonly #all: CoreProcess;
  readonly #unmatured: UnmaturedSums;
  readonly #forgetting: Forgetting | null;
  readonly #halfLife: number;
  #kernel: KernelSpec;
  #sites: Site[] = [];
  /** Impressions and conversions since the last approximation. */
  #waiting = 0;
  #impressions = 0;
  #conversions = 0;
  #nextFit = FIRST_FIT;
  /** The prediction for the domain, and the sum of the two processes' versions at that time. */
  #overDomain: { readonly version: number; readonly moments: Moments } | undefined;

  constructor(core: Core, settings: ParsedDelayAware, window: Window) {
    this.#core = core;
    this.#context = settings.contextDimension;
    this.#capacity = settings.capacity;
    this.#median = kernelSpec(medianKernel(settings), settings.dimension);
    this.#kernel = this.#median;
    this.domain = settings.domain && new Domain(settings.domain);
    const rows = Math.min(settings.capacity, INITIAL_ROWS);
    this.#matured = new CoreProcess(core, this.#median, 1, rows);
    this.#all = new CoreProcess(core, this.#median, 1, rows);
    this.#unmatured = new UnmaturedSums(window, settings.capacity);
    this.#forgetting = settings.forgetting && new Forgetting(core, settings.forgetting);
    this.#halfLife = settings.forgetting?.halfLife ?? Number.MAX_VALUE;
  }

  append(features: Float64Array, moment: Moment): number {
    const number = this.#impressions;
    if (this.#forgetting?.opens(number)) this.#discount(this.#forgetting.decay);
    const row = this.#all.rowOf(features);
    const place = row < 0 ? this.#open(features) : row;
    this.#impressions++;
    this.#sites[place].count++;
    const cohort = this.#unmatured.append(moment);
    if (cohort) cohort.sums.values[place]++;
    if (this.#conversions >= this.#nextFit) this.#fit();
    this.#approximateIfDue();
    return number;
  }

  observe(impression: AppendedImpression, reward: number, previous: number | undefined, delay?: ReportedDelay): void {
    const weight = this.#forgetting?.weight(impression.slot, this.#impressions - 1) ?? 1;
    const site = this.#siteOf(impression.features, weight);
    if (site) site.successes += weight * (success(reward) - success(previous ?? 0));
    this.#unmatured.observe(impression, previous, delay);
    if (previous === undefined) this.#conversions++;
    this.#approximateIfDue();
  }

  #approximateIfDue(): void {
    this.#waiting++;
    if (this.#waiting >= LAG * this.#sites.length) this.#approximate(this.#modes());
  }

  /** The site of an impression: its own point, or after a merge the nearest one. A forgotten impression has none. */
  #siteOf(point: Float64Array, weight: number): Site | undefined {
    const row = this.#all.rowOf(point);
    if (row >= 0) return this.#sites[row];
    if (weight < FORGOTTEN) return undefined;
    return this.#sites[nearestTo(this.#core, this.#kernel, this.#points(), point)];
  }

  /** Moves the trials of a point to the nearest other one, or drops them if there is none. **Cost:** O(n^3). */
  forget(point: Float64Array): boolean {
    const row = this.#all.rowOf(point);
    if (row < 0) return false;
    const others = this.#sites.filter((_, place) => place !== row);
    const nearest = others[nearestTo(this.#core, this.#kernel, pointsOf(others, this.#kernel), point)];
    const standIn = this.#sites.map((_, place) => (place === row ? this.#sites.indexOf(nearest) : place));
    this.#move(standIn, 1);
    return true;
  }

  /** Opens a site with no trials. Its mode is the mean given the other sites. */
  #open(point: Float64Array): number {
    if (this.#sites.length >= this.#capacity) this.#reduce();
    const [mode] = this.#matured.mean(point);
    const rate = logistic(this.#core, mode);
    this.#all.append(point, information(1, rate));
    const row = this.#matured.append(point, information(0, rate));
    this.#matured.reward(row, information(0, rate) * mode, 0);
    this.#sites.push({ point: point.slice(), count: 0, successes: 0 });
    return row;
  }

  #points(): Float64Array {
    return pointsOf(this.#sites, this.#kernel);
  }

  #modes(): Float64Array {
    return this.#matured.mean(this.#points());
  }

  #reduce(): void {
    const counts = this.#all.state().counts.slice();
    const standIn = inducingPoints(this.#core, this.#kernel, this.#points(), counts, Math.floor(KEPT * this.#capacity));
    this.#move(standIn, 1);
  }

  /** Multiplies all weights by `decay`, and drops points with less weight than `FORGOTTEN`. */
  #discount(decay: number): void {
    const standIn = this.#sites.map(({ count }, i) => (decay * count < FORGOTTEN ? -1 : i));
    this.#unmatured.decayed(decay);
    this.#move(standIn, decay);
  }

  /** Moves the trials of site i, multiplied by `factor`, to site `standIn[i]`, and drops them if that is -1. */
  #move(standIn: ArrayLike<number>, factor: number): void {
    const modes = this.#modes();
    const kept = this.#sites.flatMap((_, i) => (standIn[i] === i ? [i] : []));
    const placeOf = new Map(kept.map((i, place) => [i, place]));
    const sites = kept.map((i) => ({ ...this.#sites[i], count: 0, successes: 0 }));
    const to = Array.from(standIn, (i) => placeOf.get(i) ?? -1);
    for (const [i, { count, successes }] of this.#sites.entries()) {
      if (to[i] < 0) continue;
      sites[to[i]].count += factor * count;
      sites[to[i]].successes += factor * successes;
    }
    for (const sums of this.#unmatured.parts) {
      const before = sums.slice();
      sums.fill(0);
      for (const [i, place] of to.entries()) if (place >= 0) sums[place] += factor * before[i];
    }
    this.#sites = sites;
    this.#approximate(Float64Array.from(kept, (i) => modes[i]));
  }

  /** The trials of the mean: matured impressions only, but never fewer than successes. */
  #trials(): Trials {
    const missing = this.#unmatured.missing();
    const successes = Float64Array.from(this.#sites, (site) => Math.max(site.successes, 0));
    const trials = Float64Array.from(this.#sites, ({ count }, i) => Math.max(count - missing[i], successes[i]));
    return { points: this.#points(), trials, successes };
  }

  /** Renews the approximation. `start`: values of the latent function at the sites. */
  #approximate(start: Float64Array): void {
    const trials = this.#trials();
    const mode = laplaceMode(this.#core, this.#matured, trials, start);
    const counts = Float64Array.from(this.#sites, ({ count }, i) => information(count, logistic(this.#core, mode[i])));
    this.#all.replace({ points: trials.points, counts, sums: new Float64Array(counts.length), squares: 0 });
    this.#waiting = 0;
  }

  #fit(): void {
    this.#nextFit = this.#conversions + Math.min(this.#conversions, this.#halfLife);
    const all = this.#trials();
    const count = Math.min(FITTED_POINTS, this.#sites.length);
    const chosen = Array.from({ length: count }, (_, i) => Math.floor((i * this.#sites.length) / count));
    const seen: Trials = {
      points: Float64Array.from(chosen.flatMap((i) => [...this.#sites[i].point])),
      trials: Float64Array.from(chosen, (i) => all.trials[i]),
      successes: Float64Array.from(chosen, (i) => all.successes[i]),
    };
    const modes = this.#modes();
    let mode: Float64Array = Float64Array.from(chosen, (i) => modes[i]);
    const process = new CoreProcess(this.#core, this.#median, 1, count);
    try {
      const kernel = mostProbable(this.#core, this.#median, this.#context, (kernel) => {
        process.setKernel(kernel);
        mode = laplaceMode(this.#core, process, seen, mode);
        return laplaceEvidence(this.#core, process, seen, mode);
      });
      this.#adopt(kernel);
    } finally {
      process.release();
    }
    this.#approximate(modes);
  }

  #adopt(kernel: KernelSpec): void {
    this.#matured.setKernel(kernel);
    this.#all.setKernel(kernel);
    this.#kernel = kernel;
  }

  /** The mean of the rate under the latent distribution (MacKay 1992), and half its change over two latent deviations. */
  #ofRate(latent: Float64Array, deviation: Float64Array): Moments {
    const core = this.#core;
    const mean = latent.map((f, i) => logistic(core, f / Math.sqrt(1 + (Math.PI / 8) * deviation[i] * deviation[i])));
    const spread = latent.map((f, i) => (logistic(core, f + deviation[i]) - logistic(core, f - deviation[i])) / 2);
    return { mean, deviation: spread };
  }

  /** Mean rates and their deviations. For the domain it returns one object until a process changes. **Cost:** O(k n^2). */
  predict(points: Float64Array): Moments {
    if (points !== this.domain?.points) return this.#rates(points);
    const version = this.#matured.version + this.#all.version;
    if (this.#overDomain?.version !== version) this.#overDomain = { version, moments: this.#rates(points) };
    return this.#overDomain.moments;
  }

  #rates(points: Float64Array): Moments {
    const { variance } = this.#all.score(points);
    return this.#ofRate(this.#matured.mean(points), variance.map(Math.sqrt));
  }

  /** Draws rates: the logistic of draws of the latent function. */
  sample(points: Float64Array, normals: Float64Array, scale: number, samples: number): Draws {
    const latent = this.#matured.mean(points);
    const { variance, sample } = this.#all.sample(points, normals, scale, samples);
    const k = latent.length;
    const drawn = sample.map((each, i) => logistic(this.#core, each + latent[i % k]));
    return { ...this.#ofRate(latent, variance.map(Math.sqrt)), sample: drawn };
  }

  /** For every point kept its coordinates, impressions and sum of rewards, points in lexicographic order. */
  statistics(): Float64Array {
    return Float64Array.from([...this.#sites].sort(byPoint).flatMap(({ point, count, successes }) => [...point, count, successes]));
  }

  refactor(): void {
    this.#matured.refactor();
    this.#all.refactor();
  }

  save(writer: SnapshotWriter): void {
    const [matured, all] = [this.#matured.state(), this.#all.state()];
    writer.numbers([this.#kernel.variance, this.#waiting, this.#impressions, this.#conversions, this.#nextFit], this.#kernel.lengthscale);
    const seen = this.#sites.flatMap(({ count, successes }) => [count, successes]);
    writer.numbers(this.#points(), seen, matured.counts, matured.sums, all.counts);
    this.#unmatured.save(writer);
  }

  load(reader: SnapshotReader): void {
    const d = this.#median.lengthscale.length;
    const [variance, waiting, impressions, conversions, nextFit] = reader.numbers(5);
    const lengthscale = reader.numbers(d);
    const points = reader.numbers();
    const n = points.length / d;
    const seen = reader.numbers(2 * n);
    const [maturedCounts, maturedSums, allCounts] = [0, 1, 2].map(() => reader.numbers(n));
    const positive = [variance, ...lengthscale, ...maturedCounts, ...allCounts].every((each) => each > 0);
    if (!positive || n > this.#capacity || nextFit < FIRST_FIT) throw malformed();
    for (const count of [waiting, impressions, conversions]) counted("count", count);
    checkTrials(seen, maturedSums);
    this.#adopt({ ...this.#median, variance, lengthscale });
    this.#matured.replace({ points, counts: maturedCounts, sums: maturedSums, squares: 0 });
    this.#all.replace({ points, counts: allCounts, sums: new Float64Array(n), squares: 0 });
    this.#sites = Array.from({ length: n }, (_, i) => {
      return { point: points.slice(i * d, (i + 1) * d), count: seen[2 * i], successes: seen[2 * i + 1] };
    });
    [this.#waiting, this.#impressions, this.#conversions, this.#nextFit] = [waiting, impressions, conversions, nextFit];
    this.#unmatured.load(reader);
  }
}

/**
 * Checks impressions and successes, which alternate, and the sums of the rows of the mean. With many more successes than impressions, or
 * a latent value far from its data, an approximation would not converge. A success may outweigh its impression, and merges may bring it
 * to another point. A sum is at most about the impressions of its row.
 */
function checkTrials(seen: Float64Array, sums: Float64Array): void {
  let [impressions, successes] = [0, 0];
  for (let i = 0; i < seen.length; i += 2) {
    finiteNumber("impressions", seen[i], 0);
    impressions += seen[i];
    successes += Math.abs(seen[i + 1]);
  }
  if (successes > 2 * impressions + 1 || sums.some((sum) => Math.abs(sum) > 16 * (impressions + 1))) throw malformed();
}
