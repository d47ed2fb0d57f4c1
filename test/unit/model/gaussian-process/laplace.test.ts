import { expect, it, vi } from "vitest";
import { CoreProcess } from "../../../../src/core/core-process.ts";
import { additiveMatern32, kernelSpec, squaredExponential } from "../../../../src/model/gaussian-process/kernel.ts";
import { laplaceEvidence, laplaceMode } from "../../../../src/model/gaussian-process/laplace.ts";
import { freshCore } from "../../../support/core.ts";

// The mode of rates' latent function.

const points = Float64Array.of(0, 0.3, 0.7, 1);
const seen = { points, trials: Float64Array.of(5, 0, 3, 40), successes: Float64Array.of(2, 0, 3, 1) };
const kernel = kernelSpec(additiveMatern32({ lengthscale: 0.3, bias: 8, variance: 1 }), 1);

it("Newton's method ends as soon as its steps no longer tell, and its next step changes next to nothing", () => {
  const { core } = freshCore();
  const process = new CoreProcess(core, kernel, 1, 4);
  const steps = vi.spyOn(process, "replace");
  const mode = laplaceMode(core, process, seen, new Float64Array(4));
  expect(steps.mock.calls.length).toBeGreaterThan(2);
  expect(steps.mock.calls.length).toBeLessThan(12);
  steps.mockClear();
  const again = laplaceMode(core, process, seen, mode);
  expect(steps.mock.calls.length).toBe(1);
  for (const [i, each] of again.entries()) expect(Math.abs(each - mode[i])).toBeLessThan(1e-7);
});

it("Newton's method ends far from its start as near by, and the start is left alone", () => {
  const { core } = freshCore();
  const process = new CoreProcess(core, kernel, 1, 4);
  const near = laplaceMode(core, process, seen, new Float64Array(4));
  const evidence = laplaceEvidence(core, process, seen, near);
  for (const far of [-20, 20]) {
    const start = new Float64Array(4).fill(far);
    const mode = laplaceMode(core, process, seen, start);
    expect(start).toEqual(new Float64Array(4).fill(far));
    for (const [i, each] of mode.entries()) expect(each).toBeCloseTo(near[i], 6);
    expect(laplaceEvidence(core, process, seen, mode)).toBeCloseTo(evidence, 3);
  }
});

it.each([
  [7, 2],
  [1, 1],
  [90, 0],
])("the mode and evidence at one point of %d trials and %d successes are those of Laplace's formula", (trials, successes) => {
  const { core } = freshCore();
  const process = new CoreProcess(core, kernelSpec(squaredExponential({ lengthscale: 1, variance: 9 }), 1), 1, 4);
  const one = { points: Float64Array.of(0.4), trials: Float64Array.of(trials), successes: Float64Array.of(successes) };
  const mode = laplaceMode(core, process, one, new Float64Array(1));
  // The prior's variance is 9: the mode is where successes - trials rate = f / 9.
  const rate = (f: number): number => 1 / (1 + Math.exp(-f));
  let [low, high] = [-20, 20];
  for (let step = 0; step < 60; step++) {
    const f = (low + high) / 2;
    if (successes - trials * rate(f) > f / 9) low = f;
    else high = f;
  }
  expect(mode[0]).toBeCloseTo(low, 6);
  const likelihood = successes * Math.log(rate(low)) + (trials - successes) * Math.log(1 - rate(low));
  const curvature = 1 + 9 * trials * rate(low) * (1 - rate(low));
  expect(laplaceEvidence(core, process, one, mode)).toBeCloseTo(likelihood - (low * low) / 18 - Math.log(curvature) / 2, 3);
});
