// Joins a ridge, the delays, forgetting and shrinkage to the posterior of the recommended linear policies.

import type { Core } from "../../core/core.ts";
import { counted, malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import type { CandidateRows, Ranked, SampleRequest } from "../candidates.ts";
import { OwnLaws } from "../delay/own-laws.ts";
import type { Moment, Window } from "../delay/window.ts";
import type { AppendedImpression, Moments, ReportedDelay } from "../posterior.ts";
import type { Scores } from "../ranking.ts";
import { amountLikelihood } from "./amount-likelihood.ts";
import { CappedSums, type Clipped } from "./capped-sums.ts";
import { CorrectedMean } from "./corrected-mean.ts";
import { changedAt, DelayCorrection, type MaturedSums, type Terms } from "./delay-correction.ts";
import { Halving } from "./halving.ts";
import { type Average, type Interval, ProductAverages } from "./interval.ts";
import { BernoulliLikelihood, gaussianLikelihood, type Likelihood } from "./likelihood.ts";
import { MaturedScores } from "./matured-scores.ts";
import type { ParsedMaturingRidge } from "./maturing-ridge-settings.ts";
import { type RateChange, RateChanges } from "./rate-changes.ts";
import { Ridge } from "./ridge.ts";
import { SalesPrior, type ScaledPrior, TASTE, withPrior } from "./sales-prior.ts";
import { ChosenRidges, type RidgeSums } from "./shrinkage.ts";
import { triangle } from "./vector.ts";

/** With up to this many features the mean is solved after every change, with twice as many after every second impression. */
const SOLVED_AT_ONCE = 128;

export interface MaturingRidgeOptions extends Omit<ParsedMaturingRidge, "exploration"> {
  /** Range of the reward of one conversion. */
  readonly reward: { readonly min: number; readonly max: number };
  /** Age at which rewards are revealed, in the unit of the window. Undefined: the distribution of delays is learnt. */
  readonly knownDelay?: number;
  /** Set if rewards are amounts of money. `max`: the greatest amount that counts wholly. */
  readonly amounts?: { readonly max?: number };
}

const NOTHING = /* @__PURE__ */ new Float64Array(0);
/** The sums of no impressions, whatever their features. */
const NO_SUMS: MaturedSums = { gram: NOTHING, moment: NOTHING, level: NOTHING, offsets: NOTHING, count: 0, rewards: 0, squares: 0 };

/**
 * Ridge regression in which an impression counts wholly in the variance at once, and in the mean as far as it has matured.
 *
 * An impression that was examined with probability e counts e times in both. Its reward counts wholly. The mean is then the expected
 * reward of an examined impression: B = sum reward x has the expectation sum e x x^T theta.
 * **Source:** the position-based model; Lagree, Vernade, Cappe 2016, *Multiple-play bandits in the position-based model*, section 3.
 *
 * Each of its ideas has a file: the correction of the mean for delays (`DelayCorrection`), the ridges (`ChosenRidges`),
 * the delays and rewards of single products (`OwnLaws`), the likelihood of a reward (`Likelihood`), forgetting (`RateChanges` or `Halving`), when
 * the mean is solved (`CorrectedMean`), the scores of candidates (`MaturedScores`), and the averages of products (`ProductAverages`).
 */
export class MaturingRidge {
  /** Whether the state is a sum over impressions. False if log-odds are expanded about an estimate, or if sums are halved. */
  readonly orderInvariant: boolean;
  readonly scores: MaturedScores;
  /** Over all impressions. Pending ones count as a reward of zero. */
  readonly #posterior: Ridge;
  readonly #correction: DelayCorrection;
  readonly #ridges: ChosenRidges;
  readonly #likelihood: Likelihood;
  readonly #halving: Halving;
  readonly #changes: RateChanges | undefined;
  readonly #mean: CorrectedMean;
  /** They correct the mean unless the latent value is no reward, because corrections multiply, or the delay is known. */
  readonly #laws: OwnLaws;
  readonly #corrects: boolean;
  /** Absent unless rewards are amounts. */
  readonly #amounts: CappedSums | undefined;
  /** Range of the mean reward of an impression. */
  readonly #range: MaturingRidgeOptions["reward"];
  #impressions = 0;
  #prior: SalesPrior | undefined;
  /** Impressions of the prior in the variance, for each conversion. */
  #scale = 0;
  readonly #core: Core;

  constructor(core: Core, window: Window, options: MaturingRidgeOptions) {
    const { dimension: d, ridge, shrinkage, forgetting, rewards, delayComponents, knownDelay, blocks } = options;
    this.#core = core;
    const byChanges = forgetting === "changes";
    this.orderInvariant = rewards === "linear" && (forgetting === null || byChanges);
    this.#likelihood = likelihoodOf(core, options);
    const { min, max = Number.POSITIVE_INFINITY } = options.amounts ? { min: 0, ...options.amounts } : options.reward;
    this.#range = { min: Math.min(min, 0), max: Math.max(max, 0) };
    this.#amounts = options.amounts && new CappedSums(d, options.amounts.max);
    // Lasting cohorts have the sums.
    this.#posterior = new Ridge(core, { dimension: d, ridge, derived: byChanges });
    this.#correction = new DelayCorrection(window, d, { offsets: this.#likelihood.offsets, lasting: byChanges, knownDelay });
    this.#halving = new Halving(byChanges ? null : forgetting);
    this.#corrects = rewards === "linear" && knownDelay === undefined;
    this.#laws = new OwnLaws(
      window,
      { dimension: d, from: delayComponents, corrects: this.#corrects },
      () => this.#correction.curve(),
      () => Math.min(this.#impressions, this.#halving.halfLife),
    );
    const { halfLife } = this.#halving;
    this.#ridges = new ChosenRidges(core, { dimension: d, shrinkage, ridge, likelihood: this.#likelihood, halfLife, blocks });
    this.#changes = byChanges ? new RateChanges(core, d, this.#ridges, this.#likelihood) : undefined;
    const interval = shrinkage === "evidence" || rewards === "bernoulli" ? Math.ceil(d / SOLVED_AT_ONCE) : 1;
    const solved = new Ridge(core, { dimension: d, ridge, derived: true });
    const scaleOf = (sums: MaturedSums) => ({ spread: this.#likelihood.spread(sums), level: this.#likelihood.level?.(sums) ?? 0 });
    const regression = () => {
      const sums = this.#matured();
      const all = this.#withPrior(sums);
      return { gram: this.#ridges.shrunk(all, this.#ridges.level(all)), moment: all.moment, ...scaleOf(sums) };
    };
    this.#mean = new CorrectedMean(this.#posterior, solved, interval, regression, scaleOf(NO_SUMS));
    this.scores = new MaturedScores(core, this.#posterior, this.#mean, this.#likelihood, () => this.#impressions);
  }

  /**
   * Returns the number of halvings before this impression. `examination`: the weight of its place. `clock`: the moment up to which the
   * clock moves, if it is not that of the impression.
   */
  append(features: Float64Array, moment: Moment, examination: number, clock = moment): number {
    this.#changes?.prepare();
    const weight = this.#correction.weightAt(moment);
    const terms = weighed(
      this.#likelihood.terms(features, this.#impressions, () => this.#mean),
      examination,
    );
    const own = weighed(terms, weight);
    this.#posterior.append(own.weighted);
    this.#correction.append(terms, moment, weight, clock);
    this.#laws.append(features, moment, examination, clock);
    this.#impressions++;
    const replaced = this.#forget();
    if (this.#ridges.choose(this.#impressions, () => this.#centred())) this.#explore();
    const slot = this.#halving.times;
    const halved = this.#impressions >= this.#halving.next;
    if (halved) this.#halve();
    this.#mean.appended(own, this.#impressions, halved || replaced);
    return slot;
  }

  /**
   * Forgets an impression, with its reward and the delay of its conversion. **Cost:** O(d^3).
   *
   * Deviation: with "bernoulli" rewards the impression stays, without its reward. Its expansion is not known any more.
   */
  remove(impression: AppendedImpression, reward: number | undefined, delay: number | undefined): void {
    if (reward !== undefined) this.observe(impression, undefined, reward, { before: delay });
    this.#laws.remove(impression);
    if (this.#likelihood.offsets > 0) return;
    const { features } = impression;
    const weight = this.#correction.weightAt(impression);
    const root = Math.sqrt(weight);
    this.#posterior.remove(weight === 1 ? features : features.map((each) => root * each));
    this.#correction.remove(
      this.#likelihood.terms(features, this.#impressions, () => this.#mean),
      impression,
      weight,
    );
    this.#impressions--;
    this.#mean.changed();
  }

  /** Moves the clock on to an impression that this regression does not count. */
  advance(moment: Moment): void {
    // The draws of a trial end with the next impression.
    this.#posterior.redraw();
    this.#correction.advance(moment);
    this.#laws.advance(moment);
    this.#mean.changed();
  }

  /** Looks for a change of rates, if that is due. Returns whether the sums were replaced. */
  #forget(): boolean {
    if (!this.#changes || this.#impressions < this.#changes.due) return false;
    this.#changes.postpone(this.#impressions);
    const weights = this.#changes.weights(this.#correction);
    if (![...weights, ...this.#correction.weights].some((weight) => weight < 1)) return false;
    this.#weigh(weights);
    this.#ridges.hasten(this.#impressions, this.#correction.impressions);
    return true;
  }

  /** Replaces the sums by those of the intervals, by weight. */
  #weigh(weights: readonly number[]): void {
    const { gram, moment } = this.#correction.weigh(weights);
    this.#posterior.replace(gram, moment);
  }

  /** When rates have last changed. Undefined if they probably have not, or if changes are not looked for. */
  get change(): RateChange | undefined {
    const { weights } = this.#correction;
    const first = changedAt(weights);
    return first === undefined ? undefined : { since: this.#correction.intervals()[first].start, probability: 1 - weights[0] };
  }

  /** Gives the variance its ridges, and what is known from before. `had`: whether the variance has a prior of its own. **Cost:** O(d^3). */
  #explore(had = this.#scale > 0): void {
    this.#scale = this.#prior ? this.#scaledBy(this.#prior, this.#matured()).scale : 0;
    if (this.#setPrior(had)) this.#posterior.refactor();
  }

  /** Returns whether the variance has a prior of its own, or `had` one that is now replaced. */
  #setPrior(had = false): boolean {
    const ridges = this.#ridges.variance(TASTE * this.#scale);
    if (!ridges && !this.#prior && !had) return false;
    this.#posterior.setPrior(
      ridges ?? new Float64Array(this.#posterior.dimension).fill(this.#ridges.least),
      this.#scale,
      this.#prior?.gram,
    );
    return true;
  }

  #scaledBy(prior: SalesPrior, sums: MaturedSums): ScaledPrior {
    return prior.scaled(sums, this.#likelihood.spread(sums));
  }

  /** Sums with what is known from before. */
  #withPrior(sums: MaturedSums): RidgeSums {
    return this.#prior ? withPrior(sums, this.#scaledBy(this.#prior, sums)) : sums;
  }

  /** See `Policy.prior`. **Cost:** O(k d^2 + d^3). */
  prior(points: Float64Array, sales: Float64Array, views: Float64Array): void {
    const prior = SalesPrior.of(this.#core, this.#likelihood, { points, sales, views });
    // The same again changes nothing, not even how far ridges have come.
    if (prior?.key === this.#prior?.key) return;
    this.#prior = prior;
    this.#ridges.refactor(this.#impressions, this.#centred());
    this.#explore();
    this.#mean.refactor(this.#impressions);
  }

  /** See `Policy.regroup`. **Cost:** O(d^3). */
  regroup(blocks: readonly number[]): void {
    if (!this.#ridges.regroup(blocks)) return;
    this.#explore(true);
    this.#mean.changed();
  }

  #halve(): void {
    const [sums, moment] = [this.#posterior.statistics().map((each) => each / 2), triangle(this.#posterior.dimension)];
    this.#posterior.replace(sums.subarray(0, moment), sums.subarray(moment));
    this.#correction.halve();
    this.#laws.halve();
    this.#halving.times++;
  }

  /** Replaces the reward `previous` of an impression. Undefined: it has none. */
  observe(impression: AppendedImpression, reward: number | undefined, previous: number | undefined, delay?: ReportedDelay): void {
    const counted = (each: number | undefined): number | undefined =>
      each === undefined ? each : (this.#likelihood.counted?.(each) ?? each);
    const [after, earlier] = [counted(reward), counted(previous)];
    this.#amounts?.replace(impression.features, earlier, after);
    const most = this.#amounts ? this.#range.max : Number.POSITIVE_INFINITY;
    const own = after ?? 0;
    const halved = this.#halving.weight(impression.slot);
    const weight = halved * this.#correction.weightAt(impression);
    const [now, before] = [weight * own, weight * (earlier ?? 0)];
    this.#mean.reward(impression, now, before);
    this.#laws.observe(impression, halved, Math.min(own, most), earlier && Math.min(earlier, most), delay);
    if (this.#amounts) {
      this.#correction.observeDelay(impression, earlier, delay);
      return;
    }
    this.#posterior.reward(impression, now, before);
    this.#correction.observe(impression, weight, own, earlier, delay);
  }

  /** The sums from which the ridge is chosen. */
  #centred(): RidgeSums {
    const sums = this.#matured();
    return this.#withPrior(this.#likelihood.centred?.(sums) ?? sums);
  }

  #matured(): MaturedSums {
    const all = this.#correction.corrected(this.#posterior);
    const sums = this.#amounts ? { ...all, ...this.#amounts.capped() } : all;
    const moment = this.#likelihood.moment(sums);
    return { ...sums, moment: this.#corrects ? this.#laws.corrected({ gram: sums.gram, moment }) : moment };
  }

  /** See `MaturedScores.sampled`. */
  sampleScores(request: SampleRequest, exploration: number): Scores | Ranked {
    return this.scores.sampled(request, exploration);
  }

  /** See `MaturedScores.means`. */
  means(candidates: CandidateRows): Float64Array {
    return this.scores.means(candidates);
  }

  /** See `MaturedScores.upper`. */
  upper(points: Float64Array, exploration: number): { readonly mean: Float64Array; readonly width: Float64Array } {
    return this.scores.upper(points, exploration);
  }

  predict(points: Float64Array): Moments {
    return this.scores.predict(points);
  }

  /** The key of the product of each point. -1: it has none. */
  keys(points: Float64Array): number[] {
    const d = this.#posterior.dimension;
    return Array.from({ length: points.length / d }, (_, i) => this.#laws.keyOf(points, i * d));
  }

  /** The averages of products, by key. */
  averages(): ProductAverages {
    return new ProductAverages(this.#laws.brought(), this.#correction.maturityError(), this.#range);
  }

  /** See `Policy.interval`. */
  interval(points: Float64Array): Interval[] {
    const [averages, keys, { mean }] = [this.averages(), this.keys(points), this.predict(points)];
    const known = new Map(keys.map((key) => [key, averages.average(key)]));
    return keys.map((key, i) => ({ mean: mean[i], ...(known.get(key) as Average) }));
  }

  /** Amounts that counted as less than they are. Undefined unless rewards are amounts. */
  get clipped(): Clipped | undefined {
    return this.#amounts?.capped().clipped;
  }

  /** V without its ridge and B, over all impressions, whatever is forgotten of them, then the sum of their offsets. */
  statistics(): Float64Array {
    const lasting = this.#correction.lasting();
    if (lasting) return lasting;
    const [sums, { offsets }] = [this.#posterior.statistics(), this.#correction];
    const all = new Float64Array(sums.length + offsets.length);
    all.set(sums);
    if (this.#amounts) all.set(this.#amounts.moment(), triangle(this.#posterior.dimension));
    all.set(offsets, sums.length);
    return all;
  }

  /**
   * Derives everything from the sums: cohorts, laws of delays, weights of intervals, the ridge and the mean. Only the anchor of log-odds
   * stays as it is.
   */
  refactor(): void {
    this.#correction.refactor();
    this.#laws.refactor();
    if (this.#changes) this.#weigh(this.#correction.weights.fill(1));
    else this.#posterior.refactor();
    this.#ridges.refactor(this.#impressions, this.#centred());
    if (this.#changes) {
      this.#changes.prepare();
      this.#changes.postpone(this.#impressions);
      const weights = this.#changes.weights(this.#correction);
      if (weights.some((weight) => weight < 1)) {
        this.#weigh(weights);
        this.#ridges.refactor(this.#impressions, this.#centred());
        this.#ridges.hasten(this.#impressions, this.#correction.impressions);
      }
    }
    this.#explore();
    this.#mean.refactor(this.#impressions);
  }

  /** Adds the sums of another regression with the same options, which loses its own. Call `refactor` afterwards. */
  merge(other: MaturingRidge): void {
    this.#correction.merge(other.#correction);
    this.#laws.merge(other.#laws);
    this.#amounts?.merge(other.#amounts as CappedSums);
    if (!this.#changes) this.#posterior.merge(other.#posterior);
    this.#impressions += other.#impressions;
  }

  save(writer: SnapshotWriter): void {
    const { times, next } = this.#halving;
    this.#posterior.save(writer);
    writer.numbers([this.#impressions, times, next]);
    this.#ridges.save(writer);
    writer.numbers(this.#prior ? [this.#scale] : []);
    this.#prior?.save(writer);
    this.#correction.save(writer);
    this.#laws.save(writer);
    this.#amounts?.save(writer);
    if (this.#changes) writer.numbers([this.#changes.due]);
    this.#likelihood.save?.(writer);
    this.#mean.save(writer);
  }

  load(reader: SnapshotReader): void {
    const halving = this.#halving;
    this.#posterior.load(reader);
    [this.#impressions, halving.times] = reader.numbers(3);
    this.#ridges.load(reader);
    const [scale] = reader.numbers();
    this.#scale = scale ?? 0;
    this.#prior = scale === undefined ? undefined : SalesPrior.load(reader, this.#likelihood, this.#posterior.dimension);
    this.#setPrior();
    for (const count of [this.#impressions, halving.times]) counted("count", count);
    if (!Number.isFinite(halving.next)) throw malformed();
    this.#correction.load(reader);
    this.#laws.load(reader);
    this.#amounts?.load(reader);
    if (this.#changes) [this.#changes.due] = reader.numbers(1);
    this.#likelihood.load?.(reader);
    this.#mean.load(reader);
  }

  /** The cohorts, the sums and the anchor are for learning. */
  publish(writer: SnapshotWriter): void {
    this.scores.publish(writer);
  }

  loadPublished(reader: SnapshotReader): void {
    this.scores.loadPublished(reader);
  }
}

function likelihoodOf(core: Core, { dimension, rewards, rewardVariance, amounts }: MaturingRidgeOptions): Likelihood {
  if (amounts) return amountLikelihood();
  return rewards === "bernoulli" ? new BernoulliLikelihood(core, dimension) : gaussianLikelihood(rewardVariance);
}

/** Terms of an impression that counts in part. */
function weighed(terms: Terms, weight: number): Terms {
  if (weight === 1) return terms;
  const { count, features, weighted, offsets, places } = terms;
  const [by, root] = [(each: number): number => weight * each, Math.sqrt(weight)];
  return { count: by(count), features: features.map(by), weighted: weighted.map((each) => root * each), offsets: offsets.map(by), places };
}
