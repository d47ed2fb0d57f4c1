// What products sold before a regression has learnt anything, as impressions that it did not see.

import type { Core } from "../../core/core.ts";
import type { SnapshotReader, SnapshotWriter } from "../../values/snapshot.ts";
import type { MaturedSums } from "./delay-correction.ts";
import type { Likelihood } from "./likelihood.ts";
import type { RidgeSums } from "./shrinkage.ts";
import { product, triangle } from "./vector.ts";

/**
 * Relative standard deviation of a product's rate here about its rate elsewhere. Other places and other visitors sell other things, however
 * many sales there are: they tell as much as 1 / ELSEWHERE^2 conversions at most.
 */
const ELSEWHERE = 0.3;
/** Sales that every product is credited with, at the common rate. */
const CREDIT = 1;
/** The ridge of interactions without any data, for coefficients of which each is about a quarter of the mean rate. */
export const TASTE = 16;
/** Impressions that the guess of the mean reward weighs. */
const GUESSED = 1;
/** Share of the greatest entry that keeps a regression of relative rates finite. */
const KEPT = 0.001;

/** A prior in the units of a regression. */
export interface ScaledPrior {
  /** The factor of `gram`: how many impressions tell as much as one conversion. */
  readonly scale: number;
  readonly gram: Float64Array;
  readonly moment: Float64Array;
  readonly squares: number;
}

/**
 * Relative rates of products. A product with s sales where e were expected at the common rate sells r = (s + 1) / (e + 1) times as often as
 * products do. It counts as w conversions, with 1 / w = 1 / e + 0.09.
 *
 * The common rate is that of the impressions so far: the one with which the relative rates of the shown products bring the rewards that came.
 * With it the products are impressions of a known reward. Own impressions soon outnumber them.
 */
export class SalesPrior {
  /** sum w x x^T: packed. */
  readonly gram: Float64Array;
  /** sum w r x, and sum w log(r) x: d each. */
  readonly #moment: Float64Array;
  readonly #logMoment: Float64Array;
  /** sum w r^2, and sum w log(r)^2. */
  readonly #squares: number;
  readonly #logSquares: number;
  /** The coefficients of relative rates: d. */
  readonly #relative: Float64Array;

  /** Tells priors apart. */
  get key(): string {
    return [...this.#relative, this.#squares, this.#logSquares].join();
  }

  private constructor(parts: readonly Float64Array[]) {
    [this.gram, this.#moment, this.#logMoment, this.#relative] = parts;
    [this.#squares, this.#logSquares] = parts[4];
  }

  /** @param points k x d, row-major. Undefined without sales, or without views. */
  static of(core: Core, points: Float64Array, sales: Float64Array, views: Float64Array): SalesPrior | undefined {
    const [sold, viewed] = [sum(sales), sum(views)];
    if (!(sold > 0 && viewed > 0)) return undefined;
    const d = points.length / sales.length;
    const gram = new Float64Array(triangle(d));
    const [moment, logMoment] = [new Float64Array(d), new Float64Array(d)];
    let [squares, logSquares] = [0, 0];
    for (let p = 0; p < sales.length; p++) {
      const expected = (views[p] / viewed) * sold;
      const weight = expected / (1 + ELSEWHERE * ELSEWHERE * expected);
      const rate = (sales[p] + CREDIT) / (expected + CREDIT);
      const log = core.log(rate);
      squares += weight * rate * rate;
      logSquares += weight * log * log;
      const x = points.subarray(p * d, (p + 1) * d);
      for (let i = 0, at = 0; i < d; at += ++i) {
        if (x[i] === 0) continue;
        const own = weight * x[i];
        moment[i] += own * rate;
        logMoment[i] += own * log;
        for (let j = 0; j <= i; j++) gram[at + j] += own * x[j];
      }
    }
    let most = 0;
    for (let i = 0; i < d; i++) most = Math.max(most, gram[triangle(i + 1) - 1]);
    if (!(most > 0)) return undefined;
    const { solved } = core.shrunkSolve(gram, KEPT * most, moment, 1);
    return new SalesPrior([gram, moment, logMoment, solved, Float64Array.of(squares, logSquares)]);
  }

  /** The prior of a regression with these sums so far, whose rewards have a standard deviation of `spread`. */
  scaled(sums: MaturedSums, likelihood: Likelihood, spread: number): ScaledPrior {
    const { gram } = this;
    if (likelihood.level) return { scale: 1, gram, moment: this.#logMoment, squares: this.#logSquares };
    const shown = Math.max(product(this.#relative, sums.level), 0);
    const mean = (Math.max(sums.rewards, 0) + GUESSED * Math.sqrt(likelihood.rewardVariance)) / (shown + GUESSED);
    const scale = (spread * spread) / (mean * mean);
    return { scale, gram, moment: this.#moment.map((each) => scale * mean * each), squares: scale * mean * mean * this.#squares };
  }

  save(writer: SnapshotWriter): void {
    writer.numbers(this.gram, this.#moment, this.#logMoment, this.#relative, [this.#squares, this.#logSquares]);
  }

  static load(reader: SnapshotReader, d: number): SalesPrior {
    return new SalesPrior([triangle(d), d, d, d, 2].map((length) => reader.numbers(length)));
  }
}

/** Sums with those of a prior. */
export function withPrior(sums: MaturedSums, { scale, gram, moment, squares }: ScaledPrior): RidgeSums {
  return {
    ...sums,
    gram: sums.gram.map((each, i) => each + scale * gram[i]),
    moment: sums.moment.map((each, i) => each + moment[i]),
    squares: sums.squares + squares,
    taste: TASTE * scale,
  };
}

function sum(values: Float64Array): number {
  return values.reduce((total, each) => total + each, 0);
}
