// The law of delays from the conversions that have come. It sees conversions alone, and no silence.

/** An observed conversion: its delay, and the longest delay with which it could have been observed. Both in ms. */
export interface SeenConversion {
  readonly delay: number;
  readonly bound: number;
}

/**
 * F(age): the probability that a conversion has come by an age, estimated from the conversions that have come.
 *
 * Conversions still to come are not observed, so short delays are over-represented. The product limit therefore runs backwards in
 * time. Take the conversions that could have been observed with delay u and have a delay of at most u. The share with exactly u is
 * the reverse hazard h(u), and F just below u is the product of 1 - h over the delays from u on. Where all at risk have the same delay,
 * and shorter delays are known, one more counts as at risk. Otherwise the oldest conversion alone could make shorter delays impossible.
 * **Source:** Lagakos, Barraj and De Gruttola, Biometrika 75, 1988 (right truncation, the reverse product limit). **Cost:** O(n log n).
 */
export class ProductLimit {
  readonly #seen: readonly SeenConversion[];
  /** Distinct delays, ascending. */
  readonly delays: Float64Array;
  /** For each: conversions with this delay, conversions at risk of it, F just below it, and the sum of the hazards of shorter ones. */
  readonly #counts: Float64Array;
  readonly #atRisk: Float64Array;
  readonly #below: Float64Array;
  readonly #hazards: Float64Array;

  constructor(seen: readonly SeenConversion[]) {
    this.#seen = seen;
    const delays = Float64Array.from(seen, ({ delay }) => delay).sort();
    const bounds = Float64Array.from(seen, ({ bound }) => bound).sort();
    this.delays = delays.filter((delay, i) => delay !== delays[i - 1]);
    this.#counts = this.delays.map((delay) => countUpTo(delays, delay) - countBelow(delays, delay));
    this.#atRisk = this.delays.map((delay, i) => {
      const atRisk = countUpTo(delays, delay) - countBelow(bounds, delay);
      return i > 0 && atRisk === this.#counts[i] ? atRisk + 1 : atRisk;
    });
    this.#below = new Float64Array(this.delays.length);
    let product = 1;
    for (let i = this.delays.length - 1; i >= 0; i--) {
      product *= 1 - this.#counts[i] / this.#atRisk[i];
      this.#below[i] = product;
    }
    this.#hazards = new Float64Array(this.delays.length + 1);
    for (let i = 0; i < this.delays.length; i++) this.#hazards[i + 1] = this.#hazards[i] + this.#counts[i] / this.#atRisk[i];
  }

  /** F(age). It is 1 from the longest observed delay on. */
  at(age: number): number {
    const next = countUpTo(this.delays, age);
    return next < this.delays.length ? this.#below[next] : 1;
  }

  /** Sum of the hazards of the delays from `from` to `to`. `after`: without those of `from` itself. */
  hazards(from: number, to: number, { after }: { readonly after: boolean }): number {
    return this.#hazards[countUpTo(this.delays, to)] - this.#hazards[after ? countUpTo(this.delays, from) : countBelow(this.delays, from)];
  }

  /**
   * Influence of each observed conversion, through F, on a sum of values that were divided by F at their ages. It adds the error of F
   * to the spread of the sum. All influences sum to 0, up to rounding, unless one more counts as at risk.
   *
   * @param younger for each distinct delay, the sum of the values, after the division, whose age is below it.
   * **Shapes:** one entry per observed conversion.
   */
  influence(younger: Float64Array): Float64Array {
    // d log F(s) is a sum over the delays u > s.
    const own = new Float64Array(this.delays.length);
    const drift = new Float64Array(this.delays.length + 1);
    this.delays.forEach((_, u) => {
      const left = this.#atRisk[u] - this.#counts[u];
      own[u] = left > 0 ? younger[u] / left : 0;
      drift[u + 1] = drift[u] + (own[u] * this.#counts[u]) / this.#atRisk[u];
    });
    return Float64Array.from(this.#seen, ({ delay, bound }) => {
      const u = countBelow(this.delays, delay);
      return own[u] - (drift[countUpTo(this.delays, bound)] - drift[u]);
    });
  }
}

/** How many of ascending `values` are at most `limit`. */
function countUpTo(values: Float64Array, limit: number): number {
  return countWhile(values, (value) => value <= limit);
}

/** How many of ascending `values` are less than `limit`. */
function countBelow(values: Float64Array, limit: number): number {
  return countWhile(values, (value) => value < limit);
}

/** How many of `values` have a property that the first ones have and the others lack: a binary search. */
export function countWhile(values: Float64Array | Uint32Array, holds: (value: number) => boolean): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(values[middle])) low = middle + 1;
    else high = middle;
  }
  return low;
}
