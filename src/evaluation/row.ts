import type { Core } from "../core/core.ts";
import { Ridge } from "../model/linear/ridge.ts";
import { type Estimate, ratioEstimate, sumOf, type Terms } from "./estimate.ts";
import { type LoggedDecision, pointsOf } from "./log.ts";

/** What is known of the delays: see `ProductLimit`; without `influence` it is known for certain. */
export interface Maturity {
  at(age: number): number;
  /** What each decision of the log adds, by its place, to a sum of values at these ages, through what it says of delays. */
  influence?(ages: Float64Array, values: Float64Array): Float64Array;
}

/** One evaluated decision. */
export interface Row {
  /** In the log. */
  readonly place: number;
  /** In ms, at most the window. */
  readonly age: number;
  readonly maturity: number;
  /** The policy's chance of the action over the log's. */
  readonly weight: number;
  /** What has arrived. */
  readonly reward: number;
  /** What the model expects of the action, and of the policy. */
  readonly expected: number;
  readonly expectedOfPolicy: number;
}

export interface Range {
  readonly min: number;
  readonly max: number;
}

/** An estimate per estimator of the rows' policy, and of the one that made the log of `decisions` decisions. */
export function estimates(core: Core, rows: readonly Row[], options: { decisions: number; reward: Range; maturity: Maturity }) {
  const estimate = (part: Part): Estimate => ratioEstimate(core, termsOf(rows, part, options));
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

/** An estimator: sum(base + weight x reward / maturity) / sum(share). */
interface Part {
  weight(row: Row): number;
  base(row: Row): number;
  share(row: Row): number;
}

/** The terms of an estimator, by place in the log: also decisions that are not evaluated tell something of delays. */
function termsOf(
  rows: readonly Row[],
  { weight, base, share }: Part,
  { decisions, reward: { min, max }, maturity }: { decisions: number; reward: Range; maturity: Maturity },
): Terms {
  const ages = Float64Array.from(rows, ({ age }) => age);
  const values = Float64Array.from(rows, (row) => (weight(row) * row.reward) / row.maturity);
  const value = maturity.influence?.(ages, values) ?? new Float64Array(decisions);
  const [least, most, shares] = [value.slice(), value.slice(), new Float64Array(decisions)];
  rows.forEach((row, i) => {
    const { place } = row;
    const own = base(row);
    value[place] += own + values[i];
    // As if it were known at once what comes of it: who is young would count for several otherwise.
    least[place] += own + Math.min(values[i], weight(row) * min);
    most[place] += own + Math.max(values[i], weight(row) * max);
    shares[place] = share(row);
  });
  return { value, least, most, share: shares };
}

/** Shares of the rows that may still convert, and of all conversions still to come. */
export function immatureShares(rows: readonly Row[]): { readonly decisions: number; readonly conversions: number } {
  const immature = rows.filter(({ maturity }) => maturity < 1);
  const missing = immature.reduce((sum, { maturity }) => sum + 1 - maturity, 0);
  const count = Math.max(rows.length, 1);
  return { decisions: immature.length / count, conversions: missing / count };
}

/** Their mean and greatest, and as how many rows of equal weight they count: (sum w)^2 / sum w^2 (Kish 1965). */
export function weightsOf(rows: readonly Row[]): { readonly mean: number; readonly greatest: number; readonly effective: number } {
  const weights = Float64Array.from(rows, ({ weight }) => weight);
  const [sum, squares] = [sumOf(weights), sumOf(weights.map((weight) => weight * weight))];
  return {
    mean: sum / Math.max(rows.length, 1),
    greatest: weights.reduce((greatest, weight) => Math.max(greatest, weight), 0),
    effective: squares > 0 ? (sum * sum) / squares : 0,
  };
}

/** A reward that was seen, over the probability that it would be. */
export interface SeenReward {
  readonly decision: LoggedDecision;
  readonly reward: number;
}

/**
 * Expected reward of each candidate: ridge regression on the features, within the range of rewards; without features the mean.
 * It need not be right, as doubly robust estimates correct it, but the better it is the narrower they are.
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
    if (reward !== 0) ridge.reward({ features, slot: 0 }, reward, 0);
  }
  return (decision) => ridge.moments(pointsOf(decision) as Float64Array).mean.map(within);
}
