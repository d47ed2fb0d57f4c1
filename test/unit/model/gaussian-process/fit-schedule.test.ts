import { readFile } from "node:fs/promises";
import { delayGpUcb, type Policy, Recommender } from "afterclick";
import { type AppendedImpression, additiveMatern32, gaussianProcess, type Kernel } from "afterclick/research";
import { beforeAll, describe, expect, it } from "vitest";
import { type Core, instantiate, type KernelSpec } from "../../../../src/core/core.ts";
import { fitted, mostProbable } from "../../../../src/model/gaussian-process/hyperparameters.ts";
import { kernelSpec } from "../../../../src/model/gaussian-process/kernel.ts";
import { solved } from "../../../support/reference/dense.ts";
import { stream } from "../../../support/scenario.ts";

// Schedule and input of hyper-parameter fits in delay-aware Gaussian processes, and their adoption.

let core: Core;
beforeAll(async () => {
  const bytes = await readFile(new URL("../../../../dist/core.wasm", import.meta.url));
  core = await instantiate(await WebAssembly.compile(bytes));
});

const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0);
const logistic = (x: number): number => 1 / (1 + Math.exp(-x));

interface Seen {
  readonly x: number;
  readonly reward: number;
}

/** Observations per point, in order of first appearance. */
function sitesOf(seen: readonly Seen[]) {
  const points = [...new Set(seen.map(({ x }) => x))];
  const rewards = points.map((point) => seen.filter(({ x }) => x === point).map(({ reward }) => reward));
  return {
    points,
    counts: rewards.map((each) => each.length),
    sums: rewards.map(sum),
    squares: rewards.map((each) => sum(each.map((r) => r * r))),
  };
}

const columns = (value: ReturnType<typeof sitesOf>) => ({
  points: Float64Array.from(value.points),
  counts: Float64Array.from(value.counts),
  sums: Float64Array.from(value.sums),
  squares: Float64Array.from(value.squares),
});

describe("of rewards of any size", () => {
  const median: Kernel = additiveMatern32({ lengthscale: 0.1, bias: 1, variance: 30 });

  it.each([
    ["has doubled", null, [8, 16, 32]],
    ["has doubled, within a half-life", { halfLife: 5000 }, [8, 16, 32]],
    // Observations lose weight with every second impression, and fits follow.
    ["is more by a half-life", { halfLife: 9 }, [25, 43]],
  ])("fits to eight known outcomes, then whenever their number %s", async (_, forgetting, fits) => {
    const { policy } = await Recommender.create({ policy: delayGpUcb({ dimension: 1, forgetting }), window: "none" });
    const random = stream(3);
    const mean = (): number => policy.predict([[0.45]]).mean[0];
    const changes: number[] = [];
    for (let outcomes = 0; outcomes < 50; outcomes++) {
      const before = mean();
      const features = [Math.floor(12 * random()) / 12];
      const impression = policy.append({ features, round: outcomes + 1 });
      // An impression alone changes no mean.
      if (mean() !== before && (forgetting?.halfLife !== 9 || outcomes % 2 === 1)) changes.push(outcomes);
      policy.observe({ impression, reward: Math.sin(7 * features[0]) + 0.2 * random() });
    }
    expect(changes).toEqual(fits);
  });

  it("predicts by the kernel and the noise that were fitted", async () => {
    const { policy } = await Recommender.create({ policy: delayGpUcb({ dimension: 1 }), window: "none" });
    const random = stream(5);
    const seen = Array.from({ length: 8 }, (_, i): Seen => ({ x: (i % 5) / 5, reward: Math.sin((7 * (i % 5)) / 5) + 0.3 * random() }));
    const shown: AppendedImpression[] = [];
    for (const [i, { x, reward }] of seen.entries()) {
      shown.push(policy.append({ features: [x], round: i + 1 }));
      policy.observe({ impression: shown[i], reward });
    }
    policy.append({ features: [0.35], round: 9 });
    const { kernel, noiseVariance } = fitted(core, kernelSpec(median, 1), 0, columns(sitesOf(seen)));
    const own = additiveMatern32({ lengthscale: kernel.lengthscale[0], bias: 1, variance: kernel.variance });
    const [known, all] = await Promise.all([0, 1].map(() => gaussianProcess({ dimension: 1, kernel: own, noiseVariance: 1 })));
    for (const { x, reward } of seen) {
      const features = Float64Array.of(x);
      known.reward({ features, slot: known.append(features) }, reward, 0);
      all.append(features);
    }
    all.append(Float64Array.of(0.35));
    const { mean, variance } = policy.predict([[0.5]]);
    expect(mean[0]).toBeCloseTo(known.moments(Float64Array.of(0.5)).mean[0], 8);
    expect(Math.sqrt(variance[0])).toBeCloseTo(all.moments(Float64Array.of(0.5)).deviation[0] * Math.sqrt(noiseVariance), 8);
    expect(Math.abs(Math.log(kernel.variance / 30))).toBeGreaterThan(0.1);
  });
});

describe("of rewards of 0 or 1", () => {
  const median: Kernel = additiveMatern32({ lengthscale: 0.1, bias: 8, variance: 1 });
  const seen = Array.from(
    { length: 50 },
    (_, i): Seen => ({ x: (i % 4) / 4, reward: Number(i % 4 === 3 || i % 9 === 5 || (i > 25 && i % 4 === 0)) }),
  );

  /** Laplace's approximation in plain matrices: mode, gradient, information and log evidence. */
  function laplace(kernel: KernelSpec, { points, counts: trials, sums: successes }: ReturnType<typeof sitesOf>) {
    const n = points.length;
    const matrix = core.kernelMatrix(kernel, Float64Array.from(points), Float64Array.from(points)).slice();
    const row = (i: number): number[] => [...matrix.subarray(i * n, (i + 1) * n)];
    let f = points.map(() => 0);
    const gradient = (): number[] => f.map((each, i) => successes[i] - trials[i] * logistic(each));
    const weights = (): number[] => f.map((each, i) => trials[i] * logistic(each) * (1 - logistic(each)));
    const inner = (): Float64Array => {
      const w = weights();
      return Float64Array.from(points.flatMap((_, i) => row(i).map((each, j) => w[i] * each + Number(i === j))));
    };
    for (let step = 0; step < 30; step++) {
      const [w, g] = [weights(), gradient()];
      const a = solved(
        inner(),
        w.map((each, i) => each * f[i] + g[i]),
      );
      f = points.map((_, i) => sum(row(i).map((each, j) => each * a[j])));
    }
    // |I + W K| from the pivots of an elimination.
    const left = Array.from({ length: n }, (_, i) => [...inner().subarray(i * n, (i + 1) * n)]);
    let determinant = 0;
    for (const [i, pivot] of left.entries()) {
      determinant += Math.log(pivot[i]);
      for (const below of left.slice(i + 1)) {
        const factor = below[i] / pivot[i];
        for (let j = i; j < n; j++) below[j] -= factor * pivot[j];
      }
    }
    const likelihood = sum(f.map((each, i) => successes[i] * each - trials[i] * Math.log(1 + Math.exp(each))));
    const g = gradient();
    return { inner, gradient: g, weights, evidence: likelihood - sum(f.map((each, i) => each * g[i])) / 2 - determinant / 2 };
  }

  /** Compares predictions with Laplace's approximation under a kernel, over all observations. */
  function agree(policy: Policy, kernel: KernelSpec, sites: ReturnType<typeof sitesOf>): void {
    const { inner, gradient, weights } = laplace(kernel, sites);
    for (const asked of [0.25, 0.6]) {
      const cross = [...core.kernelMatrix(kernel, Float64Array.from(sites.points), Float64Array.of(asked))];
      const latent = sum(cross.map((each, i) => each * gradient[i]));
      const [own] = core.kernelMatrix(kernel, Float64Array.of(asked), Float64Array.of(asked));
      const w = weights();
      const weighted = cross.map((each, i) => w[i] * each);
      const explained = solved(inner(), weighted);
      const variance = own - sum(cross.map((each, i) => each * explained[i]));
      const { mean } = policy.predict([[asked]]);
      expect(mean[0]).toBeCloseTo(logistic(latent / Math.sqrt(1 + (Math.PI / 8) * variance)), 5);
    }
  }

  it("fits to eight conversions by Laplace's evidence, predicts by that kernel, and fits again to sixteen", async () => {
    const { policy } = await Recommender.create({ policy: delayGpUcb({ dimension: 1, rewards: "bernoulli" }), window: "none" });
    const observed: Seen[] = [];
    let conversions = 0;
    let kernel = kernelSpec(median, 1);
    const kernels: string[] = [];
    for (const { x, reward } of seen) {
      const impression = policy.append({ features: [x], round: observed.length + 1 });
      observed.push({ x, reward: 0 });
      if (conversions === 8 * 2 ** kernels.length) {
        kernel = mostProbable(core, kernelSpec(median, 1), 0, (each) => laplace(each, sitesOf(observed)).evidence);
        kernels.push(`${kernel.lengthscale[0]} ${kernel.variance}`);
      }
      if (reward > 0) {
        policy.observe({ impression, reward });
        observed.splice(-1, 1, { x, reward });
        conversions++;
      }
      if (observed.length > 3) agree(policy, kernel, sitesOf(observed));
    }
    expect(kernels.length).toBe(2);
    expect(new Set([...kernels, "0.1 1"]).size).toBe(3);
  });
});
