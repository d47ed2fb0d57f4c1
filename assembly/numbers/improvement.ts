// Expected improvement of a standard normal Z: h(u) = E max(u + Z, 0) = u Phi(u) + phi(u).
//
// h(u) = u + h(-u), so only h(-x) for x >= 0 is computed. The formula above cancels there: at x = 10 all digits are lost.
// Near 0: Phi by the series phi(x) (x + x^3/3 + x^5/15 + ...), whose terms are all positive.
// In the tail: with I_n = integral over t > x of (t - x)^n / n! phi(t), I_-1 = phi(x) and I_1 = h(-x), integration by parts
// gives I_{n-2} = x I_{n-1} + n I_n. Hence r_n = I_n / I_{n-1} satisfies r_{n-1} = 1 / (x + n r_n), without any subtraction.

import { exponential } from "./exponential";
import { logarithm } from "./logarithm";

const LOG_ROOT_TWO_PI: f64 = 0.9189385332046727;
const ROOT_TWO_PI: f64 = 2.5066282746310002;
/** Below this x the series is accurate enough, above it the fraction needs few enough terms. */
const TAIL: f64 = 1.75;

/** h(-x) / phi(x) = r_0 r_1 for x >= TAIL. */
function tailRatio(x: f64): f64 {
  // This many levels reduce the initial error of the fraction to 1e-14 of itself.
  const levels = 12 + <i32>(240 / (x * x));
  // The start: r_n for a large n, from the approximation r_{n-1} = r_n.
  let r = 2 / (x + sqrt(x * x + 4 * <f64>(levels + 1)));
  for (let n = levels; n > 1; n--) r = 1 / (x + <f64>n * r);
  return r / (x + r);
}

/** h(-x) for 0 <= x < TAIL. */
function nearZero(x: f64): f64 {
  let term = x;
  let series = x;
  for (let odd: f64 = 3; term > series * f64.EPSILON; odd += 2) {
    term *= (x * x) / odd;
    series += term;
  }
  return (exponential(-0.5 * x * x) / ROOT_TWO_PI) * (1 + x * series) - 0.5 * x;
}

/** h(u), with a relative error of 1e-13 down to u = -37.5, where it underflows. **Source:** Calandriello et al. 2022, eq. 2. */
export function improvement(u: f64): f64 {
  const x = abs(u);
  const tail = x < TAIL ? nearZero(x) : (exponential(-0.5 * x * x) / ROOT_TWO_PI) * tailRatio(x);
  return u > 0 ? u + tail : tail;
}

/** log h(u), even where h(u) underflows. */
export function logImprovement(u: f64): f64 {
  return u > -TAIL ? logarithm(improvement(u)) : logarithm(tailRatio(-u)) - 0.5 * u * u - LOG_ROOT_TWO_PI;
}
