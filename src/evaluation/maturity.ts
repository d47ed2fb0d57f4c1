/** A conversion that was seen: how long after its impression it came, and how late it could have come to be seen as well, in ms. */
export interface SeenConversion {
  readonly delay: number;
  readonly bound: number;
}

/**
 * The probability that a conversion has come by an age, from conversions that were seen because they had come.
 *
 * What has not come yet is not seen, so short delays are over-represented: the product limit takes time backwards. Of the
 * conversions that could have been seen with delay u and had one of at most u, the share with exactly u.
 * **Source:** Lagakos, Barraj and De Gruttola, Biometrika 75, 1988 (right truncation, the reverse product limit). **Cost:** O(n log n).
 */
export class ProductLimit {
  readonly #seen: readonly SeenConversion[];
  /** Distinct delays, ascending; how many conversions have each, how many could have it, and F just below it. */
  readonly #delays: Float64Array;
  readonly #counts: Float64Array;
  readonly #atRisk: Float64Array;
  readonly #below: Float64Array;

  constructor(seen: readonly SeenConversion[]) {
    this.#seen = seen;
    const delays = Float64Array.from(seen, ({ delay }) => delay).sort();
    const bounds = Float64Array.from(seen, ({ bound }) => bound).sort();
    this.#delays = delays.filter((delay, i) => delay !== delays[i - 1]);
    this.#counts = this.#delays.map((delay) => countUpTo(delays, delay) - countBelow(delays, delay));
    this.#atRisk = this.#delays.map((delay) => countUpTo(delays, delay) - countBelow(bounds, delay));
    this.#below = new Float64Array(this.#delays.length);
    let product = 1;
    for (let i = this.#delays.length - 1; i >= 0; i--) {
      product *= 1 - this.#counts[i] / this.#atRisk[i];
      this.#below[i] = product;
    }
  }

  /** F(age): 1 from the longest delay on, since longer ones are not known of. */
  at(age: number): number {
    const next = countUpTo(this.#delays, age);
    return next < this.#delays.length ? this.#below[next] : 1;
  }

  /**
   * What each conversion seen adds to a sum of values divided by F at their ages, through F: with it the sum's spread counts
   * that F is an estimate. Sums to 0 but for rounding.
   *
   * @param ages of the values, in ms. @param values already divided. **Shapes:** as many as conversions seen.
   */
  influence(ages: Float64Array, values: Float64Array): Float64Array {
    const order = Array.from(ages, (_, i) => i).sort((a, b) => ages[a] - ages[b]);
    // d log F(s) is a sum over delays u > s: from the side of a delay, over the values of lesser ages.
    const younger = new Float64Array(this.#delays.length);
    const drift = new Float64Array(this.#delays.length + 1);
    let sum = 0;
    let next = 0;
    this.#delays.forEach((delay, u) => {
      for (; next < order.length && ages[order[next]] < delay; next++) sum += values[order[next]];
      const left = this.#atRisk[u] - this.#counts[u];
      younger[u] = left > 0 ? sum / left : 0;
      drift[u + 1] = drift[u] + (younger[u] * this.#counts[u]) / this.#atRisk[u];
    });
    return Float64Array.from(this.#seen, ({ delay, bound }) => {
      const u = countBelow(this.#delays, delay);
      return younger[u] - (drift[countUpTo(this.#delays, bound)] - drift[u]);
    });
  }
}

/** How many of ascending `values` are at most `limit`. */
function countUpTo(values: Float64Array, limit: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** How many of ascending `values` are less than `limit`. */
function countBelow(values: Float64Array, limit: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
