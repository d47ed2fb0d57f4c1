// Laws of delays by product, drawn towards the common law as far as products resemble each other.

import type { DelayCurve } from "./delays.ts";

/** Least weight of the common law in a key's own, in conversions. */
const LEAST_WEIGHT = 2;
/** The weight is this over the variance between keys. */
const WEIGHT = 0.1;
/** The variance between keys before there are conversions, and its weight in squared conversions. */
const GUESSED = 0.1;
const GUESSED_WEIGHT = 100;
/** Below this variance laws are equal. */
const LEAST_VARIANCE = 1e-6;

/** Standard deviations of `lawsDiffer` from which on figures give products laws of their own. These cost little where laws are alike. */
export const APART = 1;

/** Conversions of one key in each bin: the events, and the conversions at risk. See `Delays` for the reverse hazard. */
export interface Events {
  readonly events: Float64Array;
  readonly risk: Float64Array;
}

/** The common law at the ends of the bins of a key. */
export interface PooledBins {
  readonly ends: Float64Array;
  /** P(delay < end). */
  readonly below: Float64Array;
  /** Reverse hazard: P(delay in the bin | delay < end). */
  readonly hazard: Float64Array;
}

/** The bins, and the curve of which they are. */
export interface CommonBins extends PooledBins {
  readonly curve: DelayCurve;
}

/**
 * The weight of the common law in a key's own, in conversions.
 *
 * The log-rank statistic of a key is the number of its conversions less the expected one, by the common hazard. Where laws differ,
 * its square exceeds its variance. The excess over the squared expected number is the variance of a factor on the hazard.
 */
export function weightOf(keys: readonly Events[], { hazard }: Pick<PooledBins, "hazard">): number {
  let [excess, expected] = [GUESSED * GUESSED_WEIGHT, GUESSED_WEIGHT];
  const total = new Float64Array(hazard.length);
  for (const { risk } of keys) for (let b = 0; b < total.length; b++) total[b] += risk[b];
  for (const { events, risk } of keys) {
    let [difference, own, variance] = [0, 0, 0];
    for (let b = 0; b < hazard.length; b++) {
      const h = hazard[b];
      if (h <= 0 || h >= 1 || total[b] <= 0) continue;
      own += risk[b] * h;
      difference += events[b] - risk[b] * h;
      variance += risk[b] * h * (1 - h) * (1 - risk[b] / total[b]);
    }
    excess += difference * difference - variance;
    expected += own * own;
  }
  return Math.max(LEAST_WEIGHT, WEIGHT / Math.max(excess / expected, LEAST_VARIANCE));
}

/**
 * Whether the laws of keys differ, by the log-rank test of their reverse hazards. Where they do, what one key tells of delays is wrong for
 * another.
 *
 * The statistic is the sum of 4 (sqrt(conversions) - sqrt(expected))^2 over the keys. The roots have nearly the variance 1 / 4 for few
 * conversions too. Chi-square with f degrees of freedom exceeds f + 2 sqrt(2 f) with a probability of 4 to 5 %.
 * @param deviations instead of 2. One is exceeded by about 15 % of equal laws.
 */
export function lawsDiffer(keys: readonly Events[], { hazard }: Pick<PooledBins, "hazard">, deviations = 2): boolean {
  let [statistic, freedom] = [0, -1];
  for (const { events, risk } of keys) {
    let [seen, expected] = [0, 0];
    for (let b = 0; b < hazard.length; b++) {
      const h = hazard[b];
      if (h <= 0 || h >= 1) continue;
      expected += risk[b] * h;
      seen += events[b];
    }
    if (!(expected > 0)) continue;
    const difference = Math.sqrt(seen) - Math.sqrt(expected);
    statistic += 4 * difference * difference;
    freedom++;
  }
  return freedom > 0 && statistic > freedom + deviations * Math.sqrt(2 * freedom);
}

/** P(delay < end of bin) of a key. */
export function ownLaw({ events, risk }: Events, { below, hazard }: Pick<PooledBins, "below" | "hazard">, weight: number): Float64Array {
  const own = new Float64Array(below.length);
  let chance = 1;
  for (let b = below.length - 1; b >= 0; b--) {
    own[b] = chance;
    const prior = weight * below[b];
    chance *= 1 - (risk[b] + prior > 0 ? (events[b] + prior * hazard[b]) / (risk[b] + prior) : hazard[b]);
  }
  return own;
}

/** A key's law where the common law is `common`. Within a bin the key's law goes as the common law goes. */
export function within(common: number, below: Float64Array, own: Float64Array, bin: number): number {
  const [start, ownStart] = bin === 0 ? [0, 0] : [below[bin - 1], own[bin - 1]];
  return below[bin] > start ? ownStart + ((own[bin] - ownStart) * (common - start)) / (below[bin] - start) : own[bin];
}
