import { type DelayLaw, fixed, geometric, logNormalMixture, uniformDelay } from "../../simulation/delay-law.ts";

/** A delay law as one picks it. */
export interface DelayChoice {
  readonly name: string;
  /** What the typical delay is of this law; absent where there is none to set. */
  readonly typical?: "mean" | "median";
  /** `typical` in rounds. */
  law(typical: number): DelayLaw;
}

/** Half of a tail so heavy that it has no mean: P(delay >= x) = sqrt(typical / (4 x)), from typical / 4 rounds up. */
function heavyTail(median: number): DelayLaw {
  const least = median / 4;
  const cdf = (m: number): number => Math.max(0, 1 - Math.sqrt(least / (Math.floor(m) + 1)));
  return {
    name: `heavy tail ${median}`,
    draw(random) {
      const u = 1 - random();
      return Math.floor(least / (u * u));
    },
    pmf: (k) => cdf(k) - cdf(k - 1),
    cdf,
  };
}

/** By how they stand in an address. Logarithms differ between hosts in their last bit, which whole rounds all but never show. */
export const delays = {
  geometric: { name: "Geometric", typical: "mean", law: geometric },
  uniform: { name: "Uniform", typical: "mean", law: uniformDelay },
  "log-normal": {
    name: "Log-normal",
    typical: "median",
    law: (median) => logNormalMixture([{ weight: 1, mu: Math.log(median), sigma: 1 }]),
  },
  "heavy-tail": { name: "Heavy tail", typical: "median", law: heavyTail },
  none: { name: "None", law: () => fixed(0) },
} satisfies Record<string, DelayChoice>;

export type DelayId = keyof typeof delays;
