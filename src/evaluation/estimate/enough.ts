// Whether a log tells enough for an interval.

import { type TooFew, tooFew } from "../../values/too-few.ts";
import type { SeenRewards } from "../log/matured-log.ts";
import type { Estimate } from "./estimate.ts";

/** An estimate with its 95 % interval, or how much more data it needs. */
export type Figure = Estimate | TooFew;

/**
 * Rewards of equal size with the skewness of the sum of all rewards, below which no interval is stated. From ten on, intervals of
 * simulated logs hold the truth as often as they say; see docs/intervals.md.
 */
const FEWEST = 10;
/** Part of a number that rounding may take from a sum of weights. */
const ROUNDING = 1e-9;

/**
 * Expected number of effective rewards in an evaluation: the number of equal rewards whose sum has the same skewness. A few great weights
 * or amounts, rare conversions, or refunds that few impressions are old enough for make it small.
 *
 * The rewards are those of `learnt`, another part of the log. An evaluation that was stated only if its own rewards are many would be
 * stated only if they are too many.
 */
export function effectiveRewards<Row extends SeenRewards>(
  rows: readonly Row[],
  weight: (row: Row) => number,
  { learnt, greatest }: { readonly learnt: readonly SeenRewards[]; readonly greatest: number },
): number {
  const events = rows[0]?.rewards.length ?? 0;
  const told = learnt.some(({ rewards }) => rewards.some((reward) => reward !== 0));
  let [second, third] = [0, 0];
  for (let event = 0; event < events; event++) {
    const [squares, cubes] = powers(rows, (row) => [row.maturities[event], row.count * weight(row) * row.factors[event]]);
    // Without a reward so far, half of one.
    const [squared, cubed] = told
      ? powers(learnt, ({ rewards, factors }) => [factors[event], rewards[event]])
      : [(greatest * greatest) / 2, (greatest * greatest * greatest) / 2];
    const all = Math.max(learnt.length, 1);
    second += (squares * squared) / all;
    third += (cubes * cubed) / all;
  }
  return third > 0 ? (second * second * second) / (third * third) : 0;
}

/** Sums of squares and of cubes of sizes, each times its share. */
function powers<Row>(rows: readonly Row[], of: (row: Row) => readonly [share: number, size: number]): readonly [number, number] {
  let [squares, cubes] = [0, 0];
  for (const row of rows) {
    const [share, signed] = of(row);
    const size = Math.abs(signed);
    squares += share * size * size;
    cubes += share * size * size * size;
  }
  return [squares, cubes];
}

/** Whether so many effective rewards are enough for an interval. */
export const isEnough = (effective: number): boolean => effective >= FEWEST * (1 - ROUNDING);

/** The estimate, or how many more decisions it needs. `size`: length of the log, with which effective rewards grow. */
export function stated(estimate: () => Estimate, { effective, size, of }: { effective: number; size: number; of: string }): Figure {
  if (isEnough(effective)) return estimate();
  return tooFew(size * (FEWEST / Math.max(effective, 0.1) - 1), of);
}
