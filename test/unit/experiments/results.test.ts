import { expect, it } from "vitest";
import type { Experiment, Paper } from "../../../experiments/runs/experiment.ts";
import { ratioName, ratioOf, resultsOf } from "../../../experiments/runs/results.ts";

it("divides means, and takes the error of the ratio from the pairs", () => {
  // With a constant ratio, the pairs leave no doubt, however much they vary.
  expect(
    ratioOf([
      [1, 2],
      [5, 10],
      [40, 80],
    ]),
  ).toEqual({ mean: 0.5, standardError: 0 });
  // Residuals a - b of -1, 1: their standard error is that of their mean, sqrt(2 / 2), over the mean of b.
  const { mean, standardError } = ratioOf([
    [9, 10],
    [11, 10],
  ]);
  expect(mean).toBe(1);
  expect(standardError).toBeCloseTo(1 / 10);
});

it("adds ratios by setting, paired by run, except where nothing is lost", () => {
  const experiment = { id: "e", ratios: [{ metric: "regret", of: "a", to: ["b"] }] } as unknown as Experiment;
  const curve = (value: number) => [{ metric: "regret", at: [1, 2], values: [0, value] }];
  const series = [
    { setting: "s", algorithm: "a", runs: [curve(1), curve(3)] },
    { setting: "s", algorithm: "b", runs: [curve(2), curve(6)] },
    { setting: "equal", algorithm: "a", runs: [curve(0), curve(0)] },
    { setting: "equal", algorithm: "b", runs: [curve(0), curve(0)] },
  ];
  const rows = resultsOf({ id: "p" } as Paper, experiment, series).filter(({ metric }) => metric === ratioName("regret", "b"));
  expect(rows).toEqual([
    {
      ...{ paper: "p", experiment: "e", setting: "s", algorithm: "a", metric: ratioName("regret", "b") },
      ...{ at: 2, runs: 2, mean: 0.5, standardError: 0, paperValue: null },
    },
  ]);
});
