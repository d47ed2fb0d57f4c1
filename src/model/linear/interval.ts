// The mean reward of an impression of a product, with an interval for which no model has to be right.

import { QUANTILE } from "../../values/quantile.ts";
import { betaInterval } from "../beta.ts";
import type { Brought } from "../delay/own-laws.ts";

/** An average over the matured impressions of a product, and the interval that holds it with a probability of 95 %. */
export interface Average {
  /** NaN before the first impression. */
  readonly average: number;
  readonly low: number;
  readonly high: number;
}

/** The expected reward at a point, as a model estimates it, and the average of the product that the point belongs to. */
export interface Interval extends Average {
  /** It has no interval: where a model cannot express the truth, its error does not shrink as data grow. */
  readonly mean: number;
}

/** Conversions with which the size of a product's rewards is its own. A single one may be of a kind that all others exceed. */
export const LEAST_CONVERSIONS = 10;
/** Jeffreys' prior, in conversions. */
const PRIOR = 0.5;

const NOTHING: Brought = { impressions: 0, conversions: 0, lawful: 0, rewards: 0, squares: 0 };

const dispersionOf = ({ conversions, rewards, squares }: Brought): number => (squares * conversions) / (rewards * rewards);

/**
 * The averages of products.
 *
 * Rewards of 0 or `size` with a mean m are conversions with a rate of m over `size`, and the interval is Jeffreys'. Other rewards vary as
 * much as if they had the size of mean square over mean. Those of a product are taken to vary as much as those of all products, if that is
 * more: a few amounts have rarely the greatest one among them. Rewards that may be negative have a normal interval.
 *
 * The distribution of delays is itself an estimate: an average is what has come, over the impressions that have matured. The error of
 * their share makes the interval wider.
 * **Source:** Brown, Cai, DasGupta 2001, interval estimation for a binomial proportion.
 */
export class ProductAverages {
  readonly #products: ReadonlyMap<number, Brought>;
  readonly #all: Brought;
  readonly #range: { readonly min: number; readonly max: number };
  readonly #maturityError: number;

  /**
   * `maturityError`: standard error of the matured share of impressions by the common law, relative to that share. `range`: of the mean reward
   * of an impression.
   */
  constructor(products: ReadonlyMap<number, Brought>, maturityError: number, range: { readonly min: number; readonly max: number }) {
    this.#products = products;
    this.#range = range;
    this.#maturityError = maturityError;
    const sum = (of: keyof Brought): number => Array.from(products.values()).reduce((all, each) => all + each[of], 0);
    this.#all = { ...NOTHING, conversions: sum("conversions"), rewards: sum("rewards"), squares: sum("squares") };
  }

  of(key: number): Brought {
    return this.#products.get(key) ?? NOTHING;
  }

  /** As `maturityError`, by a law of the product's own. It rests on fewer conversions. */
  errorOf(key: number): number {
    const { conversions } = this.#all;
    return this.#maturityError * Math.sqrt(Math.max(conversions / Math.max(this.of(key).lawful, 1), 1));
  }

  /** The size of rewards: mean square over mean. */
  #sizeOf(own: Brought): number {
    const { rewards, squares } = this.#all;
    const typical = rewards > 0 ? squares / rewards : Math.min(this.#range.max, Number.MAX_VALUE);
    if (!(own.rewards > 0)) return typical;
    const size = (this.#dispersionOf(own) * own.rewards) / own.conversions;
    return own.conversions < LEAST_CONVERSIONS ? Math.max(size, typical) : size;
  }

  /** The mean square of rewards over their squared mean. */
  #dispersionOf(own: Brought): number {
    return Math.max(dispersionOf(own), dispersionOf(this.#all));
  }

  /**
   * The mean reward of an impression. `matured`: how many the rewards come from, with the relative error of their number. Default: the
   * product's own.
   */
  average(key: number, matured = this.of(key).impressions, error = this.errorOf(key)): Average {
    const own = this.of(key);
    const { min, max } = this.#range;
    // Conversions may come sooner than expected. Each has an impression.
    const impressions = Math.max(matured, this.conversions(key));
    const average = Math.min(Math.max(own.rewards / impressions, min), max);
    const [below, above] = min < 0 ? this.#normal(own, impressions) : this.#binomial(own, impressions);
    const late = QUANTILE * error * average;
    if (Number.isNaN(average)) return { average, low: min, high: max };
    return {
      average,
      low: Math.max(average - Math.sqrt(below * below + late * late), min),
      high: Math.min(average + Math.sqrt(above * above + late * late), max),
    };
  }

  /** Conversions of one size that tell as much as those of a product. */
  conversions(key: number): number {
    const own = this.of(key);
    return own.rewards > 0 ? own.rewards / this.#sizeOf(own) : 0;
  }

  #binomial(own: Brought, impressions: number): readonly [below: number, above: number] {
    const size = this.#sizeOf(own);
    const conversions = own.rewards > 0 ? own.rewards / size : 0;
    const [low, high] = betaInterval(conversions + PRIOR, impressions - conversions + PRIOR);
    const average = own.rewards / impressions;
    return [
      conversions > 0 ? Math.max(average - size * low, 0) : 0,
      conversions < impressions ? Math.max(size * high - average, 0) : size - average,
    ];
  }

  #normal({ squares }: Brought, impressions: number): readonly [below: number, above: number] {
    const { min, max } = this.#range;
    const half = (QUANTILE * Math.sqrt(squares + PRIOR * Math.max(min * min, max * max))) / impressions;
    return [half, half];
  }

  /**
   * The mean reward of a conversion, which is positive. Its variance is in units of its square. One more conversion deviates by the mean, because few do not show how much they
   * vary. Nothing bounds the mean of fewer than ten.
   * **Source:** Wilson and Hilferty 1931, the quantiles of a gamma distribution with the mean and the variance of the sum.
   */
  amount(key: number): Average {
    const own = this.of(key);
    const { conversions } = own;
    const average = own.rewards / conversions;
    if (conversions < LEAST_CONVERSIONS) return { average, low: 0, high: Number.POSITIVE_INFINITY };
    const variance = ((this.#dispersionOf(own) - 1) * conversions + 1) / (conversions + 1);
    const ninth = variance / (9 * conversions);
    const half = QUANTILE * Math.sqrt(ninth);
    const cube = (each: number): number => each * each * each;
    return { average, low: average / cube(1 - ninth + half), high: average / cube(Math.max(1 - ninth - half, 0)) };
  }
}
