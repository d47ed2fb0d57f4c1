// The law of delays with its bands, for people. Policies use the curve of `delays.ts`.

import { betaInterval } from "../beta.ts";
import { binEnd, binOf, type Delays } from "./delays.ts";
import { type Followed, followedIn, type Hazards, hazardsOf, olderShare, type Part, partsOf } from "./reverse-hazards.ts";

/** Conversions that must have been followed for the whole window. Fewer if there are not as many. */
export const FOLLOWED = 5;
/** Share of the conversions that must have been followed for a shorter time, and the number that is always enough. */
export const PART = 0.1;
export const ENOUGH = 50;
/** Most steps of the search for the longest time. */
const HALVINGS = 40;
/** A cohort's ages are known to this share. */
const KNOWN = 0.9;
/** Prior weight of the delays below and above each delay: Jeffreys' prior. */
export const PRIOR = 0.5;

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
  /** The last bin within `followed`. */
  readonly top: number;
  readonly hazards: Hazards;
  /** Of each bin within `followed`: P(delay < end), and the reverse hazard. Without conversions, all are to come at the very end. */
  readonly common: { readonly below: Float64Array; readonly hazard: Float64Array };
  readonly #resolution: number;
  readonly #now: number;
  /** Bins of the window. */
  readonly #bins: number;
  readonly #laws = new Map<number, LawWithin>();

  /** `window`: conversions come within it, in the unit of times. `now`: time of the clock. `known`: `followed` is at most this. */
  constructor(delays: Delays, window: number, now: number, known = window) {
    this.#resolution = delays.resolution;
    this.#now = now;
    this.ends = Float64Array.from({ length: delays.bins }, (_, bin) => binEnd(bin) * delays.resolution);
    this.#bins = firstFrom(this.ends, window) + 1;
    const parts = partsOf(delays, this.#bins, now);
    this.closed = followedFor(parts, this.#bins - 1, window);
    this.followed = Math.min(this.#longest(parts, window), Math.max(known, this.ends[0]));
    this.top = firstFrom(this.ends, this.followed);
    this.ends[this.top] = this.followed;
    this.hazards = hazardsOf(followedIn(parts, this.#inner), this.top + 1);
    this.common = lawOf(this.hazards);
  }

  /** Ends of the bins within `followed`. */
  get #inner(): Float64Array {
    return this.ends.subarray(0, this.top + 1);
  }

  /** The cohorts of one of the products that the law is about. */
  partsOf(delays: Delays): Followed[] {
    return followedIn(partsOf(delays, this.#bins, this.#now), this.#inner);
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
    const bin = Math.min(firstFrom(this.ends, time), this.top);
    const law = this.#laws.get(bin) ?? this.#lawWithin(bin);
    this.#laws.set(bin, law);
    return law;
  }

  #lawWithin(top: number): LawWithin {
    const { mass, events, before } = this.hazards;
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
    return { probability, low, high, error, below: (x) => this.at(x, probability) };
  }

  /** P(delay < x), from that at the ends of the bins. */
  at(x: number, values: Float64Array): number {
    if (x <= 0) return 0;
    const bin = binOf(x / this.#resolution);
    if (bin >= values.length) return 1;
    const [start, before] = bin === 0 ? [0, 0] : [this.ends[bin - 1], values[bin - 1]];
    return Math.min(before + ((values[bin] - before) * (x - start)) / (this.ends[bin] - start), values[bin]);
  }
}

/** The law of these hazards. */
function lawOf({ mass }: Hazards): DelayLaw["common"] {
  const sums = new Float64Array(mass.length);
  mass.reduce((sum, each, b) => (sums[b] = sum + each), 0);
  const all = sums[sums.length - 1];
  if (!(all > 0)) sums[sums.length - 1] = 1;
  return { below: sums.map((sum) => sum / (all > 0 ? all : 1)), hazard: mass.map((each, b) => (sums[b] > 0 ? each / sums[b] : 0)) };
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
export function firstFrom(ends: Float64Array, time: number): number {
  let [low, high] = [0, ends.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] >= time) high = middle;
    else low = middle + 1;
  }
  return low;
}
