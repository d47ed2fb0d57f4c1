import { type TooFew, tooFew } from "../../values/too-few.ts";
import type { Estimate } from "./estimate.ts";

/** An estimate with its 95 % interval, or how much more data it needs. */
export type Figure = Estimate | TooFew;

/** An evaluated impression as far as it can count. */
interface Counted {
  readonly count: number;
}

/**
 * Rewards of equal size with the skewness of the sum of all rewards, below which no interval is stated. From ten on, intervals of
 * simulated logs hold the truth as often as they say; see docs/intervals.md.
 */
const FEWEST = 10;
/** Part of a number that rounding may take from a sum of weights. */
const ROUNDING = 1e-9;

/**
 * Expected number of effective rewards in an evaluation: the number of equal rewards whose sum has the same skewness. A few great weights
 * or amounts, or rare conversions, make it small.
 *
 * The rewards are those of `learnt`, another part of the log. An evaluation that was stated only if its own rewards are many would be
 * stated only if they are too many.
 */
export function effectiveRewards<Row extends Counted>(
  rows: readonly Row[],
  weight: (row: Row) => number,
  { learnt, greatest }: { readonly learnt: readonly number[]; readonly greatest: number },
): number {
  let [squares, cubes] = [0, 0];
  for (const row of rows) {
    const own = row.count * weight(row);
    squares += own * own;
    cubes += own * own * own;
  }
  let [squared, cubed] = [0, 0];
  for (const each of learnt) {
    const reward = Math.abs(each);
    squared += reward * reward;
    cubed += reward * reward * reward;
  }
  // Without a reward so far, half of one.
  if (squared === 0) [squared, cubed] = [(greatest * greatest) / 2, (greatest * greatest * greatest) / 2];
  const [second, third] = [(squares * squared) / Math.max(learnt.length, 1), (cubes * cubed) / Math.max(learnt.length, 1)];
  return third > 0 ? (second * second * second) / (third * third) : 0;
}

/** The estimate, or how many more decisions it needs. `size`: length of the log, with which effective rewards grow. */
export function stated(estimate: () => Estimate, { effective, size, of }: { effective: number; size: number; of: string }): Figure {
  if (effective >= FEWEST * (1 - ROUNDING)) return estimate();
  return tooFew(size * (FEWEST / Math.max(effective, 0.1) - 1), of);
}
