import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ADDITIVE_MATERN32, KERNEL_IDS, LINEAR, MATERN12, MATERN32, MATERN52, SQUARED_EXPONENTIAL } from "../../../assembly/abi.ts";
import type { KernelSpec } from "../../../src/core/core.ts";
import { CoreProcess } from "../../../src/core/core-process.ts";
import { best } from "../../../src/model/ranking.ts";
import { stream } from "../../../src/simulation/stream.ts";
import { NumericalError } from "../../../src/values/errors.ts";
import { freshCore } from "../../support/core.ts";
import { naivePosterior } from "../../support/reference/naive-process.ts";

// The candidates that the core does not give up are enough for the choice, and have the bits of `score`.

const KERNELS = [SQUARED_EXPONENTIAL, MATERN12, MATERN32, MATERN52, LINEAR, ADDITIVE_MATERN32 + KERNEL_IDS];

/** A process of n points, of which some coincide, and k candidates, of which some coincide with others or with points. */
const setting = fc.record({
  kernel: fc.constantFrom(...KERNELS),
  d: fc.integer({ min: 1, max: 4 }),
  n: fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 60, max: 160 })),
  k: fc.integer({ min: 1, max: 150 }),
  lengthscale: fc.constantFrom(0.001, 0.1, 0.3, 1, 10),
  noise: fc.constantFrom(1, 0.1, 1e-2, 1e-4, 1e-7, 1e-10, 1e-14),
  limit: fc.constantFrom(1, 1, 2, 6, 150),
  multiplier: fc.constantFrom(0, 0.5, 2, 50),
  grid: fc.constantFrom(2, 8, 1 << 20),
  seed: fc.nat(),
});
type Setting = typeof setting extends fc.Arbitrary<infer T> ? Record<keyof T, number> : never;

/** As `learnt`. Leaves out a run whose factor cannot be computed. */
function started(each: Setting) {
  const process = outcome(() => learnt(each));
  fc.pre(!("code" in process));
  return process as ReturnType<typeof learnt>;
}

function learnt({ kernel, d, n, k, lengthscale, noise, grid, seed }: Setting) {
  const random = stream("contenders", seed);
  const coordinate = (): number => Math.floor(random() * grid) / grid;
  const spec: KernelSpec = { kernel, variance: 1.5, bias: 0.5, lengthscale: new Float64Array(d).fill(lengthscale) };
  const process = new CoreProcess(freshCore().core, spec, noise, 16);
  const evaluations: { x: number[]; y: number }[] = [];
  for (let row = 0; row < n; row++) {
    const x = Array.from({ length: d }, coordinate);
    process.append(Float64Array.from(x));
    for (let repeat = random.below(3); repeat >= 0; repeat--) {
      const y = Math.sin(3 * x[0]) + 0.1 * random.normal();
      if (repeat > 0) process.replicate(row);
      process.reward(row, y, y * y);
      evaluations.push({ x, y });
    }
  }
  return { process, spec, evaluations, xs: Float64Array.from({ length: k * d }, coordinate) };
}

/** The result, or the code of its error: sums overflow if the noise is next to nothing. */
function outcome<T>(work: () => T): T | { readonly code: string } {
  try {
    return work();
  } catch (error) {
    if (error instanceof NumericalError) return { code: error.code };
    throw error;
  }
}

const scoresOf = (mean: Float64Array, variance: Float64Array, multiplier: number): Float64Array =>
  mean.map((each, i) => each + multiplier * Math.sqrt(variance[i]));

describe("contenders", () => {
  it("include every choice, with the bits of all scores, whatever coincides", () => {
    fc.assert(
      fc.property(setting, (each) => {
        const { process, xs } = started(each);
        const { limit, multiplier } = each;
        const all = outcome(() => process.score(xs));
        const found = outcome(() => process.contenders(xs, limit, multiplier));
        if ("code" in all || "code" in found) return void expect(found).toEqual(all);
        const places = [...found.places];
        expect(new Set(places).size).toBe(places.length);
        expect(found.mean).toEqual(Float64Array.from(places, (place) => all.mean[place]));
        expect(found.variance).toEqual(Float64Array.from(places, (place) => all.variance[place]));
        const scores = scoresOf(all.mean, all.variance, multiplier);
        expect(best(scores, limit).filter((place) => !places.includes(place))).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });

  it("by the means of another process include every choice", () => {
    fc.assert(
      fc.property(setting, (each) => {
        const { process, xs } = started({ ...each, n: Math.ceil(each.n / 2) });
        const { process: other } = started(each);
        const { limit, multiplier } = each;
        const exact = outcome(() => process.score(xs).mean);
        const mean = outcome(() => process.mean(xs));
        if ("code" in exact || "code" in mean) return;
        const known = { mean, error: process.meanError };
        const all = outcome(() => other.score(xs));
        if ("code" in all) return;
        const found = other.contenders(xs, limit, multiplier, known);
        const { variance } = all;
        const places = [...found.places];
        expect(found.mean).toEqual(Float64Array.from(places, (place) => known.mean[place]));
        expect(found.variance).toEqual(Float64Array.from(places, (place) => variance[place]));
        const chosen = [...best(scoresOf(exact, variance, multiplier), limit)];
        expect(chosen.filter((place) => !places.includes(place))).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });

  it("lead to the choice of a naive posterior", () => {
    fc.assert(
      fc.property(setting, (each) => {
        fc.pre(each.n <= 20 && each.noise >= 1e-2 && each.k <= 40);
        const { process, spec, evaluations, xs } = started(each);
        const { mean, variance, places } = process.contenders(xs, 1, each.multiplier);
        const chosen = places[best(scoresOf(mean, variance, each.multiplier), 1)[0]];
        const candidates = Array.from({ length: each.k }, (_, i) => [...xs.subarray(i * each.d, (i + 1) * each.d)]);
        const naive = naivePosterior(spec, each.noise, evaluations, candidates);
        const scores = candidates.map((_, i) => naive.mean[i] + each.multiplier * Math.sqrt(Math.max(naive.covariance[i][i], 0)));
        expect(scores[chosen]).toBeGreaterThanOrEqual(Math.max(...scores) - 1e-6);
      }),
    );
  });

  it("are few where rewards are smooth", () => {
    const each = { kernel: SQUARED_EXPONENTIAL, d: 2, n: 200, k: 150, lengthscale: 1, noise: 0.01, limit: 1, multiplier: 2, grid: 1 << 20 };
    const { process, xs } = started({ ...each, seed: 1 });
    expect(process.contenders(xs, 1, 2).places.length).toBeLessThanOrEqual(16);
  });
});

describe("the error of a mean", () => {
  it("is at least what separates the two ways to compute it", () => {
    fc.assert(
      fc.property(setting, (each) => {
        const { process, spec, xs } = started(each);
        const { meanError: error } = process;
        if (!Number.isFinite(error)) return;
        const [means, exact] = [process.mean(xs), process.score(xs).mean];
        const prior = new CoreProcess(freshCore().core, spec, 1, 1).score(xs).variance;
        for (const [i, mean] of means.entries()) expect(Math.abs(mean - exact[i])).toBeLessThanOrEqual(error * Math.sqrt(prior[i]));
      }),
      { numRuns: 150 },
    );
  });

  it("is far below what a decision turns on, unless the noise is next to nothing", () => {
    const each = { kernel: SQUARED_EXPONENTIAL, d: 8, n: 1000, k: 1, lengthscale: 1, limit: 1, multiplier: 2, grid: 1 << 20, seed: 1 };
    expect(started({ ...each, noise: 0.01 }).process.meanError).toBeLessThan(1e-4);
    expect(started({ ...each, n: 100, noise: 1e-14 }).process.meanError).toBe(Number.POSITIVE_INFINITY);
  });
});
