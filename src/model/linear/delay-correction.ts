// Corrects the sums of a ridge for conversions still to come. It knows no candidates and makes no decision.

import { malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import type { Cohort } from "../delay/cohorts.ts";
import type { DelayCurve } from "../delay/delays.ts";
import { UnmaturedSums } from "../delay/unmatured-sums.ts";
import type { Moment, Window } from "../delay/window.ts";
import { ExactSums } from "../exact-sums.ts";
import type { AppendedImpression, ReportedDelay } from "../posterior.ts";
import { triangle } from "./vector.ts";

/** Contribution of one impression to the sums. */
export interface Terms {
  /** Number of impressions that it counts for: 1, or its examination weight. */
  readonly count: number;
  /** The features times the weight of the impression. */
  readonly features: Float64Array;
  /** The vector whose square V adds up: the features times the root of the weight. */
  readonly weighted: Float64Array;
  /** Vector of which the moment has the matured share F(s): d, or empty. */
  readonly offsets: Float64Array;
  /** Places of all features that are not 0, ascending. Elsewhere the three vectors are 0. */
  readonly places: readonly number[];
}

/** Sums in which an impression weighs w: the share F(s) that has matured at its age s, times its weight after forgetting. */
export interface MaturedSums {
  /** sum w x x^T with x as weighted: packed lower triangle of d x d. */
  readonly gram: Float64Array;
  /** sum reward x: d. Rewards arrive as they mature, so they need no F(s). */
  readonly moment: Float64Array;
  /** sum w x, each times its weight in V: d. */
  readonly level: Float64Array;
  /** sum w offsets: d, or empty. */
  readonly offsets: Float64Array;
  /** sum w. */
  readonly count: number;
  /** Sum of rewards, and of their squares. */
  readonly rewards: number;
  readonly squares: number;
}

/** The matured sums of the impressions of one time interval, whatever they weigh. */
export interface Interval extends Pick<MaturedSums, "count" | "rewards" | "squares"> {
  /** In the unit of the window. */
  readonly start: number;
  /** Impressions, matured or not. */
  readonly shown: number;
  /** Sum of the sizes of rewards. */
  readonly sizes: number;
  /** Adds the sums to those of other intervals, as `zero` begins and `sumsOf` reads them. */
  addTo(total: Float64Array): void;
}

/** The first of several intervals after a change, by their weights, oldest first. Undefined if there probably was none. */
export function changedAt(weights: readonly number[]): number | undefined {
  const first = weights.findIndex((weight) => weight >= 0.5);
  return first > 0 ? first : undefined;
}

/** Single numbers of a lasting cohort: sums of rewards, of their squares, of their sizes, and the impressions forgotten. */
const SCALARS = 4;
const FORGOTTEN = 3;

interface DelayCorrectionOptions {
  /** Offsets that each impression has: d, or none. */
  readonly offsets: number;
  /** Whether cohorts last, and have weights. */
  readonly lasting: boolean;
  /** Age at which rewards are revealed. Undefined: it is learnt. */
  readonly knownDelay?: number;
}

/**
 * Corrects the sums of a ridge regression for conversions that have not come yet.
 *
 * At age s an impression has brought the share F(s) of its conversions. F is the distribution of delays, estimated from the
 * conversions so far. With V_F = sum F(s) x x^T and B = sum reward x, the coefficients V_F^-1 B are the regression of rewards on
 * F(s) x in which an impression weighs 1 / F(s). The correction subtracts the unmatured part of V: sum (1 - F(s)) x x^T.
 *
 * Cohorts of age keep its sums (see `UnmaturedSums`), so memory is bounded: O(d^2) for each of at most five cohorts in a window.
 *
 * Lasting cohorts hold all sums of the regression, and stay when the window has passed. Each has a weight, which `weigh` replaces: the
 * cohort's share of impressions that are not forgotten. The weights are derived: they are no part of what was learnt.
 */
export class DelayCorrection {
  readonly #dimension: number;
  readonly #unmatured: UnmaturedSums;
  readonly #lasting: boolean;
  /** Sums over all impressions, matured or not, by weight: their number, then their features (d), then their offsets (d, or none). */
  #totals: ExactSums;
  /** Views of the last result of `corrected`. */
  #matured: ReturnType<typeof viewsOf> | undefined;
  /** Sum of rewards, and of their squares, by weight. */
  #rewards = new ExactSums(new Float64Array(2));

  constructor(window: Window, dimension: number, { offsets, lasting, knownDelay }: DelayCorrectionOptions) {
    this.#dimension = dimension;
    this.#lasting = lasting;
    this.#totals = new ExactSums(new Float64Array(1 + dimension + offsets));
    const size = triangle(dimension) + this.#totals.length + (lasting ? dimension : 0);
    this.#unmatured = new UnmaturedSums(window, size, { lasting, scalars: lasting ? SCALARS : 0, knownDelay });
  }

  /** Where the moment of a lasting cohort begins, after the sums that mature. */
  get #moment(): number {
    return triangle(this.#dimension) + this.#totals.length;
  }

  /** Where the scalars of a lasting cohort begin, in sums of intervals. */
  get #scalars(): number {
    return this.#moment + this.#dimension;
  }

  /** Impressions, by weight. */
  get impressions(): number {
    return this.#totals.values[0];
  }

  /** Weight of an impression shown at a moment: 1, unless rates have changed since. */
  weightAt(impression: Moment): number {
    const cohort = this.#lasting ? this.#unmatured.cohortOf(impression) : undefined;
    return cohort ? this.#weightOf(cohort) : 1;
  }

  #weightOf({ scalars, count }: Cohort): number {
    return this.#lasting ? 1 - scalars.values[FORGOTTEN] / count : 1;
  }

  /** Counts an impression of this weight. */
  append(terms: Terms, moment: Moment, weight: number, clock = moment): void {
    this.#count(terms, this.#unmatured.append(moment, terms.count, clock), weight, 1);
  }

  /** Undoes `add`. */
  remove(terms: Terms, moment: Moment, weight: number): void {
    this.#count(terms, this.#unmatured.cohortOf(moment), weight, -1);
    this.#unmatured.remove(moment);
  }

  #count(terms: Terms, cohort: Cohort | undefined, weight: number, sign: 1 | -1): void {
    this.#addTerms(this.#totals, 0, terms, sign * weight);
    if (!cohort) return;
    cohort.sums.addSquare(terms.weighted, sign, terms.places);
    this.#addTerms(cohort.sums, triangle(this.#dimension), terms, sign);
    if (this.#lasting) cohort.scalars.add(FORGOTTEN, sign * terms.count * (1 - weight));
  }

  #addTerms(sums: ExactSums, start: number, { count, features, offsets, places }: Terms, factor: number): void {
    sums.add(start, factor * count);
    sums.addMultiple(start + 1, features, factor, places);
    if (offsets.length > 0) sums.addMultiple(start + 1 + features.length, offsets, factor, places);
  }

  /** Moves the clock on to a moment without an impression. */
  advance(moment: Moment): void {
    this.#unmatured.advance(moment);
  }

  /** Replaces the reward `previous` of an impression that weighs `weight`. */
  observe(impression: AppendedImpression, weight: number, reward: number, previous?: number, delay?: ReportedDelay): void {
    const before = previous ?? 0;
    const cohort = this.#lasting ? this.#unmatured.cohortOf(impression) : undefined;
    cohort?.sums.addMultiple(this.#moment, impression.features, reward - before);
    // Two additions each: a square is rounded, and what was added is taken away to the bit.
    for (const [own, sign] of [[reward, 1] as const, [before, -1] as const]) {
      this.#rewards.add(0, sign * weight * own);
      this.#rewards.add(1, sign * weight * (own * own));
      cohort?.scalars.add(0, sign * own);
      cohort?.scalars.add(1, sign * (own * own));
      cohort?.scalars.add(2, sign * Math.abs(own));
    }
    this.observeDelay(impression, previous, delay);
  }

  /** Counts how late an impression converted, as `UnmaturedSums.observe`. */
  observeDelay(impression: AppendedImpression, previous: number | undefined, delay?: ReportedDelay): void {
    this.#unmatured.observe(impression, previous, delay);
  }

  /**
   * The matured sums, valid until the next call. `all`: V without its ridge and B, over all impressions, which are read at once.
   * **Cost:** O(cohorts d^2).
   */
  corrected(all: { readonly sums: Pick<MaturedSums, "gram" | "moment"> }): MaturedSums {
    const end = triangle(this.#dimension);
    const missing = this.#unmatured.missing((cohort) => this.#weightOf(cohort));
    // A new array takes longer than its sums: those of each round stand in the same place.
    if (this.#matured?.all !== missing) this.#matured = viewsOf(missing, this.#dimension, this.#totals.length);
    const { gram: matured, rest, level, offsets } = this.#matured;
    const { gram, moment } = all.sums;
    const totals = this.#totals.values;
    for (let i = 0; i < end; i++) matured[i] = gram[i] - matured[i];
    for (let i = 0; i < totals.length; i++) rest[i] = totals[i] - rest[i];
    return {
      gram: matured,
      moment: moment.slice(),
      level,
      offsets,
      count: Math.max(rest[0], 0),
      rewards: this.#rewards.values[0],
      squares: this.#rewards.values[1],
    };
  }

  /** Standard error of the matured share of impressions, relative to that share. */
  maturityError(): number {
    return this.#unmatured.maturityError(this.impressions, (cohort) => this.#weightOf(cohort));
  }

  /** The distribution of delays so far. */
  curve(): DelayCurve {
    return this.#unmatured.curve();
  }

  /** Sum of the offsets of all impressions, matured or not: d, or empty. */
  get offsets(): Float64Array {
    return this.#totals.values.subarray(1 + this.#dimension);
  }

  /** The intervals of lasting cohorts, oldest first. */
  intervals(): Interval[] {
    const [moment, end] = [this.#moment, this.#scalars];
    return Array.from(this.#unmatured.shares(), ([cohort, missing]) => {
      const { count } = cohort;
      const [sums, scalars] = [cohort.sums.values, cohort.scalars.values];
      const matured = 1 - missing;
      return {
        start: this.#unmatured.start(cohort),
        shown: count,
        count: matured * count,
        rewards: scalars[0],
        squares: scalars[1],
        sizes: scalars[2],
        addTo(total) {
          for (let i = 0; i < moment; i++) total[i] += matured * sums[i];
          for (let i = moment; i < end; i++) total[i] += sums[i];
          for (let i = 0; i < SCALARS; i++) total[end + i] += scalars[i];
        },
      };
    });
  }

  /** Sums of no interval. */
  zero(): Float64Array {
    return new Float64Array(this.#scalars + SCALARS);
  }

  /** Sums of intervals, as views of `total`. */
  sumsOf(total: Float64Array): MaturedSums {
    const [d, moment, scalars] = [this.#dimension, this.#moment, this.#scalars];
    const features = triangle(d) + 1;
    return {
      gram: total.subarray(0, features - 1),
      moment: total.subarray(moment, scalars),
      level: total.subarray(features, features + d),
      offsets: total.subarray(features + d, moment),
      count: total[features - 1],
      rewards: total[scalars],
      squares: total[scalars + 1],
    };
  }

  /** Weights of the lasting cohorts, oldest first. */
  get weights(): number[] {
    return this.#unmatured.cohorts.map((cohort) => this.#weightOf(cohort));
  }

  /**
   * Replaces the weights of lasting cohorts, oldest first. Returns V without its ridge and B, over all impressions, by weight.
   * **Cost:** O(cohorts d^2).
   */
  weigh(weights: readonly number[]): { readonly gram: Float64Array; readonly moment: Float64Array } {
    const [total, end] = [this.zero(), this.#scalars];
    for (const [i, { sums, scalars, count }] of this.#unmatured.cohorts.entries()) {
      const weight = weights[i];
      for (let j = 0; weight > 0 && j < end; j++) total[j] += weight * sums.values[j];
      for (let j = 0; j < FORGOTTEN; j++) total[end + j] += weight * scalars.values[j];
      scalars.set(FORGOTTEN, (1 - weight) * count);
    }
    const { gram, moment, rewards, squares } = this.sumsOf(total);
    this.#totals = new ExactSums(total.slice(gram.length, this.#moment));
    this.#rewards = new ExactSums(Float64Array.of(rewards, squares));
    return { gram, moment };
  }

  /** Of lasting cohorts: V without its ridge, B, and the sum of offsets, over all impressions, whatever they weigh. Otherwise undefined. */
  lasting(): Float64Array | undefined {
    if (!this.#lasting) return undefined;
    const all = new ExactSums(new Float64Array(this.#scalars));
    for (const { sums } of this.#unmatured.cohorts) all.addAll(sums);
    const offsets = triangle(this.#dimension) + 1 + this.#dimension;
    const statistics = new Float64Array(this.#scalars - 1 - this.#dimension);
    statistics.set(all.values.subarray(0, triangle(this.#dimension)));
    statistics.set(all.values.subarray(this.#moment), triangle(this.#dimension));
    statistics.set(all.values.subarray(offsets, this.#moment), triangle(this.#dimension) + this.#dimension);
    return statistics;
  }

  /** Joins the cohorts that have grown old. */
  refactor(): void {
    this.#unmatured.refactor();
  }

  /** Adds the sums of others with the same options, which lose theirs. Call `refactor`, and `weigh` lasting cohorts, afterwards. */
  merge(other: DelayCorrection): void {
    this.#unmatured.merge(other.#unmatured);
    this.#totals.addAll(other.#totals);
    this.#rewards.addAll(other.#rewards);
  }

  halve(): void {
    this.#unmatured.halve();
    for (const each of [this.#totals, this.#rewards]) each.scale(1 / 2);
  }

  save(writer: SnapshotWriter): void {
    this.#totals.save(writer);
    this.#rewards.save(writer);
    this.#unmatured.save(writer);
  }

  load(reader: SnapshotReader): void {
    this.#totals = ExactSums.load(reader, this.#totals.length);
    this.#rewards = ExactSums.load(reader, 2);
    this.#unmatured.load(reader);
    if (!this.weights.every((weight) => weight >= 0 && weight <= 1)) throw malformed();
  }
}

/** Views of sums that mature: the triangle of d features, then `totals` numbers of which the features are those from 1 on. */
function viewsOf(all: Float64Array, d: number, totals: number) {
  const rest = all.subarray(triangle(d), triangle(d) + totals);
  return { all, gram: all.subarray(0, triangle(d)), rest, level: rest.subarray(1, 1 + d), offsets: rest.subarray(1 + d) };
}
