// The rows of an estimate, in columns: an evaluated decision, or an item of a list, is a row.

import type { Core } from "../../core/core.ts";
import type { MaturedLog, SeenRewards } from "../log/matured-log.ts";
import { type Estimate, ratioEstimate, type Terms } from "./estimate.ts";

/** An estimator: sum(count x (base + weight x reward / maturity)) / sum(count x share). Impressions of a list have the share of the list. */
export interface Part {
  weight(row: number): number;
  base?(row: number): number;
  share?(row: number): number;
}

const NONE = (): number => 0;
const ONE = (): number => 1;

/** The terms of an estimator, by observation. Decisions that are not evaluated have terms too: they inform about delays. */
function termsOf(rows: SeenRewards, { weight, base = NONE, share = ONE }: Part, { impressions, events, goals }: MaturedLog): Terms {
  const { size, observations } = impressions;
  const range = goals.reward;
  const value = new Float64Array(size);
  events.forEach(({ law }, event) => {
    if (!law.influence) return;
    const counted = rows.seen.filter((each) => each.event === event);
    const ages = Float64Array.from(counted, ({ age }) => age);
    const values = Float64Array.from(counted, ({ row, reward, factor }) => rows.countOf(row) * weight(row) * reward * factor);
    law.influence({ ages, values, products: counted.map(({ product }) => product) }, (influence, place) => {
      value[observations[place]] += influence;
    });
  });
  const [least, most, shares] = [value.slice(), value.slice(), new Float64Array(size)];
  for (let row = 0; row < rows.length; row++) {
    const [count, place] = [rows.countOf(row), rows.placeOf(row)];
    const own = observations[place];
    const fixed = count * base(row);
    const reward = count * weight(row) * rows.matured[row];
    value[own] += fixed + reward;
    // Extremes are not divided by maturity: a young decision would count for several otherwise.
    least[own] += fixed + Math.min(reward, count * weight(row) * range.min);
    most[own] += fixed + Math.max(reward, count * weight(row) * range.max);
    // The impressions of a list follow each other, and have one share.
    if (row === 0 || rows.placeOf(row - 1) !== place) shares[own] += count * share(row);
  }
  return { value, least, most, share: shares };
}

/** The estimate of a log's rows, without regard to what the log does not have. */
export function estimateOf(core: Core, rows: SeenRewards, part: Part, log: MaturedLog): Estimate {
  return ratioEstimate(core, termsOf(rows, part, log));
}

/** Mean of a number over all rows, each counted by the decisions for which it stands. */
export function meanOf(rows: SeenRewards, numberOf: (row: number) => number): number {
  let [all, sum] = [0, 0];
  for (let row = 0; row < rows.length; row++) {
    all += rows.countOf(row);
    sum += rows.countOf(row) * numberOf(row);
  }
  return all > 0 ? sum / all : 0;
}

/** Mean and greatest weight, and the effective number of rows: (sum c w)^2 / sum (c w)^2, where a row stands for c (Kish 1965). */
export function weightsOf(
  rows: SeenRewards,
  weight: Float64Array,
): { readonly mean: number; readonly greatest: number; readonly effective: number } {
  let [sum, squares] = [0, 0];
  weight.forEach((each, row) => {
    const counted = rows.countOf(row) * each;
    sum += counted;
    squares += counted * counted;
  });
  return {
    mean: meanOf(rows, (row) => weight[row]),
    greatest: weight.reduce((greatest, each) => Math.max(greatest, each), 0),
    effective: squares > 0 ? (sum * sum) / squares : 0,
  };
}
