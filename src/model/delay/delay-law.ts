// The law of delays and the conversion rate with their intervals, for people. Policies use the curve of `delays.ts`.

import { betaInterval } from "../beta.ts";
import { binEnd, binOf, type Delays } from "./delays.ts";
import { type Followed, followedIn, type Hazards, hazardsOf, olderShare, type Part, partsOf } from "./reverse-hazards.ts";

/** Conversions that must have been followed for the whole window. Fewer if there are not as many. */
const FOLLOWED = 5;
/** Share of the conversions that must have been followed for a shorter time, and the number that is always enough. */
const PART = 0.1;
const ENOUGH = 50;
/** Most steps of the search for the longest time. */
const HALVINGS = 40;
/** A cohort's ages are known to this share. */
const KNOWN = 0.9;
/** Prior weight of the delays below and above each delay: Jeffreys' prior. */
const PRIOR = 0.5;

/** The law of the delays of the conversions that come within some time. */
export interface LawWithin {
  /** P(delay < end) for the end of each bin. */
  readonly probability: Float64Array;
  /** Pointwise 95 % band. */
  readonly low: Float64Array;
  readonly high: Float64Array;
  /** Standard error. */
  readonly error: Float64Array;
  /** P(delay < x). Linear within a bin. */
  below(x: number): number;
}

/** The share of impressions that convert within some time, with a 95 % interval. */
export interface ConversionRate {
  readonly rate: number;
  readonly low: number;
  readonly high: number;
}

/**
 * The law of delays as of a time, for figures that are stated. The clock says how long impressions have been followed.
 *
 * This law is the reverse product limit of `Delays`, but cohorts have a spread of ages, and conversions count in bins that were followed in
 * part. Bands hold for few conversions too: a product of survivals is matched with a beta distribution by two moments, under Jeffreys'
 * prior. If all conversions were followed for the whole time, the band is Jeffreys' interval for a proportion.
 *
 * Conversions say nothing about delays that no impression was followed for. So this is the law of the conversions that come within
 * `followed`. That is the window if five conversions have been followed for all of it. Otherwise it is the longest time for which a tenth of
 * the conversions have been followed, at least five and at most 50.
 *
 * **Cost:** O(bins x cohorts).
 * **Source:** Lagakos, Barraj, De Gruttola 1988 (right truncation); Fay, Brittain, Proschan 2013 (beta products).
 */
export class DelayLaw {
  /** Upper ends of the bins, in the unit of times. One of them is `followed`. They go on beyond the window. */
  readonly ends: Float64Array;
  /** At most the window. */
  readonly followed: number;
  /** Conversions of impressions that were followed for the whole window. */
  readonly closed: number;
  readonly #delays: Delays;
  /** Bins of the window. */
  readonly #bins: number;
  /** The last bin within `followed`. */
  readonly #top: number;
  readonly #parts: readonly Followed[];
  readonly #hazards: Hazards;
  readonly #laws = new Map<number, LawWithin>();

  /** `window`: conversions come within it, in the unit of times. `now`: time of the clock. */
  constructor(delays: Delays, window: number, now: number) {
    this.#delays = delays;
    this.ends = Float64Array.from({ length: delays.bins }, (_, bin) => binEnd(bin) * delays.resolution);
    this.#bins = firstFrom(this.ends, window) + 1;
    const parts = partsOf(delays, this.#bins, now);
    this.closed = followedFor(parts, this.#bins - 1, window);
    this.followed = this.#longest(parts, window);
    this.#top = firstFrom(this.ends, this.followed);
    this.ends[this.#top] = this.followed;
    this.#parts = followedIn(parts, this.#inner);
    this.#hazards = hazardsOf(this.#parts, this.#top + 1);
  }

  /** Ends of the bins within `followed`. */
  get #inner(): Float64Array {
    return this.ends.subarray(0, this.#top + 1);
  }

  /** The longest time that the law knows. */
  #longest(parts: readonly Part[], window: number): number {
    const starts = Array.from({ length: this.#bins }, (_, b) => followedFor(parts, b, b === 0 ? 0 : this.ends[b - 1]));
    const most = Math.max(...starts);
    if (this.closed >= KNOWN * Math.min(FOLLOWED, most)) return window;
    const enough = KNOWN * Math.min(Math.max(PART * most, FOLLOWED), ENOUGH, most);
    const bin = starts.findLastIndex((each) => each >= enough);
    let [low, high] = [bin === 0 ? 0 : this.ends[bin - 1], Math.min(this.ends[bin], window)];
    for (let step = 0; step < HALVINGS && followedFor(parts, bin, high) < enough; step++) {
      const middle = (low + high) / 2;
      if (followedFor(parts, bin, middle) < enough) high = middle;
      else low = middle;
    }
    return followedFor(parts, bin, high) < enough ? Math.max(low, this.ends[0]) : high;
  }

  /** The law of the conversions that come within a time, at most `followed`. */
  within(time = this.followed): LawWithin {
    const bin = Math.min(firstFrom(this.ends, time), this.#top);
    const law = this.#laws.get(bin) ?? this.#lawWithin(bin);
    this.#laws.set(bin, law);
    return law;
  }

  #lawWithin(top: number): LawWithin {
    const { mass, events, before } = this.#hazards;
    const probability = new Float64Array(this.ends.length).fill(1);
    const [low, high, error] = [probability.slice(), probability.slice(), new Float64Array(this.ends.length)];
    const sums = new Float64Array(top + 1);
    for (let b = 0, sum = 0; b <= top; b++) sums[b] = sum += mass[b];
    // Moments of the product of the survivals so far.
    let [first, second] = [1, 1];
    let band: readonly [number, number] = [0, 1];
    let after = 0;
    for (let b = top; b > 0; b--) {
      const [alive, died] = [before[b] + PRIOR, events[b] + (b === top ? PRIOR : 0)];
      if (died > 0) {
        first *= alive / (alive + died);
        second *= (alive * (alive + 1)) / ((alive + died) * (alive + died + 1));
        band = intervalOf(first, second);
      }
      after += events[b];
      const share = sums[top] > 0 ? sums[b - 1] / sums[top] : 1;
      probability[b - 1] = share;
      low[b - 1] = Math.min(sums[b - 1] > 0 ? band[0] : 0, share);
      high[b - 1] = Math.max(after > 0 ? band[1] : 1, share);
      error[b - 1] = Math.sqrt(Math.max(second - first * first, 0));
    }
    return { probability, low, high, error, below: (x) => this.#interpolated(x, probability) };
  }

  #interpolated(x: number, values: Float64Array): number {
    if (x <= 0) return 0;
    const bin = binOf(x / this.#delays.resolution);
    if (bin >= values.length) return 1;
    const [start, before] = bin === 0 ? [0, 0] : [this.ends[bin - 1], values[bin - 1]];
    return Math.min(before + ((values[bin] - before) * (x - start)) / (this.ends[bin] - start), values[bin]);
  }

  /**
   * Impressions at a time, each weighted by the share of its conversions that should have come. `settled`: number of impressions that
   * have left their cohorts.
   */
  matured(settled: number, time: number): number {
    const { mass } = this.#hazards;
    const sum = (weights: (b: number) => number): number => {
      let all = 0;
      for (let b = 0; b <= this.#top; b++) all += mass[b] * weights(b);
      return all;
    };
    const whole = sum(() => 1);
    const parts = followedIn(partsOf(this.#delays, this.#bins, time), this.#inner);
    return parts.reduce((all, { shown, exposure }) => all + (shown * sum((b) => exposure[b])) / whole, settled);
  }

  /**
   * The share of impressions that convert within `followed`. The interval adds the error of the law to that of a proportion.
   */
  rate(settled: number): ConversionRate {
    const { mass, events, before } = this.#hazards;
    let [sum, seen, conversions] = [0, 0, 0];
    let variance = 0;
    for (let b = 0; b <= this.#top; b++) {
      const shown = this.#parts.reduce((all, part) => all + part.shown * part.exposure[b], settled);
      // A greater hazard moves the mass before this bin, which more impressions have been followed for, into it.
      const moved = seen - sum * shown;
      const [alive, died] = [before[b] + PRIOR, events[b] + (b === this.#top ? PRIOR : 0)];
      variance += (moved * moved * died) / (alive * (alive + died + 1));
      sum += mass[b];
      seen += mass[b] * shown;
      conversions += events[b];
    }
    const matured = seen / sum;
    if (!(conversions > 0 && matured > 0)) return { rate: Number.NaN, low: 0, high: 1 };
    const rate = Math.min(conversions / matured, 1);
    // As many conversions of mature impressions would leave the same relative error.
    const like = conversions / (1 + (conversions * variance) / (seen * seen));
    const [low, high] = betaInterval(like + PRIOR, Math.max(like / rate - like, 0) + PRIOR);
    return { rate, low: Math.min(low, rate), high: rate === 1 ? 1 : Math.max(high, rate) };
  }
}

/** Conversions up to a bin whose impressions were followed for a time. */
function followedFor(parts: readonly Part[], bin: number, time: number): number {
  return parts.reduce((sum, { counts, ages }) => sum + olderShare(ages, time) * counts.subarray(0, bin + 1).reduce((a, b) => a + b, 0), 0);
}

/** The central 95 % of the beta distribution with these moments. */
function intervalOf(first: number, second: number): readonly [number, number] {
  const variance = second - first * first;
  if (!(variance > 0)) return [0, 1];
  const size = (first * (1 - first)) / variance - 1;
  return betaInterval(first * size, (1 - first) * size);
}

/** The first bin that ends at a time or later. */
function firstFrom(ends: Float64Array, time: number): number {
  let [low, high] = [0, ends.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] >= time) high = middle;
    else low = middle + 1;
  }
  return low;
}
