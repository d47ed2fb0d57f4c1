import type { Core } from "../../core/core.ts";
import { QUANTILE } from "../../values/quantile.ts";

/** A value with its 95 % interval. */
export interface Estimate {
  /** NaN where the log does not tell. The interval is then that of all possible values. */
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** The terms of a ratio sum(value) / sum(share), one per observation, and the range in which each value could have been. */
export interface Terms {
  readonly value: Float64Array;
  readonly least: Float64Array;
  readonly most: Float64Array;
  readonly share: Float64Array;
}

/** Terms, and a place for value - share x ratio, which each pass computes for another ratio. */
interface Moments extends Terms {
  readonly moments: Float64Array;
}

const MOST_STEPS = 60;

/**
 * The ratio, with an interval by empirical likelihood: all ratios for which some distribution over the observations is likely
 * enough. Unlike an interval from a standard error, it follows the skewness that a few great weights bring.
 *
 * The distribution may also give weight to one unobserved extreme: the greatest or least term that a reward within the range could
 * have given. Without it the upper end would be zero where nothing has converted.
 *
 * **Source:** Owen, *Empirical likelihood*, 2001, chapters 2 and 3; the unobserved extreme: Karampatziakis, Langford and
 * Mineiro, *Empirical likelihood for contextual bandits*, NeurIPS 2020. **Cost:** about 100 passes over the terms.
 */
export function ratioEstimate(core: Core, terms: Terms): Estimate {
  const { value, share } = terms;
  const total = sumOf(share);
  if (!(total > 0)) return { value: Number.NaN, low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };
  const ratio = sumOf(value) / total;
  // A few great terms make the deviance larger than chi-square says. With twice as many degrees of freedom as effective terms, simulated
  // intervals hold the truth as often as they say, both where great weights are rare and where conversions are.
  const moments = value.map((each, i) => each - share[i] * ratio);
  const root = rootAt95(2 * effectiveNumber(moments));
  const own = { ...terms, moments };
  return { value: ratio, low: endOf(core, own, { ratio, side: -1, root }), high: endOf(core, own, { ratio, side: 1, root }) };
}

/**
 * Square root of the 95 % quantile of the deviance at the true ratio: that of Student's t with `freedom` degrees of freedom.
 * **Source:** Owen 2001, section 3.3, calibration by F; the expansion of the quantile: Cornish and Fisher 1937.
 */
function rootAt95(freedom: number): number {
  const z = QUANTILE;
  const square = z * z;
  const [first, second] = [((square + 1) * z) / 4, ((5 * square * square + 16 * square + 3) * z) / 96];
  return z + first / freedom + second / (freedom * freedom);
}

/** Number of equal terms with the same kurtosis as these. */
function effectiveNumber(moments: Float64Array): number {
  let [squares, fourths] = [0, 0];
  for (const moment of moments) {
    const square = moment * moment;
    squares += square;
    fourths += square * square;
  }
  return fourths > 0 ? (squares * squares) / fourths : moments.length;
}

/** The farthest ratio on one side that is likely enough: regula falsi, Illinois variant, on the root of the deviance. */
function endOf(core: Core, terms: Moments, { ratio, side, root }: { ratio: number; side: 1 | -1; root: number }): number {
  const excess = (distance: number): number => Math.sqrt(deviance(core, terms, ratio + side * distance)) - root;
  let inside = { at: 0, excess: -root };
  let outside = { at: reachOf(terms, ratio, side), excess: 0 };
  if (outside.at === 0) return ratio;
  for (outside.excess = excess(outside.at); outside.excess < 0; outside = { at: 2 * inside.at, excess: excess(2 * inside.at) })
    inside = outside;
  for (let step = 0; step < MOST_STEPS && outside.at - inside.at > 1e-9 * outside.at; step++) {
    // The excess is infinite at ratios that no distribution has. There, halve the interval.
    const share = outside.excess < Number.POSITIVE_INFINITY ? inside.excess / (inside.excess - outside.excess) : 0.5;
    const at = inside.at + share * (outside.at - inside.at);
    const tried = { at, excess: excess(at) };
    if (Math.abs(tried.excess) < 1e-7) return ratio + side * at;
    if (tried.excess < 0) [inside, outside] = [tried, { ...outside, excess: outside.excess / 2 }];
    else [inside, outside] = [{ ...inside, excess: inside.excess / 2 }, tried];
  }
  return ratio + side * inside.at;
}

/** A first guess of the distance to the end: two standard errors, and the effect of one unobserved extreme. */
function reachOf({ value, least, most, share }: Terms, ratio: number, side: 1 | -1): number {
  const far = side > 0 ? most : least;
  let squares = 0;
  let reach = 0;
  for (let i = 0; i < value.length; i++) {
    const moment = value[i] - share[i] * ratio;
    squares += moment * moment;
    reach = Math.max(reach, side * (far[i] - value[i]));
  }
  return (2 * Math.sqrt(squares) + reach) / sumOf(share);
}

/** -2 log of the empirical likelihood ratio of `ratio`; infinite where no distribution has it. */
function deviance(core: Core, { value, least, most, share, moments }: Moments, ratio: number): number {
  let low = 0;
  let high = 0;
  for (let i = 0; i < moments.length; i++) {
    moments[i] = value[i] - share[i] * ratio;
    low = Math.min(low, moments[i], least[i] - share[i] * ratio);
    high = Math.max(high, moments[i], most[i] - share[i] * ratio);
  }
  if (low === 0 || high === 0) return low === high ? 0 : Number.POSITIVE_INFINITY;
  const multiplier = multiplierOf(moments, -1 / high, -1 / low);
  let sum = 0;
  let product = 1;
  for (let i = 0; i < moments.length; i++) {
    product *= 1 + multiplier * moments[i];
    // One logarithm for as many factors as fit. Each factor lies between 1e-16 and the number of terms.
    if (product > 1e-100 && product < 1e100) continue;
    sum += core.log(product);
    product = 1;
  }
  return 2 * Math.max(0, sum + core.log(product));
}

/** The root of sum(m / (1 + x m)), which falls in x, between two bounds. If it lies outside, the bound nearest to it. */
function multiplierOf(moments: Float64Array, from: number, to: number): number {
  let low = from;
  let high = to;
  let x = 0;
  for (let step = 0; step < MOST_STEPS; step++) {
    let sum = 0;
    let slope = 0;
    for (let i = 0; i < moments.length; i++) {
      const part = moments[i] / (1 + x * moments[i]);
      sum += part;
      slope -= part * part;
    }
    if (sum > 0) low = x;
    else high = x;
    const next = x - sum / slope;
    const inside = next > low && next < high ? next : (low + high) / 2;
    if (Math.abs(inside - x) <= 1e-12 * (to - from)) return x;
    x = inside;
  }
  return x;
}

function sumOf(values: Float64Array): number {
  return values.reduce((sum, each) => sum + each, 0);
}
