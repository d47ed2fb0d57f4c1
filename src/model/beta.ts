// Intervals of a share. The SDK has no logarithm of the host, so both tails are sums and products.

import { QUANTILE } from "../values/quantile.ts";

/** From here on both shapes are large enough for the normal approximation. */
const LARGE = 60;
/** A larger shape is scaled down to this one. */
const MOST = 1000;
/** Steps of the continued fraction, and of the search. */
const TERMS = 2000;
const STEPS = 100;
/** No limit is stated closer to 0 or 1. */
const TINY = 1e-7;
/** Relative precision of a limit. */
const PRECISE = 1e-6;

/**
 * The ends of the central 95 % of a beta distribution. With shapes x + 1/2 and n - x + 1/2 this is Jeffreys' interval for a
 * probability, from x of n events. Uses + - * / and sqrt only.
 *
 * **Source:** Brown, Cai, DasGupta 2001, interval estimation for a binomial proportion.
 */
export function betaInterval(a: number, b: number): readonly [low: number, high: number] {
  if (Math.min(a, b) >= LARGE) return scoreInterval(a - 0.5, a + b - 1);
  return [betaQuantile(a, b, 0.025), 1 - betaQuantile(b, a, 0.025)];
}

/** Wilson's interval from x of n events. It agrees with Jeffreys' where both x and n - x are large. */
function scoreInterval(x: number, n: number): readonly [low: number, high: number] {
  const square = QUANTILE * QUANTILE;
  const middle = (x + square / 2) / (n + square);
  const half = (QUANTILE * Math.sqrt((x * (n - x)) / n + square / 4)) / (n + square);
  return [middle - half, middle + half];
}

/** The value that a beta variable does not exceed with a probability of `share`: 0.016 to 0.984. */
function betaQuantile(a: number, b: number, share: number): number {
  if (Math.max(a, b) > MOST) {
    // X / (1 - X) is a ratio of gamma variables. The one with the large shape is nearly a constant: its shape.
    const few = a > b ? betaQuantile(MOST, b, share) : betaQuantile(a, MOST, share);
    const odds = (few / (1 - few)) * (a > b ? a / MOST : MOST / b);
    return odds / (1 + odds);
  }
  const mean = a / (a + b);
  // By Chebyshev's inequality, less than 0.016 lies further out. The continued fraction is not accurate in far tails.
  const reach = 8 * Math.sqrt((mean * (1 - mean)) / (a + b + 1));
  let [low, high] = [Math.max(mean - reach, 0), Math.min(mean + reach, 1)];
  for (let step = 0; step < STEPS && high - low > PRECISE * Math.min(high, 1 - low); step++) {
    const middle = (low + high) / 2;
    if (middle < TINY) return 0;
    if (1 - middle < TINY) return 1;
    if (betaBelow(middle, a, b) < share) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/**
 * P(X < x) for a beta variable. Both tails are a continued fraction times one factor, which needs powers and gamma functions. It
 * cancels, because the tails add up to 1.
 */
export function betaBelow(x: number, a: number, b: number): number {
  const below = fraction(x, a, b) / a;
  const above = fraction(1 - x, b, a) / b;
  return below / (below + above);
}

/** The continued fraction of the incomplete beta function, by Lentz's method. **Source:** DLMF 8.17.22. */
function fraction(x: number, a: number, b: number): number {
  let c = 1;
  let d = 1 / (1 - ((a + b) * x) / (a + 1) || TINY * TINY);
  let value = d;
  for (let m = 1; m < TERMS; m++) {
    const even = (m * (b - m) * x) / ((a - 1 + 2 * m) * (a + 2 * m));
    d = 1 / (1 + even * d);
    c = 1 + even / c;
    value *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 1 + 2 * m));
    d = 1 / (1 + odd * d);
    c = 1 + odd / c;
    value *= d * c;
    if (Math.abs(d * c - 1) < 1e-9) break;
  }
  return value;
}
