import { readFile } from "node:fs/promises";
import { delayGpUcb } from "afterclick";
import { additiveMatern32, gaussianProcess, type Kernel } from "afterclick/research";
import { beforeAll, describe, expect, it } from "vitest";
import { type Core, instantiate, type KernelSpec } from "../../../../src/core/core.ts";
import { fitted, mostProbable } from "../../../../src/model/gaussian-process/hyperparameters.ts";
import { kernelSpec } from "../../../../src/model/gaussian-process/kernel.ts";
import { solved } from "../../../support/reference/dense.ts";
import { stream } from "../../../support/scenario.ts";

// Fits to known rewards maximise the posterior density under log-normal priors, with the noise integrated out.

let core: Core;
beforeAll(async () => {
  const bytes = await readFile(new URL("../../../../dist/core.wasm", import.meta.url));
  core = await instantiate(await WebAssembly.compile(bytes));
});

const median: Kernel = additiveMatern32({ lengthscale: [0.5, 0.4, 0.6], context: 1, bias: 1, variance: 3 });
const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0);

/** Logarithms of the ratios to the medians: the context's lengthscale, the action's, and the variance. */
function logsOf({ lengthscale, variance }: KernelSpec): number[] {
  return [Math.log(lengthscale[0] / 0.5), Math.log(lengthscale[1] / 0.4), Math.log(variance / 3)];
}

function scaled(logs: readonly number[]): Kernel {
  const [context, action, signal] = logs.map(Math.exp);
  return additiveMatern32({ lengthscale: [0.5 * context, 0.4 * action, 0.6 * action], context: 1, bias: 1, variance: 3 * signal });
}

describe("the most probable kernel", () => {
  it.each([
    [2, -2, 4],
    [-1, 1.5, -3],
    [0.8, 0, 2],
  ])("is half-way between the medians and evidence that is as sure as the priors, logs %d, %d, %d", (...toward) => {
    // Prior deviations: 1 for the logarithm of a lengthscale, 2 for that of the variance.
    const spread = [1, 1, 2];
    const found = logsOf(
      mostProbable(core, kernelSpec(median, 3), 1, (kernel) => {
        return -sum(logsOf(kernel).map((each, i) => ((each - toward[i]) / spread[i]) ** 2)) / 2;
      }),
    );
    for (const [i, each] of found.entries()) expect(Math.abs(each - toward[i] / 2)).toBeLessThan(0.1);
  });

  it.each([0, 3])("scales all lengthscales by one factor without a context, or without an action: %d", (context) => {
    const only = additiveMatern32({ lengthscale: [0.5, 0.4, 0.6], context, bias: 1, variance: 3 });
    const { lengthscale, variance } = mostProbable(core, kernelSpec(only, 3), context, (kernel) => {
      return -8 * Math.log(kernel.lengthscale[0] / 1) ** 2 - 8 * Math.log(kernel.variance / 1) ** 2;
    });
    expect(lengthscale[1] / lengthscale[0]).toBeCloseTo(0.4 / 0.5, 12);
    expect(lengthscale[2] / lengthscale[0]).toBeCloseTo(0.6 / 0.5, 12);
    expect(Math.abs(lengthscale[0] - 1)).toBeLessThan(0.15);
    expect(variance).toBeLessThan(1.4);
  });

  it("is the medians' own if nothing is better", () => {
    expect(logsOf(mostProbable(core, kernelSpec(median, 3), 1, () => 0))).toEqual([0, 0, 0]);
  });
});

describe("what is fitted", () => {
  const random = stream(4);
  const counts = [1, 3, 2, 1, 4, 1, 2, 2];
  const sites = counts.map((count) => ({
    point: [random(), random(), random()],
    rewards: Array.from({ length: count }, () => 0.2 * random()),
  }));
  const rows = sites.flatMap(({ point, rewards }) => rewards.map((reward) => ({ point, reward })));
  const evidence = {
    points: Float64Array.from(sites.flatMap(({ point }) => point)),
    counts: Float64Array.from(counts),
    sums: Float64Array.from(sites, ({ rewards }) => sum(rewards)),
    squares: Float64Array.from(sites, ({ rewards }) => sum(rewards.map((each) => each * each))),
  };

  /** Half of y (K + I)^-1 y, and half of log |K + I|, in plain matrices with one row per reward. */
  async function likelihood(logs: readonly number[]): Promise<{ quadratic: number; determinant: number }> {
    const n = rows.length;
    const process = await gaussianProcess({ dimension: 3, kernel: scaled(logs), noiseVariance: 1 });
    const matrix = process.covariance(Float64Array.from(rows.flatMap(({ point }) => point)));
    for (let i = 0; i < n; i++) matrix[i * n + i] += 1;
    const y = rows.map(({ reward }) => reward);
    const half = sum(solved(matrix, y).map((each, i) => each * y[i])) / 2;
    // The pivots of an elimination.
    const left = Array.from({ length: n }, (_, i) => [...matrix.subarray(i * n, (i + 1) * n)]);
    let determinant = 0;
    for (const [i, pivot] of left.entries()) {
      determinant += Math.log(pivot[i]) / 2;
      for (const row of left.slice(i + 1)) {
        const factor = row[i] / pivot[i];
        for (let j = i; j < n; j++) row[j] -= factor * pivot[j];
      }
    }
    return { quadratic: half, determinant };
  }

  async function density(logs: readonly number[]): Promise<number> {
    const { quadratic, determinant } = await likelihood(logs);
    const prior = (logs[0] ** 2 + logs[1] ** 2 + (logs[2] / 2) ** 2) / 2;
    return -determinant - (1 + rows.length / 2) * Math.log(0.01 + quadratic) - prior;
  }

  it("is of greater density than what is a fifth more or less in any way", async () => {
    const found = logsOf(fitted(core, kernelSpec(median, 3), 1, evidence).kernel);
    const greatest = await density(found);
    for (const i of [0, 1, 2]) {
      for (const step of [-0.18, 0.18]) expect(await density(found.with(i, found[i] + step))).toBeLessThan(greatest);
    }
    expect(Math.max(...found.map(Math.abs))).toBeGreaterThan(0.1);
  });

  it("has the noise of greatest density given the kernel", async () => {
    const { kernel, noiseVariance } = fitted(core, kernelSpec(median, 3), 1, evidence);
    const { quadratic } = await likelihood(logsOf(kernel));
    expect(noiseVariance).toBeCloseTo((0.01 + quadratic) / (1 + rows.length / 2), 10);
  });
});

describe("the medians of a policy's priors", () => {
  const lengthscaleOf = (options: object): unknown => (delayGpUcb(options as never).options as { lengthscale: unknown }).lengthscale;

  it("are a tenth of an extent, times the root of how many features the context has, or the action", () => {
    expect(lengthscaleOf({ dimension: 1 })).toEqual([0.1]);
    expect(lengthscaleOf({ dimension: 5, contextDimension: 1 })).toEqual([0.1, 0.2, 0.2, 0.2, 0.2]);
    const [first, , third] = lengthscaleOf({ dimension: 3, contextDimension: 2 }) as number[];
    expect([first, third]).toEqual([0.1 * Math.SQRT2, 0.1]);
  });

  it("are of a domain's own extents, and of 1 where all points are alike", () => {
    const points = [
      [3, 2, 7],
      [-1, 2, 7.5],
      [1, 2, 6],
      [2, 2, 7],
    ];
    const root = Math.sqrt(3) / 10;
    expect(lengthscaleOf({ domain: { points } })).toEqual([4 * root, root, 1.5 * root].map((each) => expect.closeTo(each, 12)));
  });

  it("are refused where they do not fit the dimension", () => {
    expect(() => delayGpUcb({ dimension: 2, contextDimension: 3 })).toThrow(/contextDimension: expected at most 2/);
    expect(() => delayGpUcb({ dimension: 2, lengthscale: [1, 1, 1] })).toThrow(/lengthscale/);
    expect(() => delayGpUcb({ dimension: 2, capacity: 1 })).toThrow(/capacity/);
    expect((delayGpUcb({ dimension: 2, contextDimension: 2 }).options as { contextDimension: number }).contextDimension).toBe(2);
  });
});
