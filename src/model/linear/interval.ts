/** An interval that holds the expected reward with a probability of 95 %, and the estimate inside it. */
export interface Interval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/** Standard deviations of a normal distribution on either side that hold 95 %. */
export const QUANTILE = 1.959963984540054;

/** An estimate of the expected reward at a point, and what it rests on. */
interface Evidence {
  readonly mean: number;
  /** As many matured impressions of the point alone would tell as much. */
  readonly impressions: number;
  /** Standard error of the matured share of impressions, relative to that share. */
  readonly maturityError: number;
}

/** The range of a reward, its typical size (mean square over mean), and its variance. */
interface Rewards {
  readonly min: number;
  readonly max: number;
  readonly size: number;
  readonly variance: number;
}

/**
 * The interval of an expected reward.
 *
 * Rewards of 0 or `size` with a mean m vary by m (size - m), and the interval is that of a binomial rate. It is inside their range. Other
 * rewards have the same variance as far as m is between 0 and `size`, and else `variance`.
 *
 * The distribution of delays is itself an estimate: a mean is what has come, over the share that has matured. The error of that share
 * makes the interval wider.
 * **Source:** Wilson 1927, the score interval of a binomial rate.
 */
export function intervalOf({ mean, impressions, maturityError }: Evidence, { min, max, size, variance }: Rewards): Interval {
  const least = min >= 0 ? 0 : mean;
  const most = size === max ? max : mean;
  const bounded = Math.min(Math.max(mean, least), most);
  const rate = bounded / size;
  const late = QUANTILE * maturityError * bounded;
  const extra = (QUANTILE * QUANTILE) / impressions;
  if (rate < 0 || rate > 1) {
    const half = Math.sqrt(extra * variance + late * late);
    return { mean, low: mean - half, high: mean + half };
  }
  const centre = (rate + extra / 2) / (1 + extra);
  const half = Math.sqrt(extra * rate * (1 - rate) + (extra * extra) / 4) / (1 + extra);
  const below = size * (rate - centre + half);
  const above = size * (centre + half - rate);
  return {
    mean: bounded,
    low: Math.max(bounded - Math.sqrt(below * below + late * late), least),
    high: Math.min(bounded + Math.sqrt(above * above + late * late), Math.max(most, size)),
  };
}
