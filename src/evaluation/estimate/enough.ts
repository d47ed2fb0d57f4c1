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
export function effectiveRewards(
  rows: Pick<SeenRewards, "length" | "countOf" | "kinds">,
  weight: (row: number) => number,
  { learnt, greatest }: { readonly learnt: Pick<SeenRewards, "length" | "seen">; readonly greatest: number },
): number {
  const told = learnt.seen.length > 0;
  const all = Math.max(learnt.length, 1);
  let [second, third] = [0, 0];
  rows.kinds().forEach(({ maturities, factorOf }, event) => {
    const own = new Powers();
    for (let row = 0; row < rows.length; row++) own.add(maturities[row], rows.countOf(row) * weight(row) * factorOf(row));
    const rewards = new Powers();
    // Without a reward so far, half of one.
    if (!told) rewards.add(1 / 2, greatest);
    for (const each of learnt.seen) if (each.event === event) rewards.add(each.factor, each.reward);
    second += (own.squares * rewards.squares) / all;
    third += (own.cubes * rewards.cubes) / all;
  });
  return third > 0 ? (second * second * second) / (third * third) : 0;
}

/** Sums of squares and of cubes of sizes, each times its share. */
class Powers {
  squares = 0;
  cubes = 0;

  add(share: number, signed: number): void {
    const size = Math.abs(signed);
    this.squares += share * size * size;
    this.cubes += share * size * size * size;
  }
}

/** Whether so many effective rewards are enough for an interval. */
export const isEnough = (effective: number): boolean => effective >= FEWEST * (1 - ROUNDING);

/** The estimate, or how many more decisions it needs. `size`: length of the log, with which effective rewards grow. */
export function stated(estimate: () => Estimate, { effective, size, of }: { effective: number; size: number; of: string }): Figure {
  if (isEnough(effective)) return estimate();
  return tooFew(size * (FEWEST / Math.max(effective, 0.1) - 1), of);
}
