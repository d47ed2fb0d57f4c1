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

/** The terms of an estimator, by observation. Decisions that are not evaluated have terms too: they inform about delays. */
function termsOf<R extends SeenRewards>(
  rows: readonly R[],
  { weight, base = NONE, share = ONE }: Part<R>,
  { size, observations, events, goals: { reward: range } }: MaturedLog,
): Terms {
  const value = new Float64Array(size);
  events.forEach(({ law }, event) => {
    if (!law.influence) return;
    const counted = rows.filter(({ rewards }) => rewards[event] !== 0);
    const ages = Float64Array.from(counted, (row) => row.ages[event]);
    const values = Float64Array.from(counted, (row) => row.count * weight(row) * row.rewards[event] * row.factors[event]);
    law.influence({ ages, values, products: counted.map(({ product }) => product) }).forEach((each, place) => {
      value[observations[place]] += each;
    });
  });
  const [least, most, shares] = [value.slice(), value.slice(), new Float64Array(size)];
  rows.forEach((row, i) => {
    const { count } = row;
    const own = observations[row.place];
    const fixed = count * base(row);
    const reward = count * weight(row) * maturedReward(row);
    value[own] += fixed + reward;
    // Extremes are not divided by maturity: a young decision would count for several otherwise.
    least[own] += fixed + Math.min(reward, count * weight(row) * range.min);
    most[own] += fixed + Math.max(reward, count * weight(row) * range.max);
    // The impressions of a list follow each other, and have one share.
    if (rows[i - 1]?.place !== row.place) shares[own] += count * share(row);
  });
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
