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
  readonly #likelihood: Likelihood;
  /** sum w y x: d, where y is r, or log(r) for a likelihood that knows the level. */
  readonly #moment: Float64Array;
  /** sum w y^2. */
  readonly #squares: number;
  /** The coefficients of relative rates: d. Empty for a likelihood that knows the level. */
  readonly #relative: Float64Array;

  /** Tells priors apart. */
  get key(): string {
    return [...this.#moment, this.#squares].join();
  }

  private constructor(likelihood: Likelihood, parts: readonly Float64Array[]) {
    this.#likelihood = likelihood;
    [this.gram, this.#moment, this.#relative, [this.#squares]] = parts;
  }

  /** @param products `points`: k x d, row-major. Returns undefined without sales, or without views. */
  static of(
    core: Core,
    likelihood: Likelihood,
    { points, sales, views }: { readonly points: Float64Array; readonly sales: Float64Array; readonly views: Float64Array },
  ): SalesPrior | undefined {
    const [sold, viewed] = [sum(sales), sum(views)];
    if (!(sold > 0 && viewed > 0)) return undefined;
    const d = points.length / sales.length;
    const gram = new Float64Array(triangle(d));
    const moment = new Float64Array(d);
    let squares = 0;
    for (let p = 0; p < sales.length; p++) {
      const expected = (views[p] / viewed) * sold;
      const weight = expected / (1 + ELSEWHERE * ELSEWHERE * expected);
      const rate = (sales[p] + CREDIT) / (expected + CREDIT);
      const target = likelihood.level ? core.log(rate) : rate;
      squares += weight * target * target;
      const x = points.subarray(p * d, (p + 1) * d);
      for (let i = 0, at = 0; i < d; at += ++i) {
        if (x[i] === 0) continue;
        const own = weight * x[i];
        moment[i] += own * target;
        for (let j = 0; j <= i; j++) gram[at + j] += own * x[j];
      }
    }
    let most = 0;
    for (let i = 0; i < d; i++) most = Math.max(most, gram[triangle(i + 1) - 1]);
    if (!(most > 0)) return undefined;
    const relative = likelihood.level ? new Float64Array(0) : core.shrunkSolve(gram, KEPT * most, moment, 1).solved;
    return new SalesPrior(likelihood, [gram, moment, relative, Float64Array.of(squares)]);
  }

  /** The prior of a regression with these sums so far, whose rewards have a standard deviation of `spread`. */
  scaled(sums: MaturedSums, spread: number): ScaledPrior {
    const { gram } = this;
    if (this.#likelihood.level) return { scale: 1, gram, moment: this.#moment, squares: this.#squares };
    const shown = Math.max(product(this.#relative, sums.level), 0);
    const mean = (Math.max(sums.rewards, 0) + GUESSED * Math.sqrt(this.#likelihood.rewardVariance)) / (shown + GUESSED);
    const scale = (spread * spread) / (mean * mean);
    return { scale, gram, moment: this.#moment.map((each) => scale * mean * each), squares: scale * mean * mean * this.#squares };
  }

  save(writer: SnapshotWriter): void {
    writer.numbers(this.gram, this.#moment, this.#relative, [this.#squares]);
  }

  static load(reader: SnapshotReader, likelihood: Likelihood, d: number): SalesPrior {
    const lengths = [triangle(d), d, likelihood.level ? 0 : d, 1];
    return new SalesPrior(
      likelihood,
      lengths.map((length) => reader.numbers(length)),
    );
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
