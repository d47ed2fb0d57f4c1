import { matern52, NumericalError, otfLinUcb, Recommender, squaredExponential } from "afterclick";
import { type GaussianProcess, gaussianProcess } from "afterclick/research";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

// Laws of the posteriors, and agreement with a naive reference: Gauss-Jordan elimination on the full matrix.

function inverse(matrix: number[][]): number[][] {
  const n = matrix.length;
  const work = matrix.map((row, i) => [...row, ...row.map((_, j) => Number(i === j))]);
  for (let column = 0; column < n; column++) {
    let pivot = column;
    for (let i = column; i < n; i++) if (Math.abs(work[i][column]) > Math.abs(work[pivot][column])) pivot = i;
    [work[column], work[pivot]] = [work[pivot], work[column]];
    const scale = work[column][column];
    work[column] = work[column].map((value) => value / scale);
    for (let i = 0; i < n; i++) {
      if (i === column) continue;
      const factor = work[i][column];
      work[i] = work[i].map((value, j) => value - factor * work[column][j]);
    }
  }
  return work.map((row) => row.slice(n));
}

const dot = (a: number[], b: number[]): number => a.reduce((sum, value, i) => sum + value * b[i], 0);
const times = (matrix: number[][], vector: number[]): number[] => matrix.map((row) => dot(row, vector));

function learn(posterior: GaussianProcess, x: number[], reward: number): void {
  const features = Float64Array.from(x);
  posterior.reward({ features, slot: posterior.append(features) }, reward, 0);
}

const coordinate = fc.integer({ min: -8, max: 8 }).map((value) => value / 8);
const point = fc.tuple(coordinate, coordinate, coordinate).map((each) => [...each]);
const observation = fc.record({ x: point, y: fc.integer({ min: 0, max: 16 }).map((value) => value / 16) });
const data = fc.array(observation, { minLength: 1, maxLength: 14 });
const probes = fc.array(point, { minLength: 1, maxLength: 5 });

describe("ridge regression", () => {
  it("is the naive solution of its normal equations", async () => {
    await fc.assert(
      fc.asyncProperty(data, probes, async (observations, points) => {
        const { policy } = await Recommender.create({ policy: otfLinUcb({ dimension: 3, ridge: 0.5 }), window: "none" });
        observations.forEach(({ x, y }, i) => {
          policy.observe({ impression: policy.append({ features: x, round: i + 1 }), reward: y });
        });
        const matrix = [0, 1, 2].map((i) =>
          [0, 1, 2].map((j) => 0.5 * Number(i === j) + observations.reduce((sum, { x }) => sum + x[i] * x[j], 0)),
        );
        const moment = [0, 1, 2].map((i) => observations.reduce((sum, { x, y }) => sum + y * x[i], 0));
        const inverted = inverse(matrix);
        const { mean, variance } = policy.predict(points);
        points.forEach((x, i) => {
          expect(mean[i]).toBeCloseTo(dot(x, times(inverted, moment)), 11);
          expect(variance[i]).toBeCloseTo(dot(x, times(inverted, x)), 11);
        });
      }),
      { numRuns: 60 },
    );
  });
});

describe("a Gaussian process", () => {
  const noiseVariance = 0.05;

  it.each([
    ["squared exponential", squaredExponential({ lengthscale: [0.5, 1, 2], variance: 1.5 }), (r: number) => 1.5 * Math.exp((-r * r) / 2)],
    [
      "Matern 5/2",
      matern52({ lengthscale: [0.5, 1, 2] }),
      (r: number) => (1 + Math.sqrt(5) * r + (5 * r * r) / 3) * Math.exp(-Math.sqrt(5) * r),
    ],
  ])("with a %s kernel is the naive posterior of every single reward", async (_, kernel, shape) => {
    const k = (a: number[], b: number[]): number =>
      shape(Math.sqrt(a.reduce((sum, value, i) => sum + ((value - b[i]) / [0.5, 1, 2][i]) ** 2, 0)));
    await fc.assert(
      fc.asyncProperty(data, probes, async (observations, points) => {
        const posterior = await gaussianProcess({ dimension: 3, kernel, noiseVariance });
        for (const { x, y } of observations) learn(posterior, x, y);
        const matrix = observations.map((a, i) => observations.map((b, j) => k(a.x, b.x) + noiseVariance * Number(i === j)));
        const inverted = inverse(matrix);
        const rewards = observations.map(({ y }) => y);
        const { mean, deviation } = posterior.moments(Float64Array.from(points.flat()));
        points.forEach((x, i) => {
          const row = observations.map((each) => k(x, each.x));
          expect(mean[i]).toBeCloseTo(dot(row, times(inverted, rewards)), 9);
          expect(deviation[i] ** 2).toBeCloseTo(k(x, x) - dot(row, times(inverted, row)), 9);
        });
      }),
      { numRuns: 40 },
    );
  });

  it("grows surer with every impression, and gains information", async () => {
    await fc.assert(
      fc.asyncProperty(data, probes, async (observations, points) => {
        const posterior = await gaussianProcess({ dimension: 3, noiseVariance });
        const flat = Float64Array.from(points.flat());
        let deviation = posterior.moments(flat).deviation;
        let gain = 0;
        for (const { x } of observations) {
          posterior.append(Float64Array.from(x));
          const next = posterior.moments(flat).deviation;
          next.forEach((value, i) => {
            expect(value).toBeLessThanOrEqual(deviation[i] + 1e-12);
          });
          expect(posterior.informationGain()).toBeGreaterThanOrEqual(gain);
          deviation = next;
          gain = posterior.informationGain();
        }
      }),
      { numRuns: 40 },
    );
  });

  it("keeps to its capacity and goes on learning at the nearest point", async () => {
    const posterior = await gaussianProcess({ dimension: 1, noiseVariance, capacity: 2 });
    const [, , slot] = [0, 1, 0.9].map((x) => posterior.append(Float64Array.of(x)));
    expect(slot).toBe(1);
    const before = posterior.moments(Float64Array.of(1)).mean[0];
    posterior.reward({ features: Float64Array.of(0.9), slot }, 1, 0);
    expect(posterior.size).toBe(2);
    expect(posterior.moments(Float64Array.of(1)).mean[0]).toBeGreaterThan(before + 0.3);
  });

  it("finds by marginal likelihood the lengthscale that its data have", async () => {
    const posterior = await gaussianProcess({ dimension: 1, noiseVariance: 0.001, kernel: squaredExponential({ lengthscale: 1 }) });
    for (let i = 0; i < 60; i++) {
      learn(posterior, [i / 59], Math.sin((25 * i) / 59));
    }
    const before = posterior.logMarginalLikelihood();
    posterior.refit();
    expect(posterior.logMarginalLikelihood()).toBeGreaterThan(before + 50);
    expect(posterior.kernel.lengthscale[0]).toBeGreaterThan(0.03);
    expect(posterior.kernel.lengthscale[0]).toBeLessThan(0.15);
  });

  const nearDuplicates = Array.from({ length: 60 }, (_, i) => [i * 1e-9 + (i % 7) * 0.01]);
  const figures = (posterior: GaussianProcess): number[] => {
    const { mean, deviation } = posterior.moments(Float64Array.from([0, 0.005, 3]));
    return [...mean, ...deviation, posterior.logMarginalLikelihood(), posterior.informationGain()];
  };

  it("stays finite where the kernel matrix is singular to rounding and the noise 1e-10", async () => {
    const posterior = await gaussianProcess({ dimension: 1, noiseVariance: 1e-10, kernel: squaredExponential({ lengthscale: 2 }) });
    for (const [i, x] of nearDuplicates.entries()) learn(posterior, x, Math.cos(i));
    expect(figures(posterior).every(Number.isFinite)).toBe(true);
  });

  it("says how often it lifted a pivot where the noise is below rounding, and ends in a named error, never in NaN", async () => {
    const posterior = await gaussianProcess({ dimension: 1, noiseVariance: 1e-18, kernel: squaredExponential({ lengthscale: 2 }) });
    const play = (): void => {
      for (const [i, x] of nearDuplicates.entries()) {
        learn(posterior, x, Math.cos(i));
        if (!figures(posterior).every(Number.isFinite)) throw new Error("not a number");
      }
    };
    expect(play).toThrow(NumericalError);
    expect(posterior.clamped).toBeGreaterThan(0);
  });
});
