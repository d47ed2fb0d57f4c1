import { type DelayLaw, fixed, geometric, logNormalMixture, uniformDelay } from "../../src/simulation/delay-law.ts";

/** A delay law that the reader can choose. */
export interface DelayChoice {
  readonly name: string;
  /** The statistic that `law` takes. Absent if the law has no parameter. */
  readonly typical?: "mean" | "median";
  /** @param typical the mean or median delay, in rounds. */
  law(typical: number): DelayLaw;
}

/** A Pareto law without a mean: P(delay >= x) = sqrt(median / (4 x)) from median / 4 rounds up. */
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

/** Delay laws by their name in the URL. Hosts differ in the last bit of logarithms, but delays are whole rounds, so this almost never shows. */
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
