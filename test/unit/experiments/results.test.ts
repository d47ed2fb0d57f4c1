import { expect, it } from "vitest";
import { affirmedRows, comparedRows } from "../../../experiments/runs/affirm.ts";
import type { Experiment, Paper } from "../../../experiments/runs/experiment.ts";
import { type Result, ratioName, ratioOf, ratioText, resultsOf, verdictOf, winsOf } from "../../../experiments/runs/results.ts";
import { holm, pValue } from "../../../experiments/runs/significance.ts";
import { agreement, ratiosBeside, replaced } from "../../../experiments/runs/stored-results.ts";
import { commandOf, runsOf } from "../../../experiments/summary/provenance.ts";

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

const row = (rest: Partial<Result>): Result => ({
  ...{ paper: "shop", experiment: "long", setting: "one-hot, at once, 10,000 visitors", algorithm: "default", metric: "cumulative regret" },
  ...{ at: 1, runs: 12, mean: 1, standardError: 0, paperValue: null },
  ...rest,
});

it("states the number of runs of most rows, and names the others, by the rival if they are ratios", () => {
  expect(runsOf([row({})])).toBe("12");
  expect(runsOf([row({}), row({}), row({ algorithm: "uniform", runs: 3 })])).toBe('12; 3 of "uniform"');
  const ratio = row({ metric: ratioName("cumulative regret", "Beta, waiting"), runs: 4 });
  expect(runsOf([row({}), row({}), ratio])).toBe('12; 4 of "Beta, waiting"');
});

it("gives the command that plays rows again: with the setting if they have one of several, and with data if it needs some", () => {
  const both = [row({}), row({ setting: "one-hot, at once, 100,000 visitors", runs: 86 })];
  expect(commandOf(both)).toBe("`npm run reproduce -- --paper shop --experiment long --runs 86`");
  expect(commandOf([both[0]])).toBe(
    '`npm run reproduce -- --paper shop --experiment long --setting "one-hot, at once, 10,000 visitors" --runs 12`',
  );
  const digits = row({ paper: "beyond", experiment: "digits", setting: "no delay" });
  expect(commandOf([digits, both[0]])).toBe(
    '`npm run reproduce -- --paper beyond --experiment digits --setting "no delay" --runs 12 --data DIR`, ' +
      '`npm run reproduce -- --paper shop --experiment long --setting "one-hot, at once, 10,000 visitors" --runs 12`',
  );
  expect(() => commandOf([row({ experiment: "gone" })])).toThrow("There is no experiment gone of shop");
});

it("decides by an interval of Student's t, which one run does not have", () => {
  // Two runs: 12.706 standard errors. Eleven: 2.228.
  expect(ratioText({ mean: 0.8, standardError: 0.01, runs: 2 })).toBe("0.80 (0.67 to 0.93)");
  expect(ratioText({ mean: 0.8, standardError: 0.1, runs: 11 })).toBe("0.80 (0.58 to 1.02)");
  expect(verdictOf({ mean: 0.8, standardError: 0.1, runs: 11 })).toBe("ties");
  expect(verdictOf({ mean: 0.7, standardError: 0.1, runs: 11 })).toBe("wins");
  expect(verdictOf({ mean: 1.3, standardError: 0.1, runs: 11 })).toBe("loses");
  expect(verdictOf({ mean: 0.5, standardError: 0, runs: 1 })).toBe("ties");
  // Beyond the table: 1.984 at 100 degrees of freedom, 2.021 at 40.
  for (const [freedom, quantile] of [
    [100, 1.984],
    [40, 2.021],
  ]) {
    const [, low] = ratioText({ mean: 0, standardError: 1, runs: freedom + 1 }).match(/\(-(.*) to/) as RegExpMatchArray;
    expect(Number(low)).toBeCloseTo(quantile, 2);
  }
});

it("corrects for many comparisons as Holm does, with p-values of Student's t", () => {
  // The 97.5 % quantiles of Student's t at 5, 20 and very many degrees of freedom.
  for (const [t, freedom] of [
    [2.571, 5],
    [2.086, 20],
    [1.96, 1e9],
  ])
    expect(pValue(t, freedom)).toBeCloseTo(0.05, 3);
  expect(pValue(-2.086, 20)).toBe(pValue(2.086, 20));
  expect(pValue(100, 0)).toBe(1);
  // 0.01 <= 0.05 / 4, 0.013 <= 0.05 / 3, 0.03 > 0.05 / 2: the last two are not significant, although 0.04 is below 0.05.
  expect(holm([0.04, 0.01, 0.03, 0.013])).toEqual([false, true, false, true]);
  expect(holm([])).toEqual([]);
  const ratio = (mean: number) => ({ mean, standardError: 0.1, runs: 12 });
  expect(winsOf([ratio(0.5), ratio(0.77), ratio(1), ratio(2)])).toEqual({ wins: 2, certain: 1 });
});

it("fresh runs affirm a row by their very figures, or if a quarter of the runs do not contradict it", () => {
  const stored = row({ mean: 10, standardError: 1, runs: 12, values: [12, 8] });
  const runs =
    (...values: number[]) =>
    () =>
      values.map((value) => [{ metric: stored.metric, at: [1], values: [value] }]);
  expect(agreement(stored, runs(12.000001))).toBe(1);
  // One run is too few to tell, three are not.
  expect(agreement(stored, runs(11))).toBeUndefined();
  expect(agreement(stored, runs(11, 9, 10))).toBeGreaterThan(0.9);
  expect(agreement(stored, runs(30, 31, 32))).toBeLessThan(1e-4);
  expect(agreement(stored, runs())).toBeUndefined();

  const rival = row({ ...stored, algorithm: "uniform" });
  const ratio = row({ metric: ratioName(stored.metric, "uniform") });
  const traceOf = () => "trace";
  const series = (first: number) => [
    { setting: stored.setting, algorithm: "default", runs: runs(12)() },
    { setting: stored.setting, algorithm: "uniform", runs: runs(first, first, first)() },
  ];
  const affirm = (first: number) => affirmedRows(comparedRows([stored, rival, ratio], series(first), traceOf), "0badcafe");
  expect(affirm(12).affirmed.map(({ affirmed, trace }) => [affirmed, trace])).toEqual(Array(3).fill(["0badcafe", "trace"]));
  // The ratio falls with its rival.
  expect(affirm(40)).toMatchObject({
    affirmed: [{ algorithm: "default", metric: stored.metric }],
    contradicted: [{ algorithm: "uniform" }],
  });
});

it("keeps rows in their places, and adds the ratios to what has played before", () => {
  const [own, rival] = [row({ values: [1, 3] }), row({ algorithm: "b", values: [2, 6, 9] })];
  const all = replaced([own, row({ experiment: "other" })], [row({ mean: 5, values: [1, 3] }), rival]);
  expect(all.map(({ experiment, algorithm, mean }) => [experiment, algorithm, mean])).toEqual([
    ["long", "default", 5],
    ["long", "b", 1],
    ["other", "default", 1],
  ]);
  const experiment = { id: "long", ratios: [{ metric: own.metric, of: "default", to: ["b", "c"] }] } as unknown as Experiment;
  expect(ratiosBeside({ id: "shop" } as Paper, experiment, all, [rival])).toMatchObject([
    { algorithm: "default", metric: ratioName(own.metric, "b"), runs: 2, mean: 0.5 },
  ]);
});
