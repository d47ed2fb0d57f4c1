/** Bounds of a number, with a confidence of 95 %. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** A median, with its interval. Fewer than six measurements have none. */
export interface MedianEstimate {
  readonly median: number;
  readonly interval?: Interval;
}

const CONFIDENCE = 0.95;

export const NOISY = "too noisy to tell";
export const FEW = "too few rounds to tell";

/** A quantile of at least one number, by linear interpolation. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const place = q * (sorted.length - 1);
  const below = Math.floor(place);
  return sorted[below] + (sorted[Math.ceil(place)] - sorted[below]) * (place - below);
}

/**
 * The median of independent measurements of any distribution. The interval runs from the l-th smallest to the l-th greatest, with the
 * greatest l that keeps the confidence: the median is below the l-th smallest as often as n fair coins show less than l heads.
 */
export function estimateOf(values: readonly number[]): MedianEstimate {
  const n = values.length;
  const median = quantile(values, 0.5);
  let chance = 0.5 ** n;
  let below = chance;
  let l = 0;
  while (2 * below <= 1 - CONFIDENCE) {
    l++;
    chance *= (n - l + 1) / l;
    below += chance;
  }
  if (l === 0) return { median };
  const sorted = values.toSorted((a, b) => a - b);
  return { median, interval: { low: sorted[l - 1], high: sorted[n - l] } };
}

/** Compares an estimate with a bound. The whole interval has to be on one side of it. */
export function verdictOn<Reached extends string, Missed extends string>(
  { interval }: MedianEstimate,
  bound: number,
  [reached, missed]: readonly [reached: Reached, missed: Missed],
): Reached | Missed | typeof NOISY | typeof FEW {
  if (!interval) return FEW;
  if (interval.low >= bound) return reached;
  return interval.high < bound ? missed : NOISY;
}

/** How many times better one variant was than another, in the rounds that measured both. */
export function ratioOf(own: readonly number[], others: readonly number[], unit: string): MedianEstimate {
  // More is better for rates.
  const rate = /(\/s|per second)$/.test(unit);
  return estimateOf(own.map((value, round) => (rate ? value / others[round] : others[round] / value)));
}

/** Formats with three significant digits, or as an integer from 100 up. */
export function short(value: number): string {
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}

/** Formats as "1.2 (1.1 to 1.4)". */
export function shown({ median, interval }: MedianEstimate): string {
  return interval ? `${short(median)} (${short(interval.low)} to ${short(interval.high)})` : short(median);
}
