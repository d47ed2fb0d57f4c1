import { gpTsSdf, matern52 } from "afterclick";
import { gaussianProcess } from "afterclick/research";
import { expect, it } from "vitest";
import { stream } from "../../../../src/simulation/stream.ts";

const PAIRS = 20_000;
const random = stream("test", "pathwise");
const points = Array.from({ length: 21 }, () => [random(), random()]);
const settings = { domain: { points }, kernel: matern52({ lengthscale: 0.4, variance: 2 }), noiseVariance: 0.05 };

it("draws have the mean and the covariance of the posterior, repeated and pending points included", async () => {
  const process = await gaussianProcess(settings);
  const { domain } = process;
  // The third point comes twice in a row, and the first again at the end.
  [0, 3, 3, 7, 20, 0].forEach((place, i) => {
    const features = Float64Array.from(points[place]);
    process.reward({ features, slot: process.append(features) }, i % 3, 0);
  });
  const k = points.length;
  const normals = Float64Array.from({ length: PAIRS * 2 * points.length }, random.normal);
  const { mean, deviation, sample } = process.samplePathwise(normals, 1, 2 * PAIRS);
  const known = process.moments(domain?.points as Float64Array);
  expect([mean, deviation]).toEqual([known.mean, known.deviation]);
  const covariance = process.covariance(domain?.points as Float64Array);
  for (let a = 0; a < k; a++) {
    for (let b = 0; b <= a; b++) {
      let sum = 0;
      for (let s = 0; s < 2 * PAIRS; s += 2) sum += (sample[s * k + a] - mean[a]) * (sample[s * k + b] - mean[b]);
      const [own, ...variances] = [a * k + b, a * k + a, b * k + b].map((at) => covariance[at]);
      // The standard error of an estimated covariance. None of 231 differs by five of them.
      const error = Math.sqrt((variances[0] * variances[1] + own * own) / PAIRS);
      expect(Math.abs(sum / PAIRS - own)).toBeLessThan(5 * error + 1e-12);
    }
  }
});

it("is refused without a domain", () => {
  expect(() => gpTsSdf({ dimension: 2, kernel: settings.kernel, sampler: "pathwise" })).toThrow(/^sampler: expected "joint"/);
});
