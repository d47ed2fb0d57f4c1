// The statistics behind a lift: a difference of rates whose interval holds at every look, before windows close.

import { outOfRange, positiveShare } from "../values/argument.ts";
import { type TooFew, tooFew } from "../values/too-few.ts";
import type { ArmStep } from "./arm-step.ts";
import { intervalHalfWidth } from "./confidence-sequence.ts";
import { type Basis, binAt, type Law, type Laws } from "./laws.ts";

/** Lists that were assigned to the arms with one probability. */
export interface Stratum {
  readonly control: readonly ArmStep[];
  readonly treatment: readonly ArmStep[];
}

export interface ComparisonOptions {
  /**
   * Absolute difference of conversion rates that you want to find, for instance 0.01. Fix it before the first look. Default: a fifth of the
   * rate of both arms together, which tells nothing of their difference. It is rounded to a power of two, so that looks share it.
   */
  readonly effect?: number;
  /** Probability that any of all intervals misses the difference, default 0.05. */
  readonly alpha?: number;
  /** Time of the look. Impressions shown later are ignored. */
  readonly now: number;
}

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
  readonly basis: Basis;
  /** Difference for which the interval is narrowest. Null without an interval. */
  readonly effect: number | null;
  readonly difference: Difference | TooFew;
  /** Whether the interval excludes 0. */
  readonly decided: boolean;
  /** Whether each stratum was compared. One in which an arm has fewer than two matured lists carries no information. */
  readonly compared: readonly boolean[];
}

/** The usual effect as a share of the rate, and half a power of two. */
const SHARE = 0.2;
const ROOT = Math.SQRT2;

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
  /** Matured impressions by law and by the bin of their age. */
  readonly byAge: ReadonlyMap<Law, Float64Array>;
}

/**
 * Compares the conversion rates of two arms before windows close. You may look at any time and stop at any look.
 *
 * An arm's rate is its conversions over the sum of F(age) of its impressions. F is the delay law of both arms together. Where each product
 * has a law, F is the share of the arm's conversions that should have come, by the rates of its products. Rates are compared within each
 * stratum, so a rate that changes together with the shares of the arms makes no difference. The differences are averaged with the weights
 * of Mantel and Haenszel, which depend on impressions alone. The variance sums squared scores by list, and adds the error of F by the delta
 * method. The interval is an asymptotic confidence sequence.
 *
 * The arms must have the same delays, of each product if products differ. If conversions of one arm come sooner, that arm looks better
 * until windows close. While too few impressions have had the whole window, rates count only conversions within a shorter time (`within`).
 *
 * `laws`: as of the time of the look, by impressions and first conversions of all arms.
 *
 * **Cost:** O(steps).
 * **Throws:** TypeError or RangeError that names the argument.
 * **Source:** Mantel, Haenszel 1959; Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas 2021, Theorem 2.2; Lagakos, Barraj, De Gruttola 1988,
 * for F.
 */
export function compareArms(strata: readonly Stratum[], laws: Laws, options: ComparisonOptions): ArmComparison {
  const asked = options.effect === undefined ? undefined : positiveShare("effect", options.effect);
  const alpha = positiveShare("alpha", options.alpha ?? 0.05);
  if (alpha === 1) throw outOfRange("alpha", "less than 1", alpha);
  const within = laws.followed;
  const all = strata.map(({ control, treatment }): Pair => {
    const [a, b] = [control, treatment].map((steps) => armOf(steps, laws, options.now));
    return { control: a, treatment: b, weight: (a.matured * b.matured) / (a.matured + b.matured) };
  });
  const compared = all.map(({ control, treatment, weight }) => weight > 0 && Math.min(control.lists, treatment.lists) > 1);
  const pairs = all.filter((_, i) => compared[i]);
  const none = { within, basis: laws.basis, effect: asked ?? null, decided: false, compared };
  if (pairs.length === 0) return { control: null, treatment: null, ...none, difference: tooFew(FEW, LISTS) };
  const total = pairs.reduce((sum, { weight }) => sum + weight, 0);
  const mean = (of: (pair: Pair) => number): number => pairs.reduce((sum, pair) => sum + (pair.weight / total) * of(pair), 0);
  const [control, treatment] = [mean((pair) => pair.control.rate), mean((pair) => pair.treatment.rate)];
  const [few] = (["control", "treatment"] as const)
    .map((arm) => pairs.reduce((sum, pair) => sum + pair[arm].converted, 0))
    .sort((a, b) => a - b);
  if (few < FEW) return { control: bounded(control, 0), treatment: bounded(treatment, 0), ...none, difference: tooFew(FEW - few, LISTS) };
  const effect = asked ?? usualEffect(pairs);
  const sampling = pairs.reduce((sum, pair) => sum + (pair.weight / total) ** 2 * (pair.control.variance + pair.treatment.variance), 0);
  const half = intervalHalfWidth(sampling + lawVariance(pairs, total), effect, alpha);
  const value = treatment - control;
  const [low, high] = [value - half, value + half];
  // A corrected rate may exceed 1, while F is small.
  const difference = { value: bounded(value, -1), low: bounded(low, -1), high: bounded(high, -1) };
  const rates = { control: bounded(control, 0), treatment: bounded(treatment, 0) };
  return { ...rates, within, basis: laws.basis, effect, difference, decided: low > 0 || high < 0, compared };
}

/** A fifth of the rate of both arms together, as a power of two times 0.01. */
function usualEffect(pairs: readonly Pair[]): number {
  const arms = pairs.flatMap(({ control, treatment }) => [control, treatment]);
  const sum = (of: (arm: Arm) => number): number => arms.reduce((total, arm) => total + of(arm), 0);
  const rate = sum(({ rate, matured }) => rate * matured) / sum(({ matured }) => matured);
  let effect = 0.01;
  while (effect > SHARE * rate * ROOT) effect /= 2;
  while (effect * ROOT < SHARE * rate) effect *= 2;
  return Math.min(effect, 1);
}

const bounded = (value: number, least: number): number => Math.min(Math.max(value, least), 1);
const LISTS = "converted lists of the arm that has fewer";

/** The arms of a stratum, and its weight. */
interface Pair {
  readonly control: Arm;
  readonly treatment: Arm;
  readonly weight: number;
}

function armOf(steps: readonly ArmStep[], laws: Laws, now: number): Arm {
  const byAge = new Map<Law, Float64Array>();
  const shares: [step: ArmStep, due: number][] = [];
  let [conversions, impressions, lists, converted] = [0, 0, 0, 0];
  // Conversions to expect in the end, and those that should have come, by the rates of the products.
  let [expected, due] = [0, 0];
  for (const step of steps) {
    if (!Number.isFinite(step.shownAt)) throw outOfRange("shownAt", "a finite number", step.shownAt);
    const age = now - step.shownAt;
    if (age < (laws.basis === "all" ? 0 : laws.followed)) continue;
    const bin = binAt(laws.ends, age);
    let own = 0;
    for (const [product, count] of Object.entries(step.groups ?? { "": step.impressions })) {
      const law = laws.of(product);
      const come = law.rate * count * law.below(age);
      const bins = byAge.get(law) ?? new Float64Array(laws.ends.length);
      byAge.set(law, bins);
      bins[bin] += come;
      own += come;
      expected += law.rate * count;
    }
    shares.push([step, own / step.impressions]);
    due += own;
    impressions += step.impressions;
    conversions += step.conversions;
    lists += step.lists;
    converted += step.converted;
  }
  const scale = expected > 0 ? impressions / expected : 0;
  const matured = scale * due;
  for (const bins of byAge.values()) for (let bin = 0; bin < bins.length; bin++) bins[bin] *= scale;
  const rate = matured > 0 ? conversions / matured : Number.NaN;
  let squares = 0;
  for (const [{ conversionSquares, products, squares: sizes }, come] of shares) {
    const share = scale * come;
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

/**
 * Variance of the difference due to the estimated laws. By Greenwood's formula, log F of a bin is a sum of independent errors over
 * the later bins. Arms whose rates, ages and products agree cancel it.
 */
function lawVariance(pairs: readonly Pair[], total: number): number {
  const weights = new Map<Law, Float64Array>();
  for (const { control, treatment, weight } of pairs) {
    for (const [{ rate, matured, byAge }, sign] of [[control, 1] as const, [treatment, -1] as const]) {
      for (const [law, bins] of byAge) {
        const own = weights.get(law) ?? new Float64Array(bins.length);
        weights.set(law, own);
        for (let bin = 0; bin < bins.length; bin++) own[bin] += (sign * weight * rate * bins[bin]) / (total * matured);
      }
    }
  }
  let sum = 0;
  for (const [{ logVariance }, own] of weights) {
    let weight = 0;
    for (let bin = 0; bin + 1 < own.length; bin++) {
      weight += own[bin];
      sum += Math.max(logVariance[bin] - logVariance[bin + 1], 0) * weight ** 2;
    }
  }
  return sum;
}
