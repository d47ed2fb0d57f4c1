import { type DelayLaw, fixed, geometric, logNormalMixture } from "../../simulation/delay-law.ts";
import type { Stream } from "../../simulation/stream.ts";
import { MINUTE_MS, type Timing } from "./shop.ts";

/** A shop's timing, with the law of its delays in minutes for each group of products. */
export interface Delays extends Timing {
  readonly laws: readonly DelayLaw[];
}

export const atOnce: DelayLaw = fixed(0);
export const geometricMs = (meanMs: number): DelayLaw => geometric(meanMs / MINUTE_MS);
/** A log-normal law with standard deviation 1 of the logarithm. */
export const logNormalMs = (meanMs: number): DelayLaw =>
  logNormalMixture([{ weight: 1, mu: Math.log(meanMs / MINUTE_MS) - 0.5, sigma: 1 }]);

/** The delays of one visit, by group. */
export function delaysOf({ laws }: Delays, random: Stream): number[] {
  return laws.map((law) => law.draw(random) * MINUTE_MS);
}
