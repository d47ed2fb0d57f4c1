import { type DelayLaw, fixed, geometric, logNormalMixture } from "../../src/simulation/delay-law.ts";
import type { Stream } from "../../src/simulation/stream.ts";
import { MINUTE_MS, type Timing } from "./shop.ts";

export const atOnce: DelayLaw = fixed(0);
export const geometricMs = (meanMs: number): DelayLaw => geometric(meanMs / MINUTE_MS);
/** A log-normal law with standard deviation 1 of the logarithm. */
export const logNormalMs = (meanMs: number): DelayLaw =>
  logNormalMixture([{ weight: 1, mu: Math.log(meanMs / MINUTE_MS) - 0.5, sigma: 1 }]);

/** A delay by a law of minutes. */
export const delayMs = (law: DelayLaw, random: Stream): number => law.draw(random) * MINUTE_MS;

/** The delays of one visit, by group. */
export function delaysOf({ laws }: Timing, random: Stream): number[] {
  return laws.map((law) => delayMs(law, random));
}
