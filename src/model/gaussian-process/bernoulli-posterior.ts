import type { Core, GaussianProcessHandle, KernelSpec } from "../../core/core.ts";
import { malformed, type SnapshotReader, type SnapshotWriter } from "../../snapshot.ts";
import { FORGOTTEN, Forgetting } from "../delay/forgetting.ts";
import { UnmaturedSums } from "../delay/unmatured-sums.ts";
import type { Moment, Window } from "../delay/window.ts";
import { Domain } from "../domain.ts";
import { logistic } from "../linear/logistic.ts";
import type { AppendedImpression, JointPosterior, Moments, ReportedDelay } from "../posterior.ts";
import { byPoint, KEPT, nearestTo } from "./bounded-process.ts";
import { medianKernel, type ParsedDelayAware } from "./delay-aware-settings.ts";
import { INITIAL_ROWS } from "./gaussian-process.ts";
import { mostProbable } from "./hyperparameters.ts";
import { inducingPoints } from "./inducing-points.ts";
import { kernelSpec } from "./kernel.ts";
import { information, laplaceEvidence, laplaceMode, type Trials } from "./laplace.ts";

/** The approximation is taken anew after so many impressions and conversions to a point: O(n^3) each time, O(n^2) on average. */
const LAG = 1 / 16;
/** Conversions at which hyper-parameters are fitted first, then whenever there are twice as many; and most points for that. */
const FIRST_FIT = 8;
const FITTED_POINTS = 128;

/** One point: impressions there, and the sum of their rewards, both weighted. */
interface Site {
  readonly point: Float64Array;
  count: number;
  successes: number;
}

/** A reward as a share of a success: what several goals bring beyond one success, or below none, does not count. */
const success = (reward: number): number => Math.min(Math.max(reward, 0), 1);

/**
 * Rewards of 0 or 1, or between: an impression of age s has converted with the chance F(s) times the logistic of a Gaussian process.
 *
 * F, the distribution of delays, is learnt from the conversions so far. An impression is F(s) of a trial in the mean and a whole one
 * in the variance. Both are by a Laplace approximation, one row to a point, each in a process of its own; it is taken anew after a
 * few impressions and conversions, so what it says waits for at most LAG as many of them as there are points. At capacity the points
 * that tell the most stay, and the others' trials move to the nearest of them. The law of delays is not forgotten.
 * **Source:** Rasmussen and Williams 2006, section 3.4, for the approximation and its hyper-parameters.
 */
export class BernoulliPosterior implements JointPosterior {
  readonly domain: Domain | null;
  readonly #core: Core;
  readonly #median: KernelSpec;
  readonly #context: number;
  readonly #capacity: number;
  /** Rows of either are the sites, in their order. */
  readonly #matured: GaussianProcessHandle;
  readonly #all: GaussianProcessHandle;
  readonly #unmatured: UnmaturedSums;
  readonly #forgetting: Forgetting | null;
  readonly #halfLife: number;
  #kernel: KernelSpec;
  #sites: Site[] = [];
  /** Impressions and conversions since the approximation was taken. */
  #waiting = 0;
  #impressions = 0;
  #conversions = 0;
  #nextFit = FIRST_FIT;
  #overDomain: Moments | undefined;

  constructor(core: Core, settings: ParsedDelayAware, window: Window) {
    this.#core = core;
    this.#context = settings.contextDimension;
    this.#capacity = settings.capacity;
    this.#median = kernelSpec(medianKernel(settings), settings.dimension);
    this.#kernel = this.#median;
    this.domain = settings.domain && new Domain(settings.domain);
    const rows = Math.min(settings.capacity, INITIAL_ROWS);
    this.#matured = core.gpCreate(this.#median, 1, rows);
    this.#all = core.gpCreate(this.#median, 1, rows);
    this.#unmatured = new UnmaturedSums(window, settings.capacity);
    this.#forgetting = settings.forgetting && new Forgetting(core, settings.forgetting);
    this.#halfLife = settings.forgetting?.halfLife ?? Number.MAX_VALUE;
  }

  append(features: Float64Array, moment: Moment): number {
    const number = this.#impressions;
    if (this.#forgetting?.opens(number)) this.#discount(this.#forgetting.decay);
    const row = this.#core.gpFind(this.#all, features);
    const place = row < 0 ? this.#open(features) : row;
    this.#impressions++;
    this.#sites[place].count++;
    const sums = this.#unmatured.add(moment);
    if (sums) sums[place]++;
    if (this.#conversions >= this.#nextFit) this.#fit();
    this.#change();
    return number;
  }

  observe(impression: AppendedImpression, reward: number, previous: number | undefined, delay?: ReportedDelay): void {
    const weight = this.#forgetting?.weight(impression.slot, this.#impressions - 1) ?? 1;
    const site = this.#siteOf(impression.features, weight);
    if (site) site.successes += weight * (success(reward) - success(previous ?? 0));
    this.#unmatured.observe(impression, previous, delay);
    if (previous === undefined) this.#conversions++;
    this.#change();
  }

  #change(): void {
    this.#overDomain = undefined;
    this.#waiting++;
    if (this.#waiting >= LAG * this.#sites.length) this.#approximate(this.#modes());
  }

  /** Where an impression is counted that weighs so much: at its point, or that which stands for it, unless it is forgotten. */
  #siteOf(point: Float64Array, weight: number): Site | undefined {
    const row = this.#core.gpFind(this.#all, point);
    if (row >= 0) return this.#sites[row];
    if (weight < FORGOTTEN) return undefined;
    return this.#sites[nearestTo(this.#core, this.#kernel, this.#points(), point)];
  }

  /** Opens a row of which nothing is known but what the others say. */
  #open(point: Float64Array): number {
    if (this.#sites.length >= this.#capacity) this.#reduce();
    const [mode] = this.#core.gpMean(this.#matured, point);
    const rate = logistic(this.#core, mode);
    this.#core.gpAppendGroup(this.#all, point, information(1, rate));
    const row = this.#core.gpAppendGroup(this.#matured, point, information(0, rate));
    this.#core.gpReward(this.#matured, row, information(0, rate) * mode, 0);
    this.#sites.push({ point: point.slice(), count: 0, successes: 0 });
    return row;
  }

  #points(): Float64Array {
    const points = new Float64Array(this.#sites.length * this.#kernel.lengthscale.length);
    for (const [i, { point }] of this.#sites.entries()) points.set(point, i * point.length);
    return points;
  }

  #modes(): Float64Array {
    return this.#core.gpMean(this.#matured, this.#points());
  }

  #reduce(): void {
    const told = this.#core.gpState(this.#all).counts.slice();
    const standIn = inducingPoints(this.#core, this.#kernel, this.#points(), told, Math.floor(KEPT * this.#capacity));
    this.#move(standIn, 1);
  }

  /** Multiplies with `decay` what all impressions weigh, and forgets points that weigh next to nothing. */
  #discount(decay: number): void {
    this.#move(
      this.#sites.map(({ count }, i) => (decay * count < FORGOTTEN ? -1 : i)),
      decay,
    );
  }

  /** Moves what was seen at each site, multiplied with `factor`, to the site that stands for it, or nowhere; the others are gone. */
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

  /** What the mean is of: whole trials of the impressions that have matured, never fewer than successes. */
  #trials(): Trials {
    const missing = this.#unmatured.missing();
    const successes = Float64Array.from(this.#sites, (site) => Math.max(site.successes, 0));
    const trials = Float64Array.from(this.#sites, ({ count }, i) => Math.max(count - missing[i], successes[i]));
    return { points: this.#points(), trials, successes };
  }

  /** Takes the approximation anew, from these values of the latent function at the sites. */
  #approximate(start: Float64Array): void {
    const trials = this.#trials();
    const mode = laplaceMode(this.#core, this.#matured, trials, start);
    const counts = Float64Array.from(this.#sites, ({ count }, i) => information(count, logistic(this.#core, mode[i])));
    this.#load(this.#all, trials.points, counts, new Float64Array(counts.length));
    this.#waiting = 0;
  }

  #load(process: GaussianProcessHandle, points: Float64Array, counts: Float64Array, sums: Float64Array): void {
    const n = counts.length;
    this.#core.gpLoad(process, { points, counts, sums, squares: 0, factor: new Float64Array((n * (n + 1)) / 2) });
    this.#core.gpRefactor(process);
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
    const process = this.#core.gpCreate(this.#median, 1, count);
    try {
      const kernel = mostProbable(this.#core, this.#median, this.#context, (kernel) => {
        this.#core.gpSetKernel(process, kernel);
        mode = laplaceMode(this.#core, process, seen, mode);
        return laplaceEvidence(this.#core, process, seen, mode);
      });
      this.#adopt(kernel);
    } finally {
      this.#core.gpRelease(process);
    }
    this.#approximate(modes);
  }

  #adopt(kernel: KernelSpec): void {
    this.#core.gpSetKernel(this.#matured, kernel);
    this.#core.gpSetKernel(this.#all, kernel);
    this.#kernel = kernel;
  }

  /** Of the rate: its mean over what the latent function may be there (MacKay 1992), and half of what a deviation of that changes. */
  #ofRate(latent: Float64Array, deviation: Float64Array): Moments {
    const core = this.#core;
    const mean = latent.map((f, i) => logistic(core, f / Math.sqrt(1 + (Math.PI / 8) * deviation[i] * deviation[i])));
    const spread = latent.map((f, i) => (logistic(core, f + deviation[i]) - logistic(core, f - deviation[i])) / 2);
    return { mean, deviation: spread };
  }

  /** The same object as before while nothing has changed what it says of the domain. **Cost:** O(k n^2). */
  predict(points: Float64Array): Moments {
    const known = points === this.domain?.points ? this.#overDomain : undefined;
    if (known) return known;
    const { variance } = this.#core.gpScore(this.#all, points);
    const moments = this.#ofRate(this.#core.gpMean(this.#matured, points), variance.map(Math.sqrt));
    if (points === this.domain?.points) this.#overDomain = moments;
    return moments;
  }

  /** Draws rates: the logistic of draws of the latent function. */
  sample(points: Float64Array, normals: Float64Array, scale: number, samples: number): Moments & { readonly sample: Float64Array } {
    const latent = this.#core.gpMean(this.#matured, points);
    const { variance, sample } = this.#core.gpSample(this.#all, points, normals, scale, samples);
    const k = latent.length;
    const drawn = sample.map((each, i) => logistic(this.#core, each + latent[i % k]));
    return { ...this.#ofRate(latent, variance.map(Math.sqrt)), sample: drawn };
  }

  /** For every point kept its coordinates, impressions and sum of rewards, points in lexicographic order. */
  statistics(): Float64Array {
    return Float64Array.from([...this.#sites].sort(byPoint).flatMap(({ point, count, successes }) => [...point, count, successes]));
  }

  refactor(): void {
    this.#core.gpRefactor(this.#matured);
    this.#core.gpRefactor(this.#all);
    this.#overDomain = undefined;
  }

  save(writer: SnapshotWriter): void {
    const [matured, all] = [this.#core.gpState(this.#matured), this.#core.gpState(this.#all)];
    writer.numbers([this.#kernel.variance, this.#waiting, this.#impressions, this.#conversions, this.#nextFit]);
    writer.numbers(this.#kernel.lengthscale);
    writer.numbers(this.#points());
    writer.numbers(this.#sites.flatMap(({ count, successes }) => [count, successes]));
    for (const column of [matured.counts, matured.sums, all.counts]) writer.numbers(column);
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
    this.#adopt({ ...this.#median, variance, lengthscale });
    this.#load(this.#matured, points, maturedCounts, maturedSums);
    this.#load(this.#all, points, allCounts, new Float64Array(n));
    this.#sites = Array.from({ length: n }, (_, i) => {
      return { point: points.slice(i * d, (i + 1) * d), count: seen[2 * i], successes: seen[2 * i + 1] };
    });
    [this.#waiting, this.#impressions, this.#conversions, this.#nextFit] = [waiting, impressions, conversions, nextFit];
    this.#unmatured.load(reader);
  }
}
