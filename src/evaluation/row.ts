import type { Range } from "../argument.ts";
import type { Core } from "../core/core.ts";
import { Ridge } from "../model/linear/ridge.ts";
import { type Estimate, ratioEstimate, sumOf, type Terms } from "./estimate.ts";
import { type LoggedDecision, pointsOf } from "./log.ts";
import { type MaturedLog, maturedReward, type SeenRewards } from "./matured-log.ts";

/** One evaluated decision. */
export interface Row extends SeenRewards {
  /** The policy's probability of the action over the logged one. */
  readonly weight: number;
  /** Expected reward of the action, and of the policy, by the reward model. */
  readonly expected: number;
  readonly expectedOfPolicy: number;
}

/** Estimates of the rows' policy by each estimator, and of the policy that made the log. */
export function estimates(core: Core, rows: readonly Row[], log: MaturedLog) {
  const estimate = (part: Part<Row>): Estimate => ratioEstimate(core, termsOf(rows, part, log));
  return {
    logged: estimate({ weight: () => 1, base: () => 0, share: () => 1 }),
    ips: estimate({ weight: ({ weight }) => weight, base: () => 0, share: () => 1 }),
    snips: estimate({ weight: ({ weight }) => weight, base: () => 0, share: ({ weight }) => weight }),
    doublyRobust: estimate({
      weight: ({ weight }) => weight,
      base: ({ weight, expected, expectedOfPolicy }) => expectedOfPolicy - weight * expected,
      share: () => 1,
    }),
  };
}

/** An estimator: sum(count x (base + weight x reward / maturity)) / sum(count x share). Impressions of a list have the share of the list. */
interface Part<R extends SeenRewards> {
  weight(row: R): number;
  base(row: R): number;
  share(row: R): number;
}

/** The terms of an estimator, by place in the log. Decisions that are not evaluated have terms too: they inform about delays. */
export function termsOf<R extends SeenRewards>(
  rows: readonly R[],
  { weight, base, share }: Part<R>,
  { size, laws, goals: { reward: range } }: MaturedLog,
): Terms {
  const value = new Float64Array(size);
  laws.forEach(({ influence }, goal) => {
    if (!influence) return;
    const ages = Float64Array.from(rows, (row) => row.ages[goal]);
    const values = Float64Array.from(rows, (row) => (row.count * weight(row) * row.rewards[goal]) / row.maturities[goal]);
    influence(ages, values).forEach((each, place) => {
      value[place] += each;
    });
  });
  const [least, most, shares] = [value.slice(), value.slice(), new Float64Array(size)];
  for (const row of rows) {
    const { place, count } = row;
    const fixed = count * base(row);
    const own = count * weight(row) * maturedReward(row);
    value[place] += fixed + own;
    // Extremes are not divided by maturity: a young decision would count for several otherwise.
    least[place] += fixed + Math.min(own, count * weight(row) * range.min);
    most[place] += fixed + Math.max(own, count * weight(row) * range.max);
    shares[place] = count * share(row);
  }
  return { value, least, most, share: shares };
}

/** Mean and greatest weight, and the effective number of rows: (sum c w)^2 / sum (c w)^2, where a row stands for c (Kish 1965). */
export function weightsOf(rows: readonly Row[]): { readonly mean: number; readonly greatest: number; readonly effective: number } {
  const counted = Float64Array.from(rows, ({ count, weight }) => count * weight);
  const [sum, squares] = [sumOf(counted), sumOf(counted.map((each) => each * each))];
  return {
    mean: rows.length > 0 ? sum / sumOf(Float64Array.from(rows, ({ count }) => count)) : 0,
    greatest: rows.reduce((greatest, { weight }) => Math.max(greatest, weight), 0),
    effective: squares > 0 ? (sum * sum) / squares : 0,
  };
}

/** An observed reward, divided by the probability that it is observed. */
export interface SeenReward {
  readonly decision: LoggedDecision;
  readonly reward: number;
}

/**
 * Expected reward of each candidate: a ridge regression on the features, clamped to the range of rewards, or, without features, the
 * mean. Doubly robust estimates correct its errors. The better the model, the narrower their intervals.
 */
export function rewardModel(core: Core, seen: readonly SeenReward[], { min, max }: Range): (decision: LoggedDecision) => Float64Array {
  const within = (value: number): number => Math.min(Math.max(value, min), max);
  const [first] = seen;
  const d = first ? (pointsOf(first.decision)?.length ?? 0) / first.decision.count : 0;
  if (d === 0) {
    const mean = seen.reduce((sum, { reward }) => sum + reward, 0) / Math.max(seen.length, 1);
    return ({ count }) => new Float64Array(count).fill(within(mean));
  }
  const ridge = new Ridge(core, { dimension: d, ridge: 1 });
  for (const { decision, reward } of seen) {
    const { index } = decision;
    const features = (pointsOf(decision) as Float64Array).slice(index * d, (index + 1) * d);
    ridge.append(features);
    if (reward !== 0) ridge.reward({ features }, reward, 0);
  }
  return (decision) => ridge.moments(pointsOf(decision) as Float64Array).mean.map(within);
}
