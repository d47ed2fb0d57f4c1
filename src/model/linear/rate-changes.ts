// Finds the time since when conversion rates differ from before.

import type { Core } from "../../core/core.ts";
import type { DelayCorrection, Interval, MaturedSums } from "./delay-correction.ts";
import type { Likelihood } from "./likelihood.ts";
import { Ridge } from "./ridge.ts";
import type { ChosenRidges } from "./shrinkage.ts";
import { product } from "./vector.ts";

/** A change of rates that is more likely than none. */
export interface RateChange {
  /** Since when the present rates hold: a time in ms, or a round. Its error is up to two thirds of the time since. */
  readonly since: number;
  /** Probability that rates have changed at all. */
  readonly probability: number;
}

/** Odds of a change at the start of an interval, before there are any data. */
const ODDS = 1 / 20;
/** Rewards of average size that a part must have, if rewards were the same everywhere. The sums of fewer are far from normal. */
const LEAST_REWARDS = 10;
/** Share of the impressions since a change that must have matured. Of younger ones the distribution of delays says too little. */
const LEAST_MATURED = 0.5;
/** Weight of the common variance in that of a part, in impressions. */
const GUESSED = 10;
/** Probabilities as close as this to 0 or 1 count as certain. */
const CERTAIN = 0.001;
/** Growth of impressions from one search to the next. */
const GROWTH = 1 / 32;
/** Impressions at the first search. */
const FIRST = 32;

/** Log evidence of a regression, with unit noise: fit / (2 noise) - size / 2. */
interface Evidence {
  readonly fit: number;
  readonly size: number;
}

/**
 * Finds out whether rates have changed, and when last.
 *
 * The impressions are kept by intervals of time. Rates may have changed at the start of an interval. The evidence for that is the
 * likelihood of two regressions, one before and one from there on, over that of one regression for all impressions. An interval then
 * weighs as much as the probability that rates have not changed after its start. Without any evidence each weighs exactly 1.
 *
 * The noise of two regressions is that of the noisier one. The variance of a conversion grows with its rate, so a sudden run of
 * conversions is less surprising than the average variance says.
 *
 * Deviation: one change at most is looked for. After several, the intervals before the last one are a mixture.
 * **Source:** Adams and MacKay 2007, Bayesian online changepoint detection; MacKay 1992, Bayesian interpolation, for the evidence.
 */
export class RateChanges {
  readonly #core: Core;
  readonly #dimension: number;
  readonly #ridges: ChosenRidges;
  readonly #likelihood: Likelihood;
  #workspace: Ridge | undefined;
  /** Impressions at the next search. */
  due = FIRST;

  constructor(core: Core, dimension: number, ridges: ChosenRidges, likelihood: Likelihood) {
    this.#core = core;
    this.#ridges = ridges;
    this.#likelihood = likelihood;
    this.#dimension = dimension;
  }

  /** Takes the memory of searches, which a policy that only decides does without. Call it before the first search. */
  prepare(): void {
    this.#workspace ??= new Ridge(this.#core, { dimension: this.#dimension, ridge: this.#ridges.least, derived: true });
  }

  /** Puts off the next search until impressions have grown by a thirty-second, and by a quarter of the features. */
  postpone(impressions: number): void {
    const growth = Math.max(1, Math.ceil(impressions * GROWTH), Math.ceil(this.#dimension / 4));
    this.due = Math.max(FIRST, impressions + growth);
  }

  /** Weights of the intervals of a correction, oldest first. **Cost:** O(d^3) for each interval. */
  weights(correction: DelayCorrection): number[] {
    const intervals = correction.intervals();
    const places = searched(intervals);
    const factors = places.length > 0 ? this.#logFactors(correction, intervals, places) : [];
    const most = Math.max(0, ...factors);
    let none = this.#core.exp(-most);
    // Without evidence there is no change, rather than an improbable one: nothing is forgotten then.
    const odds = factors.map((each) => ODDS * Math.max(this.#core.exp(each - most) - this.#core.exp(-most), 0));
    const total = odds.reduce((sum, each) => sum + each, none);
    let next = 0;
    return intervals.map((_, i) => {
      if (places[next] === i) none += odds[next++];
      const weight = none / total;
      return weight < CERTAIN ? 0 : weight > 1 - CERTAIN ? 1 : weight;
    });
  }

  /** Log of the Bayes factor of a change at the start of each interval in `places`. */
  #logFactors(correction: DelayCorrection, intervals: readonly Interval[], places: readonly number[]): number[] {
    const all = correction.zero();
    for (const each of intervals) each.addTo(all);
    const sums = correction.sumsOf(all);
    // All parts have the level of all impressions.
    const level = this.#ridges.level(sums);
    const evidence = (total: Float64Array): Evidence => this.#evidence(correction.sumsOf(total), sums, level);
    const before: Evidence[] = [];
    let total = correction.zero();
    for (let i = 0; before.length < places.length; i++) {
      if (places[before.length] === i) before.push(evidence(total));
      intervals[i].addTo(total);
    }
    const after: Evidence[] = [];
    total = correction.zero();
    for (let i = intervals.length - 1; after.length < places.length; i--) {
      intervals[i].addTo(total);
      if (places[places.length - 1 - after.length] === i) after.unshift(evidence(total));
    }
    const whole = evidence(all);
    const prior = this.#ridges.logDeterminant(level);
    return places.map((place, i) => {
      const fit = before[i].fit + after[i].fit - whole.fit;
      const size = before[i].size + after[i].size - whole.size - prior;
      const factor = (fit / this.#noise(intervals, place) - size) / 2;
      // An overflow is no evidence.
      return Number.isFinite(factor) ? factor : 0;
    });
  }

  /** The evidence of a part of `all` impressions, without the prior's part of the size. */
  #evidence(part: MaturedSums, { count, rewards }: MaturedSums, level: Float64Array | undefined): Evidence {
    const moment = this.#likelihood.moment({ ...part, count, rewards });
    const workspace = this.#workspace as Ridge;
    workspace.replace(this.#ridges.shrunk(part, level), moment);
    return { fit: product(moment, workspace.estimate()), size: workspace.logDeterminant() };
  }

  /** Variance of the noise, if rates change at the start of interval `place`. */
  #noise(intervals: readonly Interval[], place: number): number {
    const all = scalars(intervals);
    const common = variance(all, all.squares / all.count);
    const parts = [scalars(intervals.slice(0, place)), scalars(intervals.slice(place))];
    const most = Math.max(common, ...parts.map((part) => variance(part, common)));
    return ((this.#likelihood.noiseVariance ?? common) * most) / common;
  }
}

type Scalars = Pick<Interval, "shown" | "count" | "rewards" | "squares" | "sizes">;

function scalars(intervals: readonly Interval[]): Scalars {
  const sum = { shown: 0, count: 0, rewards: 0, squares: 0, sizes: 0 };
  for (const each of intervals) {
    sum.shown += each.shown;
    sum.count += each.count;
    sum.rewards += each.rewards;
    sum.squares += each.squares;
    sum.sizes += each.sizes;
  }
  return sum;
}

/** Variance of the rewards so far, for each matured impression. While conversions are still to come it is greater than afterwards. */
function variance({ shown, count, rewards, squares }: Scalars, guess: number): number {
  const deviations = shown > 0 ? Math.max(squares - (rewards * rewards) / shown, 0) : 0;
  return (deviations + GUESSED * guess) / (count + GUESSED);
}

/** The intervals at whose start rates may have changed: those with enough impressions before and after. */
function searched(intervals: readonly Interval[]): number[] {
  const { shown, count, squares, sizes } = scalars(intervals);
  // The impressions that bring as many rewards of average size.
  const least = (LEAST_REWARDS * (squares * count)) / (sizes * sizes);
  const places: number[] = [];
  const before = { shown: 0, count: 0 };
  for (const [i, each] of intervals.entries()) {
    const after = count - before.count;
    // NaN, where there are no rewards, fails these comparisons.
    if (before.count >= least && after >= least && after >= LEAST_MATURED * (shown - before.shown)) places.push(i);
    before.shown += each.shown;
    before.count += each.count;
  }
  return places;
}
