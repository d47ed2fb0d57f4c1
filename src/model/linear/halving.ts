import type { ForgettingSettings } from "../delay/forgetting.ts";

/**
 * The schedule of forgetting: after each half-life of impressions, all sums are halved.
 *
 * The usual alternative multiplies the sums by a factor with each impression. Halving keeps weights powers of two: sums stay exact
 * for about twenty half-lives, and a late or retracted reward has exactly the weight of its impression.
 * **Source:** Russac, Vernade, Cappé 2019, weighted linear bandits, for the discount. Their second covariance is left out.
 */
export class Halving {
  /** In impressions. */
  readonly halfLife: number;
  /** Halvings so far. An impression keeps this count as its slot. */
  times = 0;

  /** `null`: nothing is forgotten. */
  constructor(forgetting: ForgettingSettings | null) {
    this.halfLife = forgetting?.halfLife ?? Number.MAX_VALUE;
  }

  /** Impressions at which the next halving is due. */
  get next(): number {
    return this.halfLife * (this.times + 1);
  }

  /** Present weight of an impression with this slot: 1, halved once for each halving since. */
  weight(slot: number): number {
    let weight = 1;
    for (let i = slot; i < this.times && weight > 0; i++) weight /= 2;
    return weight;
  }
}
