import type { Curve, Experiment, Paper } from "./experiment.ts";

/** A row of results.json. */
export interface Result {
  readonly paper: string;
  readonly experiment: string;
  readonly setting: string;
  readonly algorithm: string;
  readonly metric: string;
  readonly at: number;
  readonly runs: number;
  readonly mean: number;
  readonly standardError: number;
  readonly paperValue: number | null;
}

/** Curves of all runs of one algorithm in one setting. */
export interface Series {
  readonly setting: string;
  readonly algorithm: string;
  readonly runs: readonly (readonly Curve[])[];
}

export interface Point {
  readonly at: number;
  readonly mean: number;
  readonly standardError: number;
}

/** Mean and standard error over runs of one metric, at each of its rounds. */
export function summarise(runs: Series["runs"], metric: string): Point[] {
  const curves = runs.map((run) => run.find((curve) => curve.metric === metric)).filter((curve) => curve !== undefined);
  if (curves.length === 0) return [];
  return Array.from(curves[0].at, (at, i) => {
    const values = curves.map((curve) => curve.values[i]);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(values.length - 1, 1);
    return { at, mean, standardError: Math.sqrt(variance / values.length) };
  });
}

export function resultsOf(paper: Paper, experiment: Experiment, series: readonly Series[]): Result[] {
  return series.flatMap(({ setting, algorithm, runs }) => {
    const metrics = [...new Set(runs[0].map(({ metric }) => metric))];
    const reported = experiment.reported ?? metrics.map((metric) => ({ metric, at: summarise(runs, metric).at(-1)?.at as number }));
    return reported.flatMap(({ metric, at }) => {
      const point = summarise(runs, metric).find((each) => each.at === at);
      if (!point) return [];
      const paperValue = experiment.paperValue?.(setting, algorithm, metric, at) ?? null;
      const { mean, standardError } = point;
      return [
        { paper: paper.id, experiment: experiment.id, setting, algorithm, metric, at, runs: runs.length, mean, standardError, paperValue },
      ];
    });
  });
}

const shown = (value: number): string => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3));

/** A Markdown table of an experiment's results beside the paper's numbers. */
export function tableOf(results: readonly Result[]): string {
  const lines = results.map(({ setting, algorithm, metric, at, mean, standardError, paperValue }) => {
    const printed = paperValue === null ? "" : shown(paperValue);
    return `| ${setting} | ${algorithm} | ${metric} at ${at} | ${shown(mean)} ± ${shown(standardError)} | ${printed} |`;
  });
  return ["| setting | algorithm | metric | here | paper |", "| --- | --- | --- | --: | --: |", ...lines].join("\n");
}
