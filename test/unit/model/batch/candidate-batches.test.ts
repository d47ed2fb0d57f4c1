import { afterEach, expect, it, vi } from "vitest";
import { CoreProcess } from "../../../../src/core/core-process.ts";
import { CandidateBatches } from "../../../../src/model/batch/candidate-batches.ts";
import { parseGaussianProcess } from "../../../../src/model/gaussian-process/gaussian-process-settings.ts";
import { freshCore } from "../../../support/core.ts";

// When the candidate of a batch is chosen anew.

const settings = parseGaussianProcess({ domain: { points: [[0], [1]] }, noiseVariance: 0.5 });

afterEach(() => vi.restoreAllMocks());

/** Batches of a candidate whose deviation is always the same, and how often one was chosen. */
function batches(deviation: number) {
  const { core } = freshCore();
  const acquisition = vi.fn(() => ({ index: 0, score: 1, mean: 0, deviation, multiplier: 1 }));
  return { acquisition, of: new CandidateBatches(core, settings, { threshold: 2, batchRule: "raw" }, acquisition) };
}

it("between batches a reward and factors made anew lead to another choice, within a batch neither does", () => {
  // (2^2 - 1) / 1: three evaluations.
  const { acquisition, of } = batches(1);
  const features = Float64Array.of(0);
  const refactored = vi.spyOn(CoreProcess.prototype, "refactor");
  for (let evaluation = 0; evaluation <= 3; evaluation++) {
    acquisition.mockClear();
    of.leader();
    of.observe({ features, slot: of.append(features), round: 1 }, 1, undefined);
    of.leader();
    refactored.mockClear();
    of.refactor();
    expect(refactored).toHaveBeenCalledTimes(2);
    of.leader();
    // The third evaluation ends the batch; its reward and the factors come after it.
    expect(acquisition).toHaveBeenCalledTimes(evaluation === 0 ? 1 : evaluation === 2 ? 2 : 0);
  }
  const between = batches(1);
  const impression = { features, slot: between.of.append(features), round: 1 };
  between.of.append(features);
  between.of.append(features);
  between.of.leader();
  between.acquisition.mockClear();
  between.of.observe(impression, 1, undefined);
  between.of.leader();
  between.of.leader();
  expect(between.acquisition).toHaveBeenCalledTimes(1);
});

it("a candidate of a greater variance than the batch asks for is evaluated once", () => {
  const { acquisition, of } = batches(10);
  for (let evaluation = 1; evaluation <= 4; evaluation++) {
    of.append(Float64Array.of(0));
    of.leader();
    expect(acquisition).toHaveBeenCalledTimes(1 + evaluation);
  }
});
