import type { Range } from "../argument.ts";
import type { Core } from "../core/core.ts";
import { Ridge } from "../model/linear/ridge.ts";
import { type Estimate, ratioEstimate, sumOf, type Terms } from "./estimate.ts";
import { type LoggedDecision, pointsOf } from "./log.ts";
import type { Maturity } from "./maturity.ts";

/** One evaluated impression. */
export interface SeenRow {
  /** Index in the log. */
  readonly place: number;
  /** Age of the impression in ms, at most the window. */
  readonly age: number;
  readonly maturity: number;
  /** Number of decisions for which it stands. */
  readonly count: number;
  /** Reward that has arrived. */
  readonly reward: number;
}

/** One evaluated decision. */
export interface Row extends SeenRow {
  /** The policy's probability of the action over the logged one. */
  readonly weight: number;
  /** Expected reward of the action, and of the policy, by the reward model. */
  readonly expected: number;
  readonly expectedOfPolicy: number;
}

/** Estimates of the rows' policy by each estimator, and of the policy that made the log of `decisions` decisions. */
export function estimates(core: Core, rows: readonly Row[], options: { decisions: number; reward: Range; maturity: Maturity }) {
  const estimate = (part: Part<Row>): Estimate => ratioEstimate(core, termsOf(rows, part, options));
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
interface Part<R extends SeenRow> {
  weight(row: R): number;
  base(row: R): number;
  share(row: R): number;
}

/** The terms of an estimator, by place in the log. Decisions that are not evaluated have terms too: they inform about delays. */
export function termsOf<R extends SeenRow>(
  rows: readonly R[],
  { weight, base, share }: Part<R>,
  { decisions, reward: { min, max }, maturity }: { decisions: number; reward: Range; maturity: Maturity },
): Terms {
  const ages = Float64Array.from(rows, ({ age }) => age);
  const values = Float64Array.from(rows, (row) => (row.count * weight(row) * row.reward) / row.maturity);
  const value = maturity.influence?.(ages, values) ?? new Float64Array(decisions);
  const [least, most, shares] = [value.slice(), value.slice(), new Float64Array(decisions)];
  rows.forEach((row, i) => {
    const { place, count } = row;
    const own = count * base(row);
    value[place] += own + values[i];
    // Extremes are not divided by maturity: a young decision would count for several otherwise.
    least[place] += own + Math.min(values[i], count * weight(row) * min);
    most[place] += own + Math.max(values[i], count * weight(row) * max);
    shares[place] = count * share(row);
  });
  return { value, least, most, share: shares };
}

/** Share of the rows that may still convert, and the expected share of conversions still to come. */
export function immatureShares(rows: readonly Row[]): { readonly decisions: number; readonly conversions: number } {
  const immature = rows.filter(({ maturity }) => maturity < 1);
  const missing = immature.reduce((sum, { maturity }) => sum + 1 - maturity, 0);
  const count = Math.max(rows.length, 1);
  return { decisions: immature.length / count, conversions: missing / count };
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
