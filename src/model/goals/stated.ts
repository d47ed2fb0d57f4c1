import type { Interval } from "../linear/interval.ts";
import type { LearntGoal } from "./goal.ts";

/** Range of the expected reward of an impression. It contains 0. An end is infinite if rewards are amounts without a greatest one. */
export interface RewardRange {
  readonly min: number;
  readonly max: number;
}

/**
 * The range of the expected reward of an impression, which may bring nothing, or each goal once: the sum over goals of the weight times
 * the range of its reward.
 *
 * @param byGoal whether goals are learnt one by one. A goal that another one comes after then counts as a reward of 1, and the amounts of
 * a goal as at most its greatest one.
 */
export function rangeOf(reward: RewardRange, goals?: readonly LearntGoal[], byGoal = false): RewardRange {
  const single = { min: Math.min(reward.min, 0), max: Math.max(reward.max, 0) };
  if (!goals) return single;
  let [min, max] = [0, 0];
  for (const { name, weight, value } of goals) {
    if (weight === 0) continue;
    const isStage = byGoal && goals.some(({ after }) => after === name);
    const most = value ? (byGoal && value.max) || Number.POSITIVE_INFINITY : isStage ? Math.max(single.max, 1) : single.max;
    const [one, other] = [weight * (value ? 0 : single.min), weight * most];
    min += Math.min(one, other);
    max += Math.max(one, other);
  }
  return { min, max };
}

/**
 * The expected reward that is stated to people: the value in the range that is nearest to a posterior mean.
 *
 * The posterior of a linear model is normal, so its mean may be outside the range. Inside the range, the nearest value is the most probable
 * one. It is never farther from a truth in the range than the mean is.
 */
export function statedMean(mean: number, { min, max }: RewardRange): number {
  return Math.min(Math.max(mean, min), max);
}

/** The values that people see of a point and its product: the nearest ones in the range. */
export function statedInterval({ mean, average, low, high }: Interval, range: RewardRange): Interval {
  const [own, ...ends] = [mean, average, low, high].map((each) => statedMean(each, range));
  return { mean: own, average: ends[0], low: ends[1], high: ends[2] };
}
