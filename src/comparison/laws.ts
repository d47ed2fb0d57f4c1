import type { DelayEstimate } from "../delay-estimate.ts";

/** The delays of a product's conversions, as far as a comparison needs them. */
export interface Law {
  /** Probability that a conversion comes sooner than an age, if it comes. */
  below(age: number): number;
  /** Variance of the logarithm of this probability at the end of each bin. The errors of the steps between bins are independent. */
  readonly logVariance: Float64Array;
  /** Conversion rate of the product. Only those of products of one arm are compared. */
  readonly rate: number;
}

/** The lists that are compared. */
export type Basis = "all" | "closed windows";

/** The laws of all products, with the same bins. */
export interface Laws {
  readonly basis: Basis;
  /** Rates count conversions within this time. Lists with a closed window are as old. */
  readonly followed: number;
  /** Upper ends of the bins, ascending. */
  readonly ends: Float64Array;
  of(product: string): Law;
}

/** One law for all products, as a `DelayEstimate` of all impressions and first conversions states it. */
export function commonLaw(estimate: Pick<DelayEstimate, "below" | "distribution" | "followed">): Laws {
  const { followed } = estimate;
  const { delays: ends, probability, error } = estimate.distribution(followed);
  const logVariance = error.map((each, bin) => (probability[bin] > 0 ? (each / probability[bin]) ** 2 : 0));
  const law = { below: (age: number) => estimate.below(age), logVariance, rate: 1 };
  return { basis: "all", followed, ends, of: () => law };
}

/** The law of impressions whose windows have closed: all conversions have come. */
export function closedLaw(window: number): Laws {
  const law = { below: () => 1, logVariance: Float64Array.of(0), rate: 1 };
  return { basis: "closed windows", followed: window, ends: Float64Array.of(Number.POSITIVE_INFINITY), of: () => law };
}

/** The first bin that ends after an age, or the last one. */
export function binAt(ends: Float64Array, age: number): number {
  let [low, high] = [0, ends.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] > age) high = middle;
    else low = middle + 1;
  }
  return low;
}
