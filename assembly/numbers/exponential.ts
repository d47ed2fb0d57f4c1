// The exponential of two numbers at once. All exponentials of the core are computed here: both lanes give the same bits, and the
// module needs no table.

/**
 * Each constant twice, because loading a vector is faster than building one: 1 / 13! to 1 / 2!; 1; 1 / log 2; 1.5 2^52, whose sum
 * with a number of moderate size has the rounded number in its lowest bits; log 2 in two parts, the upper one with 33 bits, so that
 * its product with an exponent is exact; the lowest x with a result other than 0.
 */
const CONSTANTS = memory.data<f64>([
  1.0 / 6227020800, 1.0 / 6227020800,
  1.0 / 479001600, 1.0 / 479001600,
  1.0 / 39916800, 1.0 / 39916800,
  1.0 / 3628800, 1.0 / 3628800,
  1.0 / 362880, 1.0 / 362880,
  1.0 / 40320, 1.0 / 40320,
  1.0 / 5040, 1.0 / 5040,
  1.0 / 720, 1.0 / 720,
  1.0 / 120, 1.0 / 120,
  1.0 / 24, 1.0 / 24,
  1.0 / 6, 1.0 / 6,
  0.5, 0.5,
  1, 1,
  1.4426950408889634, 1.4426950408889634,
  6755399441055744, 6755399441055744,
  0.6931471803691238, 0.6931471803691238,
  1.9082149292705877e-10, 1.9082149292705877e-10,
  -708, -708,
], 16);

/** coefficient + t sum: a step of Horner's scheme. */
// @ts-ignore: decorator
@inline function step(t: v128, sum: v128, coefficient: v128): v128 {
  return f64x2.add(coefficient, f64x2.mul(t, sum));
}

/**
 * e^x for x <= 709 in both lanes, within one unit in the last place. 0 below -708, and exactly 1 at 0.
 *
 * x = k log 2 + r with |r| <= log(2) / 2, and e^r is its series up to r^13, with a remainder below 2^-57. Odd and even powers have
 * separate sums, which run in parallel.
 */
// @ts-ignore: decorator
@inline export function exponentials(x: v128): v128 {
  const shifted = f64x2.add(f64x2.mul(x, v128.load(CONSTANTS, 208)), v128.load(CONSTANTS, 224));
  const k = f64x2.sub(shifted, v128.load(CONSTANTS, 224));
  const upper = f64x2.sub(x, f64x2.mul(k, v128.load(CONSTANTS, 240)));
  const lower = f64x2.mul(k, v128.load(CONSTANTS, 256));
  const r = f64x2.sub(upper, lower);
  const lost = f64x2.sub(f64x2.sub(upper, r), lower);
  const t = f64x2.mul(r, r);

  let odd = step(t, v128.load(CONSTANTS), v128.load(CONSTANTS, 32));
  let even = step(t, v128.load(CONSTANTS, 16), v128.load(CONSTANTS, 48));
  odd = step(t, odd, v128.load(CONSTANTS, 64));
  even = step(t, even, v128.load(CONSTANTS, 80));
  odd = step(t, odd, v128.load(CONSTANTS, 96));
  even = step(t, even, v128.load(CONSTANTS, 112));
  odd = step(t, odd, v128.load(CONSTANTS, 128));
  even = step(t, even, v128.load(CONSTANTS, 144));
  odd = step(t, odd, v128.load(CONSTANTS, 160));
  even = step(t, even, v128.load(CONSTANTS, 176));
  const one = v128.load(CONSTANTS, 192);
  const powers = f64x2.mul(t, f64x2.add(even, f64x2.mul(r, odd)));
  const value = f64x2.add(one, f64x2.add(r, f64x2.add(lost, powers)));

  // Adds k to the exponent, above the 52 bits of the fraction: a multiplication by 2^k.
  const scaled = i64x2.add(value, i64x2.shl(shifted, 52));
  return v128.and(scaled, f64x2.ge(x, v128.load(CONSTANTS, 272)));
}

/** e^x, within one unit in the last place. 0 below -708, infinite above 709. */
export function exponential(x: f64): f64 {
  if (!(x <= 709)) return x + Infinity;
  return f64x2.extract_lane(exponentials(f64x2.splat(x)), 0);
}
