// The statistics behind a lift: a difference of rates whose interval holds at every look, before windows close.

import type { DelayDistribution, DelayEstimate } from "../delay-estimate.ts";
import { outOfRange, positiveShare } from "../values/argument.ts";
import { type TooFew, tooFew } from "../values/too-few.ts";
import type { ArmStep } from "./arm-step.ts";
import { intervalHalfWidth } from "./confidence-sequence.ts";

/** Lists that were assigned to the arms with one probability. */
export interface Stratum {
  readonly control: readonly ArmStep[];
  readonly treatment: readonly ArmStep[];
}

export interface ComparisonOptions {
  /** Absolute difference of conversion rates that you want to find, for instance 0.01. Fix it before the first look. */
  readonly effect: number;
  /** Probability that any of all intervals misses the difference, default 0.05. */
  readonly alpha?: number;
  /** Time of the look. Impressions shown later are ignored. */
  readonly now: number;
}

/** The estimated delay law, as the package's DelayEstimate states it. */
type Delays = Pick<DelayEstimate, "below" | "distribution" | "followed">;

/** Treatment minus control, with an interval that holds at all looks together. */
interface Difference {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

export interface ArmComparison {
  /** Conversion rates, corrected for conversions still to come. Null before any impression has matured in both arms. */
  readonly control: number | null;
  readonly treatment: number | null;
  /** Rates count conversions within this time: `followed` of the delays. The window, once five conversions have had all of it. */
  readonly within: number;
  readonly difference: Difference | TooFew;
  /** Whether the interval excludes 0. */
  readonly decided: boolean;
  /** Whether each stratum was compared. One in which an arm has fewer than two matured lists carries no information. */
  readonly compared: readonly boolean[];
}

/** Converted lists that each arm needs. The normal approximation is poor below. */
const FEW = 30;

/** Sums of one arm in one stratum. */
interface Arm {
  /** Impressions, each weighted by the share of its conversions that should have come. */
  readonly matured: number;
  readonly rate: number;
  readonly lists: number;
  readonly converted: number;
  /** Cluster-robust variance of the rate, given the delay law. */
  readonly variance: number;
  /** Matured impressions by the bin of their age. */
  readonly byAge: ReadonlyMap<number, number>;
}

/**
 * Compares the conversion rates of two arms before windows close. You may look at any time and stop at any look.
 *
 * An arm's rate is its conversions over the sum of F(age) of its impressions. F is the delay law of both arms together. Rates are
 * compared within each stratum, so a rate that changes together with the shares of the arms makes no difference. The differences are
 * averaged with the weights of Mantel and Haenszel, which depend on impressions alone. The variance sums squared scores by list, and adds
 * the error of F by the delta method. The interval is an asymptotic confidence sequence.
 *
 * The arms must share one delay law. If conversions of one arm come sooner, that arm looks better until windows close. While too few
 * impressions have had the whole window, rates count only conversions within a shorter time (`within`).
 *
 * `delays`: impressions and first conversions of all arms, as of the time of the look.
 *
 * **Cost:** O(steps).
 * **Throws:** TypeError or RangeError that names the argument.
 * **Source:** Mantel, Haenszel 1959; Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas 2021, Theorem 2.2; Lagakos, Barraj, De Gruttola 1988,
 * for F.
 */
export function compareArms(strata: readonly Stratum[], delays: Delays, options: ComparisonOptions): ArmComparison {
  const effect = positiveShare("effect", options.effect);
  const alpha = positiveShare("alpha", options.alpha ?? 0.05);
  if (alpha === 1) throw outOfRange("alpha", "less than 1", alpha);
  const within = delays.followed;
  const law = delays.distribution(within);
  const all = strata.map(({ control, treatment }): Pair => {
    const [a, b] = [control, treatment].map((steps) => armOf(steps, { delays, law, now: options.now }));
    return { control: a, treatment: b, weight: (a.matured * b.matured) / (a.matured + b.matured) };
  });
  const compared = all.map(({ control, treatment, weight }) => weight > 0 && Math.min(control.lists, treatment.lists) > 1);
  const pairs = all.filter((_, i) => compared[i]);
  if (pairs.length === 0) return { control: null, treatment: null, within, difference: tooFew(FEW, LISTS), decided: false, compared };
  const total = pairs.reduce((sum, { weight }) => sum + weight, 0);
  const mean = (of: (pair: Pair) => number): number => pairs.reduce((sum, pair) => sum + (pair.weight / total) * of(pair), 0);
  const [control, treatment] = [mean((pair) => pair.control.rate), mean((pair) => pair.treatment.rate)];
  const [few] = (["control", "treatment"] as const)
    .map((arm) => pairs.reduce((sum, pair) => sum + pair[arm].converted, 0))
    .sort((a, b) => a - b);
  if (few < FEW)
    return {
      control: bounded(control, 0),
      treatment: bounded(treatment, 0),
      within,
      difference: tooFew(FEW - few, LISTS),
      decided: false,
      compared,
    };
  const sampling = pairs.reduce((sum, pair) => sum + (pair.weight / total) ** 2 * (pair.control.variance + pair.treatment.variance), 0);
  const half = intervalHalfWidth(sampling + lawVariance(pairs, total, law), effect, alpha);
  const value = treatment - control;
  const [low, high] = [value - half, value + half];
  // A corrected rate may exceed 1, while F is small.
  const difference = { value: bounded(value, -1), low: bounded(low, -1), high: bounded(high, -1) };
  return { control: bounded(control, 0), treatment: bounded(treatment, 0), within, difference, decided: low > 0 || high < 0, compared };
}

const bounded = (value: number, least: number): number => Math.min(Math.max(value, least), 1);
const LISTS = "converted lists of the arm that has fewer";

/** The arms of a stratum, and its weight. */
interface Pair {
  readonly control: Arm;
  readonly treatment: Arm;
  readonly weight: number;
}

/** The delay law at a look. */
interface Look {
  readonly delays: Delays;
  readonly law: DelayDistribution;
  readonly now: number;
}

function armOf(steps: readonly ArmStep[], { delays, law, now }: Look): Arm {
  const byAge = new Map<number, number>();
  const scores: [step: ArmStep, share: number][] = [];
  let [conversions, matured, lists, converted] = [0, 0, 0, 0];
  for (const step of steps) {
    if (!Number.isFinite(step.shownAt)) throw outOfRange("shownAt", "a finite number", step.shownAt);
    if (step.shownAt > now) continue;
    const age = now - step.shownAt;
    const share = delays.below(age);
    const bin = binAt(law.delays, age);
    byAge.set(bin, (byAge.get(bin) ?? 0) + share * step.impressions);
    scores.push([step, share]);
    matured += share * step.impressions;
    conversions += step.conversions;
    lists += step.lists;
    converted += step.converted;
  }
  const rate = matured > 0 ? conversions / matured : Number.NaN;
  let squares = 0;
  for (const [{ conversionSquares, products, squares: sizes }, share] of scores) {
    // The sum of (came - rate * share * size)^2 over the lists of the step.
    squares += conversionSquares - 2 * rate * share * products + (rate * share) ** 2 * sizes;
  }
  // Many strata may have few lists each, and each loses one to its rate.
  const sampled = ((lists / (lists - 1)) * squares) / matured ** 2;
  // An arm whose lists are all alike, such as one in which none or all have converted, is not known for certain.
  const shrunk = Math.min((conversions + 1) / (matured + 2), 1 - 1 / (matured + 2));
  const independent = (shrunk * (1 - shrunk)) / matured;
  const variance = sampled > 1e-9 * independent ? sampled : independent;
  return { rate, matured, lists, converted, variance, byAge };
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
function lawVariance(pairs: readonly Pair[], total: number, { probability, error }: DelayDistribution): number {
  const weights = new Float64Array(probability.length);
  for (const { control, treatment, weight } of pairs) {
    for (const [{ rate, matured, byAge }, sign] of [[control, 1] as const, [treatment, -1] as const]) {
      for (const [bin, count] of byAge) weights[bin] += (sign * weight * rate * count) / (total * matured);
    }
  }
  const logVariance = (bin: number): number => (probability[bin] > 0 ? (error[bin] / probability[bin]) ** 2 : 0);
  let [sum, weight] = [0, 0];
  for (let bin = 0; bin + 1 < probability.length; bin++) {
    weight += weights[bin];
    sum += Math.max(logVariance(bin) - logVariance(bin + 1), 0) * weight ** 2;
  }
  return sum;
}
