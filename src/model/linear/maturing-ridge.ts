import type { Core } from "../../core/core.ts";
import { malformed, type SnapshotReader, type SnapshotWriter } from "../../snapshot.ts";
import { UnmaturedSums } from "../delay/unmatured-sums.ts";
import type { Moment, Window } from "../delay/window.ts";
import type { AppendedImpression, Moments, ReportedDelay } from "../posterior.ts";
import type { SampleRequest, Scores } from "../ranking.ts";
import { linearised, logistic } from "./logistic.ts";
import type { ParsedMaturingRidge } from "./maturing-ridge-settings.ts";
import { Ridge } from "./ridge.ts";
import { evidenceRidge, type MaturedSums, product, type Shrinkage, shrunk } from "./shrinkage.ts";

type MaturingRidgeOptions = Omit<ParsedMaturingRidge, "exploration">;

/** By this factor impressions grow from one choice of the ridge to the next. */
const REFIT = 1.2;
/** Impressions that the guess of the variance of a reward counts for. */
const GUESSED = 10;
/** Rewards, of twice as many impressions, that the guess of the log-odds of all counts for. */
const GUESSED_REWARD = 0.5;
/** Features for which the mean is taken anew with every impression; with twice as many, with every second one. */
const FRESH = 128;
/** By this factor impressions grow from one choice of the parameter that log-odds are linearised at to the next. */
const ANCHORED = 1.05;

/**
 * Ridge regression in which an impression of age s counts for F(s) in the mean, and wholly in the variance.
 *
 * F is the distribution of delays, learnt from the conversions so far. Of what will convert, the share F(s) has done so: with
 * V_F = sum F(s) x x^T and B as ever, V_F^-1 B is the regression of rewards on F(s) x in which an impression weighs 1 / F(s).
 * Impressions are remembered by cohorts of age, each with its own sums (see unmatured-sums), so memory is bounded: O(d^2) for each of at
 * most five in a window. The mean is shrunk by a ridge of its own (see shrinkage).
 *
 * Forgetting halves all sums after every so many impressions, instead of multiplying them by a factor with each: weights are powers
 * of two, sums stay exact for some twenty half-lives, and a reward that comes late or is taken back counts just as its impression does.
 * **Source:** Russac, Vernade, Cappe 2019, weighted linear bandits, for the discount; its second covariance is left out.
 *
 * Of rewards by log-odds the likelihood is taken to second order, once for each impression, about what is known when it is shown:
 * a Newton step each, so that sums are enough. The level has the log-odds of all conversions for its prior mean.
 * **Source:** the extended Kalman filter for logistic regression, as in Spiegelhalter and Lauritzen 1990.
 */
export class MaturingRidge {
  /** In which what is pending counts as a zero, of all impressions. */
  readonly #posterior: Ridge;
  readonly #unmatured: UnmaturedSums;
  readonly #core: Core;
  readonly #options: MaturingRidgeOptions;
  readonly #triangle: number;
  readonly #bernoulli: boolean;
  /** Weights of impressions, then the weighted sum of their features (d), then of the offsets of their log-odds (d), if any. */
  #totals: Float64Array;
  /** Sum and sum of squares of rewards. */
  #rewards = 0;
  #squares = 0;
  #impressions = 0;
  /** How often all was halved, and impressions at which it next is. */
  #halvings = 0;
  #halving: number;
  #ridge: number;
  /** Impressions at which the ridge is next chosen, and at which the mean was last taken anew. */
  #due = 2;
  #taken = 0;
  /** How many impressions that mean serves; while it is one, the mean is a function of the sums. */
  readonly #serves: number;
  /** The regression of the mean. */
  readonly #mean: Ridge;
  #spread: number;
  /** The parameter at which log-odds are linearised, and impressions at which it is next chosen. */
  #anchor: Float64Array;
  #anchorDue = 0;
  /** What the mean's parameter has over that of the posterior in which what is pending counts as a zero: d. */
  #shift: Float64Array | undefined;

  constructor(core: Core, window: Window, options: MaturingRidgeOptions) {
    const { dimension: d, ridge } = options;
    this.#core = core;
    this.#options = options;
    this.#triangle = (d * (d + 1)) / 2;
    this.#bernoulli = options.rewards === "bernoulli";
    this.#totals = new Float64Array(1 + (this.#bernoulli ? 2 : 1) * d);
    this.#halving = this.#halfLife;
    this.#ridge = ridge;
    this.#serves = options.shrinkage === "evidence" ? Math.ceil(d / FRESH) : 1;
    this.#spread = this.#bernoulli ? 1 : Math.sqrt(options.rewardVariance);
    this.#anchor = new Float64Array(d);
    this.#posterior = new Ridge(core, { dimension: d, ridge });
    this.#mean = new Ridge(core, { dimension: d, ridge });
    this.#unmatured = new UnmaturedSums(window, this.#triangle + this.#totals.length);
  }

  /** Chosen ridges and anchors keep what they were chosen by; halved often enough, sums have more digits than a number. */
  get orderInvariant(): boolean {
    const { shrinkage, forgetting } = this.#options;
    return shrinkage === "fixed" && !this.#bernoulli && forgetting === null;
  }

  get #halfLife(): number {
    return this.#options.forgetting?.halfLife ?? Number.MAX_VALUE;
  }

  /** Returns how often all was halved before. */
  append(features: Float64Array, moment: Moment): number {
    const { dimension: d, shrinkage } = this.#options;
    const totals = new Float64Array(this.#totals.length);
    totals[0] = 1;
    totals.set(features, 1);
    const anchor = this.#bernoulli && this.#impressions >= this.#anchorDue ? this.#estimate() : this.#anchor;
    let weighted = features;
    if (this.#bernoulli) {
      const { information, offset } = linearised(this.#core, product(features, anchor));
      const root = Math.sqrt(information);
      weighted = features.map((each) => root * each);
      for (let i = 0; i < d; i++) totals[1 + d + i] = offset * features[i];
    }
    this.#posterior.append(weighted);
    if (anchor !== this.#anchor) {
      this.#anchor = anchor;
      this.#anchorDue = Math.ceil((this.#impressions + 1) * ANCHORED);
    }
    const sums = this.#unmatured.add(moment);
    if (sums) addSquare(sums, weighted);
    for (let i = 0; i < totals.length; i++) {
      this.#totals[i] += totals[i];
      if (sums) sums[this.#triangle + i] += totals[i];
    }
    this.#impressions++;
    if (shrinkage === "evidence" && this.#impressions >= this.#due) {
      this.#ridge = evidenceRidge(this.#core, this.#matured(), this.#shrinkage, this.#ridge);
      this.#due = Math.ceil(Math.min(this.#impressions * REFIT, this.#impressions + (REFIT - 1) * this.#halfLife));
    }
    if (this.#serves > 1 && this.#impressions >= this.#taken + this.#serves) this.#take();
    this.#shift = undefined;
    const slot = this.#halvings;
    if (this.#impressions >= this.#halving) this.#halve();
    return slot;
  }

  /** All that was learnt counts for half as much from now on. */
  #halve(): void {
    const sums = this.#posterior.statistics().map((each) => each / 2);
    this.#posterior.replace(sums.subarray(0, this.#triangle), sums.subarray(this.#triangle));
    this.#unmatured.halve();
    this.#totals = this.#totals.map((each) => each / 2);
    this.#rewards /= 2;
    this.#squares /= 2;
    this.#halvings++;
    this.#halving += this.#halfLife;
    if (this.#serves > 1) this.#take();
  }

  get #shrinkage(): Shrinkage {
    const { ridge, rewardVariance } = this.#options;
    return this.#bernoulli ? { leastRidge: ridge, rewardVariance: 1, noiseVariance: 1 } : { leastRidge: ridge, rewardVariance };
  }

  observe(impression: AppendedImpression, reward: number, previous: number | undefined, delay?: ReportedDelay): void {
    const weight = halved(this.#halvings - impression.slot);
    const before = previous ?? 0;
    this.#posterior.reward(impression, weight * reward, weight * before);
    this.#mean.reward(impression, weight * reward, weight * before);
    this.#rewards += weight * (reward - before);
    this.#squares += weight * (reward * reward - before * before);
    this.#unmatured.observe(impression, previous, delay);
    this.#shift = undefined;
  }

  /** The sums in which every impression counts for as much as has matured of it. **Cost:** O(cohorts d^2). */
  #matured(): MaturedSums {
    const d = this.#options.dimension;
    const sums = this.#posterior.statistics();
    const gram = sums.subarray(0, this.#triangle);
    const moment = sums.subarray(this.#triangle);
    const missing = this.#unmatured.missing();
    for (let i = 0; i < gram.length; i++) gram[i] -= missing[i];
    const rest = this.#totals.map((each, i) => each - missing[this.#triangle + i]);
    const count = Math.max(rest[0], 0);
    const level = rest.subarray(1, 1 + d);
    if (this.#bernoulli) {
      const prior = this.#options.ridge * this.#usual(count, level);
      for (let i = 0; i < d; i++) moment[i] += rest[1 + d + i] + prior * level[i];
    }
    return { gram, moment, level, count, squares: this.#squares };
  }

  /** What the level is to be multiplied with for a parameter that gives the mean impression the log-odds of all: a prior's mean. */
  #usual(count: number, level: Float64Array): number {
    const rate = (Math.max(this.#rewards, 0) + GUESSED_REWARD) / (Math.max(count, this.#rewards) + 2 * GUESSED_REWARD);
    const square = product(level, level);
    return square > 0 ? (this.#core.log(rate / (1 - rate)) * count) / square : 0;
  }

  /** Takes the mean anew: what has matured by now, and the ridge. */
  #take(): void {
    const sums = this.#matured();
    const { ridge, rewardVariance } = this.#options;
    this.#mean.replace(shrunk(sums, this.#ridge - ridge), sums.moment);
    this.#taken = this.#impressions;
    if (this.#bernoulli) return;
    const squares = sums.count > 0 ? Math.max(this.#squares - (this.#rewards * this.#rewards) / sums.count, 0) : 0;
    this.#spread = Math.sqrt((squares + GUESSED * rewardVariance) / (sums.count + GUESSED));
  }

  /** Once per change. */
  #derive(): Float64Array {
    if (!this.#shift) {
      if (this.#serves === 1) this.#take();
      const plain = this.#posterior.estimate();
      this.#shift = this.#mean.estimate().map((each, i) => each - plain[i]);
    }
    return this.#shift;
  }

  /** The mean's parameter: d. */
  #estimate(): Float64Array {
    this.#derive();
    return this.#mean.estimate();
  }

  /** Standard deviation of a reward: what a multiplier of the deviations is to be multiplied with. */
  get #deviation(): number {
    this.#derive();
    return this.#spread;
  }

  /** Adds to each score what the mean has over that of the posterior below: a score to each row of `points`, k or more times. */
  #corrected(scores: Float64Array, points: Float64Array): Float64Array {
    const shift = this.#derive();
    const d = shift.length;
    const count = points.length / d;
    for (let row = 0; row < count; row++) {
      let sum = 0;
      for (let i = 0, at = row * d; i < d; i++) sum += shift[i] * points[at + i];
      for (let at = row; at < scores.length; at += count) scores[at] += sum;
    }
    return scores;
  }

  /**
   * Samples about its mean of `multiplier` deviations, see `Ridge.drawScores` and `Ridge.sampleScores`; of log-odds, which tell
   * candidates apart where their chances are all but certain.
   */
  sampleScores(request: SampleRequest, multiplier: number): Scores {
    const { points, draws, normals } = request;
    const scale = multiplier * this.#deviation;
    if (draws > 0) return this.#posterior.drawScores(request, scale, this.#estimate());
    return { score: this.#corrected(this.#posterior.sampleScores(points, normals(this.#options.dimension), scale), points) };
  }

  /** What is linear in the features as expected rewards, in place. */
  #expected(linear: Float64Array): Float64Array {
    if (this.#bernoulli) for (let i = 0; i < linear.length; i++) linear[i] = logistic(this.#core, linear[i]);
    return linear;
  }

  /** Expected rewards at points, and how much more they are by so many deviations. */
  upper(points: Float64Array, multiplier: number): { readonly mean: Float64Array; readonly width: Float64Array } {
    const { mean, deviation } = this.#linear(points);
    const width = deviation.map((each) => multiplier * this.#deviation * each);
    if (!this.#bernoulli) return { mean, width };
    const greatest = this.#expected(mean.map((each, i) => each + width[i]));
    this.#expected(mean);
    return { mean, width: greatest.map((each, i) => each - mean[i]) };
  }

  #linear(points: Float64Array): Moments {
    const { mean, deviation } = this.#posterior.moments(points);
    return { mean: this.#corrected(mean, points), deviation };
  }

  predict(points: Float64Array): Moments {
    const { mean, deviation } = this.#linear(points);
    this.#expected(mean);
    return { mean, deviation: deviation.map((each, i) => each * (this.#bernoulli ? mean[i] * (1 - mean[i]) : this.#deviation)) };
  }

  /** Those of the posterior below, V without its ridge, then B; of log-odds their offsets too. */
  statistics(): Float64Array {
    const sums = this.#posterior.statistics();
    return this.#bernoulli ? Float64Array.from([...sums, ...this.#totals.subarray(1 + this.#options.dimension)]) : sums;
  }

  refactor(): void {
    this.#posterior.refactor();
    this.#mean.refactor();
    this.#shift = undefined;
  }

  save(writer: SnapshotWriter): void {
    this.#posterior.save(writer);
    writer.numbers([this.#rewards, this.#squares, this.#impressions, this.#halvings, this.#halving, this.#ridge, this.#due]);
    writer.numbers(this.#totals);
    this.#unmatured.save(writer);
    if (this.#bernoulli) {
      writer.numbers([this.#anchorDue]);
      writer.numbers(this.#anchor);
    }
    // Otherwise it follows from the sums.
    if (this.#serves === 1) return;
    writer.numbers([this.#taken, this.#spread]);
    writer.numbers(this.#mean.statistics());
  }

  load(reader: SnapshotReader): void {
    this.#posterior.load(reader);
    [this.#rewards, this.#squares, this.#impressions, this.#halvings, this.#halving, this.#ridge, this.#due] = reader.numbers(7);
    if (this.#ridge < this.#options.ridge || !Number.isSafeInteger(this.#halvings) || this.#halvings < 0) throw malformed();
    this.#totals = reader.numbers(this.#totals.length);
    this.#unmatured.load(reader);
    this.#shift = undefined;
    if (this.#bernoulli) {
      [this.#anchorDue] = reader.numbers(1);
      this.#anchor = reader.numbers(this.#options.dimension);
    }
    if (this.#serves === 1) return;
    [this.#taken, this.#spread] = reader.numbers(2);
    const sums = reader.numbers(this.#triangle + this.#options.dimension);
    this.#mean.replace(sums.subarray(0, this.#triangle), sums.subarray(this.#triangle));
  }
}

/** 1, halved so often. */
function halved(times: number): number {
  let weight = 1;
  for (let i = 0; i < times && weight > 0; i++) weight /= 2;
  return weight;
}

/** Adds x x^T to a packed lower triangle. */
function addSquare(packed: Float64Array, x: Float64Array): void {
  for (let i = 0, at = 0; i < x.length; i++) {
    const own = x[i];
    if (own === 0) {
      at += i + 1;
      continue;
    }
    for (let j = 0; j <= i; j++, at++) packed[at] += own * x[j];
  }
}
