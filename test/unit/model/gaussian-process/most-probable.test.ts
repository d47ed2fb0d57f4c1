import { describe, expect, it } from "vitest";
import type { KernelSpec } from "../../../../src/core/core.ts";
import { fitted, mostProbable, prior } from "../../../../src/model/gaussian-process/hyperparameters.ts";
import { kernelSpec, matern32 } from "../../../../src/model/gaussian-process/kernel.ts";
import { freshCore } from "../../../support/core.ts";
import { stream } from "../../../support/scenario.ts";

const { core } = freshCore();
const median = { ...kernelSpec(matern32(), 3), lengthscale: Float64Array.of(2, 3, 5), variance: 7 };

/** Logarithms of the ratios to the medians: each lengthscale, then the variance. */
const logs = ({ lengthscale, variance }: KernelSpec): number[] => [
  ...Array.from(lengthscale, (each, j) => Math.log(each / median.lengthscale[j])),
  Math.log(variance / median.variance),
];

describe("the most probable kernel", () => {
  // Evidence of a times half a squared distance from c, and a prior of deviation s: the mode is a c / (a + 1 / s^2).
  const mode = (weight: number, centre: number, spread: number): number => (weight * centre) / (weight + 1 / spread ** 2);

  it.each([
    { context: 0, groups: [1, 1, 1] },
    { context: 3, groups: [1, 1, 1] },
    { context: 1, groups: [0, 1, 1] },
    { context: 2, groups: [0, 0, 1] },
  ])("is between prior and evidence, one factor for the context's $context features and one for the others", ({ context, groups }) => {
    for (const weight of [0.25, 1, 40]) {
      for (const centres of [
        [1.3, -0.9, 2.2],
        [-2, 1.6, -1.1],
      ]) {
        // biome-ignore format: one line
        const found = mostProbable(core, median, context, (kernel) => {
          const own = logs(kernel);
          // Each factor once, at its first feature.
          const factors = [...new Set(groups)].map((group) => [own[groups.indexOf(group)], centres[group]]);
          return [...factors, [own[3], centres[2]]].reduce((sum, [log, centre]) => sum - (weight * (log - centre) ** 2) / 2, 0);
        });
        const expected = [...groups.map((group) => mode(weight, centres[group], 1)), mode(weight, centres[2], 2)];
        for (const [i, log] of logs(found).entries()) expect(Math.abs(log - expected[i])).toBeLessThan(0.09);
      }
    }
  });

  it("is the median if there is no evidence", () => {
    for (const log of logs(mostProbable(core, median, 1, () => 0))) expect(log).toBeCloseTo(0, 12);
    expect(prior(median)).toEqual({ kernel: median, noiseVariance: 0.01 });
  });
});

describe("the noise", () => {
  it("has the variance of rewards at one point, which is worth two of a tenth before there are any", () => {
    const random = stream(81);
    for (const deviation of [0.02, 0.5, 4]) {
      // Two rewards at each of 200 distant points, so that only the noise differs between them.
      const n = 200;
      const pairs = Array.from({ length: n }, () => [0, 0].map(() => deviation * Math.sqrt(12) * (random() - 0.5)));
      const { noiseVariance } = fitted(core, { ...median, variance: 1 }, 0, {
        points: Float64Array.from({ length: 3 * n }, (_, i) => 1e4 * i),
        counts: new Float64Array(n).fill(2),
        sums: Float64Array.from(pairs, ([a, b]) => a + b),
        squares: Float64Array.from(pairs, ([a, b]) => a * a + b * b),
      });
      expect(Math.sqrt(noiseVariance) / deviation).toBeGreaterThan(0.8);
      expect(Math.sqrt(noiseVariance) / deviation).toBeLessThan(1.2);
    }
    const nothing = { points: new Float64Array(0), counts: new Float64Array(0), sums: new Float64Array(0), squares: new Float64Array(0) };
    expect(fitted(core, median, 0, nothing).noiseVariance).toBeCloseTo(0.01, 12);
  });
});
