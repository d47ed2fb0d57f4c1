/** An estimate, and how far the truth may be below and above it: standard deviations, or halves of an interval. */
export interface Uncertain {
  readonly mean: number;
  readonly below: number;
  readonly above: number;
}

/** The sum of independent estimates. Squares of distances add up. */
export function sumOf(estimates: readonly Uncertain[]): Uncertain {
  let [mean, below, above] = [0, 0, 0];
  for (const each of estimates) {
    mean += each.mean;
    below += each.below * each.below;
    above += each.above * each.above;
  }
  return { mean, below: Math.sqrt(below), above: Math.sqrt(above) };
}

/**
 * The product of two independent estimates, of which the first is not negative. For standard deviations it is exact: the variance is
 * m^2 s'^2 + m'^2 s^2 + s^2 s'^2.
 * **Source:** Goodman 1960, the exact variance of products; for intervals, Donner and Zou 2012, the method of variance estimates recovery.
 */
export function productOf(a: Uncertain, b: Uncertain): Uncertain {
  const [low, high] = b.mean >= 0 ? [a.below, a.above] : [a.above, a.below];
  const root = (own: number, other: number): number => {
    const [x, y, both] = [b.mean * own, a.mean * other, own * other];
    return Math.sqrt(x * x + y * y + both * both);
  };
  return { mean: a.mean * b.mean, below: root(low, b.below), above: root(high, b.above) };
}
