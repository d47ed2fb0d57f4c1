import { matern52, squaredExponential } from "afterclick";
import { gaussianProcess } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { stream } from "../../../support/scenario.ts";

// Compares a refit with an exhaustive search: the likelihood at every kernel of a fine grid, by definition.

const NOISE = 0.05;

/** Log likelihood of rewards under a squared exponential, by elimination of the covariance matrix. */
function logLikelihood(points: number[], rewards: number[], lengthscale: number, variance: number): number {
  const rows = points.map((a, i) => {
    const row = points.map((b, j) => variance * Math.exp(-((a - b) ** 2) / (2 * lengthscale ** 2)) + (i === j ? NOISE : 0));
    return [...row, rewards[i]];
  });
  const n = points.length;
  let [value, determinant] = [0, 0];
  for (let i = 0; i < n; i++) {
    determinant += Math.log(rows[i][i]);
    value += rows[i][n] ** 2 / rows[i][i];
    for (let r = i + 1; r < n; r++) {
      const factor = rows[r][i] / rows[i][i];
      for (let c = i; c <= n; c++) rows[r][c] -= factor * rows[i][c];
    }
  }
  return -(value + determinant + n * Math.log(2 * Math.PI)) / 2;
}

describe("a refit", () => {
  const random = stream(71);
  const waves = [0.05, 0.4, 3].flatMap((length) =>
    [0.3, 2].map((height) => {
      const points = Array.from({ length: 30 }, () => random());
      const rewards = points.map((x) => height * Math.sin(x / length) + Math.sqrt(NOISE) * (random() + random() - 1));
      return { length, height, points, rewards };
    }),
  );

  it.each(waves)("finds the most likely kernel for a wave of length $length and height $height", async ({ points, rewards }) => {
    const process = await gaussianProcess({
      dimension: 1,
      kernel: squaredExponential({ lengthscale: 0.3, variance: 1 }),
      noiseVariance: NOISE,
    });
    for (const [i, x] of points.entries()) {
      const features = Float64Array.of(x);
      process.reward({ features, slot: process.append(features) }, rewards[i], 0);
    }
    process.refit();
    const { lengthscale, variance } = process.kernel;
    const found = logLikelihood(points, rewards, lengthscale[0], variance);
    expect(process.logMarginalLikelihood()).toBeCloseTo(found, 8);
    let most = Number.NEGATIVE_INFINITY;
    for (let i = -16; i <= 16; i++) {
      for (let j = -16; j <= 16; j++) most = Math.max(most, logLikelihood(points, rewards, 0.3 * 64 ** (i / 16), 64 ** (j / 16)));
    }
    expect(found).toBeGreaterThan(most - 0.002);
    for (const each of [lengthscale[0] / 0.3, variance]) expect(Math.abs(Math.log(each))).toBeLessThanOrEqual(Math.log(64) + 1e-9);
  });

  it("keeps the ratios of the lengthscales, and merges at capacity by those it began with", async () => {
    const kernel = matern52({ lengthscale: [0.2, 1.6] });
    const process = await gaussianProcess({ dimension: 2, kernel, noiseVariance: NOISE, capacity: 2 });
    const at = (x: number, y: number): number => process.append(Float64Array.of(x, y));
    expect([at(0, 0), at(1, 1)]).toEqual([0, 1]);
    // In units of the lengthscales, (0.4, 1.2) is at (2, 0.75) from one point and (3, -0.125) from the other.
    expect(at(0.4, 1.2)).toBe(0);
    expect(at(0.6, 0)).toBe(1);
    process.reward({ features: Float64Array.of(0, 0), slot: 0 }, 0.9, 0);
    process.refit();
    expect(process.kernel.lengthscale[1] / process.kernel.lengthscale[0]).toBeCloseTo(8, 12);
    expect(process.size).toBe(2);
  });
});
