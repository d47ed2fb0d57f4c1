import { outOfRange, positiveNumber, positiveShare } from "../src/argument.ts";
import { type DelayCurve, Delays } from "../src/model/delay/delays.ts";
import { intervalHalfWidth } from "./confidence-sequence.ts";

/** An impression of an experiment. Times have any one unit. */
export interface Exposure {
  readonly shownAt: number;
  /** When it first converted. Absent if it has not. */
  readonly convertedAt?: number;
}

/** All impressions of one visitor. Impressions of one visitor may depend on each other. */
export type Visitor = readonly Exposure[];

export interface ComparisonOptions {
  /** How long after its impression a conversion counts, in the unit of times. */
  readonly window: number;
  /** Absolute difference of conversion rates that you want to find, for instance 0.01. Fix it before the first look. */
  readonly effect: number;
  /** Probability that any of all intervals misses the difference, default 0.05. */
  readonly alpha?: number;
  /** Time of the look. Later impressions and conversions are ignored. */
  readonly now: number;
}

export interface ArmComparison {
  /** Conversion rates, corrected for conversions still to come. NaN before any impression has matured. */
  readonly control: number;
  readonly treatment: number;
  /** Treatment minus control. */
  readonly difference: number;
  /** Ends of the interval. Infinite while an arm has fewer than 30 converted visitors. */
  readonly low: number;
  readonly high: number;
  /** Whether the interval excludes 0. */
  readonly decided: boolean;
}

/** Converted visitors that each arm needs. The normal approximation is poor below. */
const FEW = 30;
/** Resolutions and cohorts per window, as in `DelayEstimate`. */
const STEPS = 16384;
const COHORTS = 256;

/** Sums of one arm. */
interface Arm {
  readonly rate: number;
  /** Impressions, each weighted by the share of its conversions that should have come. */
  readonly matured: number;
  readonly converted: number;
  /** Cluster-robust variance of the rate, given the delay law. */
  readonly variance: number;
  /** Matured impressions by the bin of their age. */
  readonly byAge: Float64Array;
}

/**
 * Compares the conversion rates of two arms before windows close. You may look at any time and stop at any look.
 *
 * An arm's rate is its conversions over the sum of F(age) of its impressions. F is the delay law of both arms together. The variance
 * sums squared scores by visitor, and adds the error of F by the delta method. The interval is an asymptotic confidence sequence.
 *
 * The arms must share one delay law. If conversions of one arm come sooner, that arm looks better until windows close. Before the
 * oldest impression is as old as the window, rates count only conversions with delays seen so far.
 *
 * **Cost:** O(impressions).
 * **Throws:** TypeError or RangeError that names the argument.
 * **Source:** Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas 2021, Theorem 2.2; Lagakos, Barraj, De Gruttola 1988, for F.
 */
export function compareArms(control: readonly Visitor[], treatment: readonly Visitor[], options: ComparisonOptions): ArmComparison {
  const window = positiveNumber("window", options.window);
  const effect = positiveShare("effect", options.effect);
  const alpha = positiveShare("alpha", options.alpha ?? 0.05);
  if (alpha === 1) throw outOfRange("alpha", "less than 1", alpha);
  const curve = delayLaw([control, treatment], window, options.now);
  const [a, b] = [control, treatment].map((visitors) => armOf(visitors, curve, window, options.now));
  const difference = b.rate - a.rate;
  const enough = Math.min(a.converted, b.converted) >= FEW;
  const half = enough ? intervalHalfWidth(a.variance + b.variance + lawVariance(a, b, curve), effect, alpha) : Number.POSITIVE_INFINITY;
  const [low, high] = enough ? [difference - half, difference + half] : [-half, half];
  return { control: a.rate, treatment: b.rate, difference, low, high, decided: low > 0 || high < 0 };
}

/** Whether a conversion counts at `now`. */
function counts({ shownAt, convertedAt }: Exposure, window: number, now: number): boolean {
  if (convertedAt === undefined) return false;
  if (!(convertedAt >= shownAt)) throw outOfRange("convertedAt", `a time not before the impression's, ${shownAt}`, convertedAt);
  return convertedAt <= now && convertedAt - shownAt <= window;
}

function delayLaw(arms: readonly (readonly Visitor[])[], window: number, now: number): DelayCurve {
  const delays = new Delays({ resolution: window / STEPS, cohort: window / COHORTS, span: 2 * window });
  delays.advance(now);
  for (const visitors of arms) {
    for (const visitor of visitors) {
      for (const exposure of visitor) {
        if (!counts(exposure, window, now)) continue;
        // The curve needs only the cohorts that converted.
        delays.add(exposure.shownAt);
        delays.convert(exposure.shownAt, (exposure.convertedAt as number) - exposure.shownAt);
      }
    }
  }
  return delays.curve(now);
}

function armOf(visitors: readonly Visitor[], curve: DelayCurve, window: number, now: number): Arm {
  const byAge = new Float64Array(curve.ends.length);
  const scores: [conversions: number, matured: number][] = [];
  let [conversions, matured, converted] = [0, 0, 0];
  for (const visitor of visitors) {
    let [came, due] = [0, 0];
    for (const exposure of visitor) {
      if (!Number.isFinite(exposure.shownAt)) throw outOfRange("shownAt", "a finite number", exposure.shownAt);
      if (exposure.shownAt > now) continue;
      const age = Math.min(now - exposure.shownAt, window) + window / STEPS;
      const share = curve.below(age);
      byAge[binAt(curve.ends, age)] += share;
      due += share;
      if (counts(exposure, window, now)) came++;
    }
    scores.push([came, due]);
    conversions += came;
    matured += due;
    if (came > 0) converted++;
  }
  const rate = matured > 0 ? conversions / matured : Number.NaN;
  let squares = 0;
  for (const [came, due] of scores) squares += (came - rate * due) ** 2;
  return { rate, matured, converted, variance: squares / matured ** 2, byAge };
}

/** The first bin that ends after `age`. */
function binAt(ends: Float64Array, age: number): number {
  let [low, high] = [0, ends.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] > age) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * Variance of the difference due to the estimated law. By Greenwood's formula, log F of a bin is a sum of independent errors over
 * the later bins. Arms whose rates and ages agree cancel it.
 */
function lawVariance(a: Arm, b: Arm, { probability, error }: DelayCurve): number {
  const logVariance = (bin: number): number => (probability[bin] > 0 ? (error[bin] / probability[bin]) ** 2 : 0);
  let [sum, weight] = [0, 0];
  for (let bin = 0; bin + 1 < probability.length; bin++) {
    weight += (a.rate / a.matured) * a.byAge[bin] - (b.rate / b.matured) * b.byAge[bin];
    sum += Math.max(logVariance(bin) - logVariance(bin + 1), 0) * weight ** 2;
  }
  return sum;
}
