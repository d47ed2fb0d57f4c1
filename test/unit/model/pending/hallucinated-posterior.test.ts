import { afterEach, expect, it, vi } from "vitest";
import { CoreProcess } from "../../../../src/core/core-process.ts";
import { GaussianProcess } from "../../../../src/model/gaussian-process/gaussian-process.ts";
import { parseGaussianProcess } from "../../../../src/model/gaussian-process/gaussian-process-settings.ts";
import { HallucinatedPosterior } from "../../../../src/model/pending/hallucinated-posterior.ts";
import { freshCore } from "../../../support/core.ts";

// A posterior of two processes, each in a domain of its own.

const settings = parseGaussianProcess({ domain: { points: [[0], [1]] }, noiseVariance: 0.1 });

afterEach(() => vi.restoreAllMocks());

it("factors made anew keep one row for each point in both processes, and say the same", () => {
  const { core } = freshCore();
  const posterior = new HallucinatedPosterior(new GaussianProcess(core, settings), new GaussianProcess(core, settings));
  for (let round = 1; round <= 12; round++) {
    const features = Float64Array.of(round % 2);
    const slot = posterior.append(features);
    if (round > 2) posterior.observe({ features, slot, round }, round / 12, undefined);
  }
  const points = Float64Array.of(0, 0.25, 1);
  const before = posterior.predict(points);
  const statistics = posterior.statistics();
  const loaded = vi.spyOn(CoreProcess.prototype, "replace");
  posterior.refactor();
  expect(loaded.mock.calls.map(([{ counts }]) => [...counts])).toEqual([
    [5, 5],
    [6, 6],
  ]);
  expect(posterior.statistics()).toEqual(statistics);
  const after = posterior.predict(points);
  for (const i of points.keys()) {
    expect(after.mean[i]).toBeCloseTo(before.mean[i], 12);
    expect(after.deviation[i]).toBeCloseTo(before.deviation[i], 12);
  }
});
