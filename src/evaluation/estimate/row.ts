import type { Core } from "../../core/core.ts";
import { type MaturedLog, maturedReward, type SeenRewards } from "../log/matured-log.ts";
import { type Estimate, ratioEstimate, sumOf, type Terms } from "./estimate.ts";

/** One evaluated decision. */
export interface Row extends SeenRewards {
  /** The policy's probability of the action over the logged one. */
  readonly weight: number;
  /** Expected reward of the action, and of the policy, by the reward model. */
  readonly expected: number;
  readonly expectedOfPolicy: number;
  /** The policy's probability of candidates that the log could not have taken, and the part of `expectedOfPolicy` that is theirs. */
  readonly unsupported: number;
  readonly expectedOfUnsupported: number;
  /** Mean ratio of the other candidates that the log could have taken. */
  readonly otherwise: number;
}

/** An estimator: sum(count x (base + weight x reward / maturity)) / sum(count x share). Impressions of a list have the share of the list. */
export interface Part<R extends SeenRewards> {
  weight(row: R): number;
  base?(row: R): number;
  share?(row: R): number;
}

const NONE = (): number => 0;
const ONE = (): number => 1;

/** The terms of an estimator, by place in the log. Decisions that are not evaluated have terms too: they inform about delays. */
function termsOf<R extends SeenRewards>(
  rows: readonly R[],
  { weight, base = NONE, share = ONE }: Part<R>,
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

/** The estimate of a log's rows, without regard to what the log does not have. */
export function estimateOf<R extends SeenRewards>(core: Core, rows: readonly R[], part: Part<R>, log: MaturedLog): Estimate {
  return ratioEstimate(core, termsOf(rows, part, log));
}

/** Mean of a number over all rows, each counted by the decisions for which it stands. */
export function meanOf<R extends SeenRewards>(rows: readonly R[], numberOf: (row: R) => number): number {
  const all = rows.reduce((sum, { count }) => sum + count, 0);
  return all > 0 ? rows.reduce((sum, row) => sum + row.count * numberOf(row), 0) / all : 0;
}

/** Mean and greatest weight, and the effective number of rows: (sum c w)^2 / sum (c w)^2, where a row stands for c (Kish 1965). */
export function weightsOf(rows: readonly Row[]): { readonly mean: number; readonly greatest: number; readonly effective: number } {
  const counted = Float64Array.from(rows, ({ count, weight }) => count * weight);
  const [sum, squares] = [sumOf(counted), sumOf(counted.map((each) => each * each))];
  return {
    mean: meanOf(rows, ({ weight }) => weight),
    greatest: rows.reduce((greatest, { weight }) => Math.max(greatest, weight), 0),
    effective: squares > 0 ? (sum * sum) / squares : 0,
  };
}
