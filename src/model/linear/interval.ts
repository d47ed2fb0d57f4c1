import { QUANTILE } from "../../values/quantile.ts";

/** An interval that holds the expected reward with a probability of 95 %, and the estimate inside it. */
export interface Interval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/** An estimate of the expected reward at a point, and what it rests on. */
interface Evidence {
  readonly mean: number;
  /** As many matured impressions of the point alone would tell as much. */
  readonly impressions: number;
  /** Standard error of the matured share of impressions, relative to that share. */
  readonly maturityError: number;
}

/** The range of an expected reward, the typical size of a reward (mean square over mean), and its variance. */
interface Rewards {
  readonly min: number;
  readonly max: number;
  readonly size: number;
  readonly variance: number;
}

/**
 * The interval of an expected reward, about the value in its range that is nearest to the estimate.
 *
 * Rewards of 0 or `size` with a mean m vary by m (size - m), and the interval is that of a binomial rate. Where m is above `size`, they
 * vary by `variance`. Rewards that may be negative vary by the greater of both.
 *
 * The distribution of delays is itself an estimate: a mean is what has come, over the share that has matured. The error of that share
 * makes the interval wider.
 * **Source:** Wilson 1927, the score interval of a binomial rate.
 */
export function intervalOf({ mean, impressions, maturityError }: Evidence, { min, max, size, variance }: Rewards): Interval {
  const bounded = Math.min(Math.max(mean, min), max);
  const late = QUANTILE * maturityError * bounded;
  const extra = (QUANTILE * QUANTILE) / impressions;
  const rate = bounded / size;
  const binomial = rate >= 0 && rate <= 1;
  const normal = binomial && min === 0 ? 0 : extra * variance;
  let [below, above] = [0, 0];
  if (binomial) {
    const centre = (rate + extra / 2) / (1 + extra);
    const half = Math.sqrt(extra * rate * (1 - rate) + (extra * extra) / 4) / (1 + extra);
    below = size * (rate - centre + half);
    above = size * (centre + half - rate);
  }
  const distance = (own: number): number => Math.sqrt(Math.max(own * own, normal) + late * late);
  return {
    mean: bounded,
    low: Math.max(bounded - distance(below), min),
    high: Math.min(bounded + distance(above), max),
  };
}
