import type { Curve, Experiment, Paper, Ratios } from "./experiment.ts";
import { holm, pValue } from "./significance.ts";

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
  /** The figure of each run, in order, if ratios are made of them. */
  readonly values?: readonly number[];
  /** The figure of run 0 otherwise. */
  readonly first?: number;
  /** The commit that ran it, and the one that fresh runs have affirmed it with since. */
  readonly commit?: string;
  readonly affirmed?: string;
  /** Names what it rests on, see `tracesOf`. Absent if nothing has affirmed it since traces exist. */
  readonly trace?: string;
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

/** A ratio with the number of its pairs. */
type Ratio = Pick<Result, "mean" | "standardError" | "runs">;

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

/** Ratio of the means of pairs, with its standard error by the delta method. A mean of ratios would be biased upwards by noise. */
export function ratioOf(pairs: readonly (readonly [number, number])[]): { readonly mean: number; readonly standardError: number } {
  const [above, below] = [0, 1].map((place) => pairs.reduce((sum, pair) => sum + pair[place], 0));
  const mean = above / below;
  const squares = pairs.reduce((sum, [a, b]) => sum + (a - mean * b) ** 2, 0);
  return { mean, standardError: Math.sqrt((squares * pairs.length) / Math.max(pairs.length - 1, 1)) / Math.abs(below) };
}

/** The 97.5 % quantile of Student's t, by degrees of freedom from 1 on. */
const STUDENT = [
  ...[12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131],
  ...[2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042],
];
/** Beyond the table, to within 0.001. */
const studentQuantile = (freedom: number): number => STUDENT[freedom - 1] ?? 1.96 + 2.42 / freedom;

/** The interval of 95 % of a mean or a ratio over runs. */
export function intervalOf({ mean, standardError, runs }: Ratio): {
  readonly low: number;
  readonly high: number;
} {
  const width = runs < 2 ? Number.POSITIVE_INFINITY : studentQuantile(runs - 1) * standardError;
  return { low: mean - width, high: mean + width };
}

/** The verdict of a ratio of losses on the first of two algorithms. */
export function verdictOf(ratio: Ratio): "wins" | "loses" | "ties" {
  const { low, high } = intervalOf(ratio);
  if (high < 1) return "wins";
  return low > 1 ? "loses" : "ties";
}

/** How many ratios win, and how many of these wins remain after Holm's correction for the number of ratios. */
export function winsOf(ratios: readonly Ratio[]): { readonly wins: number; readonly certain: number } {
  const certain = holm(
    ratios.map(({ mean, standardError, runs }) => pValue(standardError === 0 ? 0 : (mean - 1) / standardError, runs - 1)),
  );
  const isWin = ratios.map((ratio) => verdictOf(ratio) === "wins");
  return { wins: isWin.filter(Boolean).length, certain: isWin.filter((wins, i) => wins && certain[i]).length };
}

/** The same in words. */
export function winsText(ratios: readonly Ratio[]): string {
  const { wins, certain } = winsOf(ratios);
  return `${wins} of ${ratios.length} ratios win, and ${certain} of these wins remain after Holm's correction for ${ratios.length} comparisons`;
}

/** A ratio with its interval of 95 %. */
export function ratioText(ratio: Ratio): string {
  const { low, high } = intervalOf(ratio);
  return `${ratio.mean.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`;
}

/** The runs of an algorithm in a setting. Undefined if it has not played there. */
export const seriesOf = (series: readonly Series[], setting: string, algorithm: string): Series | undefined =>
  series.find((each) => each.setting === setting && each.algorithm === algorithm);

/** The last value of a metric in each run. */
const lastValues = ({ runs }: Series, metric: string): number[] =>
  runs.map((run) => {
    const { values } = run.find((curve) => curve.metric === metric) as Curve;
    return values[values.length - 1];
  });

/**
 * The ratio of a metric at its end, over the runs that both have played. Undefined if nothing is lost, because all choices are equally good, or
 * if the setting does not have the metric.
 */
export function ratioOfSeries(own: Series, other: Series, metric: string): Ratio | undefined {
  if (!own.runs.every((run) => run.some((curve) => curve.metric === metric))) return undefined;
  const [above, below] = [own, other].map((series) => lastValues(series, metric));
  const pairs = below.slice(0, above.length).map((each, i) => [above[i], each] as const);
  if (pairs.every(([, each]) => each === 0)) return undefined;
  return { runs: pairs.length, ...ratioOf(pairs) };
}

/** The smallest difference of a ratio from 1 that its runs could have told: half of its interval of 95 %. */
export function resolutionOf(ratio: Ratio): number {
  const { low, high } = intervalOf(ratio);
  return (high - low) / 2;
}

/** Runs before which nothing is told, and standard errors beyond which a difference is clear, although it is looked at after each run. */
const LEAST_RUNS = 12;
const CLEAR = 4;

/** Whether a ratio needs no more runs: they could have told this share, or the difference from 1 is clear. */
export function isTold(ratio: Ratio, share: number): boolean {
  if (ratio.runs < LEAST_RUNS) return false;
  return resolutionOf(ratio) <= share || Math.abs(ratio.mean - 1) >= CLEAR * ratio.standardError;
}

/** The name of the metric in rows of ratios. */
export const ratioName = (metric: string, to: string): string => `${metric} over that of ${to}`;
/** The algorithm that the ratio of a row is over. Undefined if the row is no ratio. */
export const rivalOf = ({ metric }: Pick<Result, "metric">): string | undefined => metric.split(ratioName("", ""))[1];

function ratiosOf(paper: Paper, { id }: Experiment, { metric, of, to }: Ratios, series: readonly Series[]): Result[] {
  return [...new Set(series.map(({ setting }) => setting))].flatMap((setting) =>
    to.flatMap((algorithm) => {
      const [own, others] = [of, algorithm].map((name) => seriesOf(series, setting, name));
      if (!own || !others) return [];
      const ratio = ratioOfSeries(own, others, metric);
      if (!ratio) return [];
      const at = own.runs[0].find((curve) => curve.metric === metric)?.at;
      const name = ratioName(metric, algorithm);
      const row = { paper: paper.id, experiment: id, setting, algorithm: of, metric: name, at: Array.from(at ?? []).at(-1) as number };
      return [{ ...row, ...ratio, paperValue: null }];
    }),
  );
}

/** Figures of the stored value of a run. */
export const FIGURES = 5;

/** A metric of each run at a round, to five figures. */
function valuesAt(runs: Series["runs"], metric: string, at: number): number[] {
  return runs.flatMap((run) => {
    const curve = run.find((each) => each.metric === metric);
    return curve ? [Number(curve.values[Array.from(curve.at).indexOf(at)].toPrecision(FIGURES))] : [];
  });
}

export function resultsOf(paper: Paper, experiment: Experiment, series: readonly Series[]): Result[] {
  const compared = (experiment.ratios ?? []).map(({ metric }) => metric);
  const rows = series.flatMap(({ setting, algorithm, runs }) => {
    const metrics = [...new Set(runs[0].map(({ metric }) => metric))];
    const reported = experiment.reported ?? metrics.map((metric) => ({ metric, at: summarise(runs, metric).at(-1)?.at as number }));
    return reported.flatMap(({ metric, at }) => {
      const point = summarise(runs, metric).find((each) => each.at === at);
      if (!point) return [];
      const paperValue = experiment.paperValue?.(setting, algorithm, metric, at) ?? null;
      const { mean, standardError } = point;
      const row = { paper: paper.id, experiment: experiment.id, setting, algorithm, metric, at, runs: runs.length, mean, standardError };
      const values = valuesAt(runs, metric, at);
      return [{ ...row, paperValue, ...(compared.includes(metric) ? { values } : { first: values[0] }) }];
    });
  });
  return [...rows, ...(experiment.ratios ?? []).flatMap((ratios) => ratiosOf(paper, experiment, ratios, series))];
}

/** The text of results.json: a row a line. */
export const textOf = (results: readonly Result[]): string => `[\n${results.map((each) => JSON.stringify(each)).join(",\n")}\n]\n`;

const shown = (value: number): string => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3));

/** A Markdown table of an experiment's results beside the paper's numbers. */
export function tableOf(results: readonly Result[]): string {
  const lines = results.map(({ setting, algorithm, metric, at, mean, standardError, paperValue }) => {
    const printed = paperValue === null ? "" : shown(paperValue);
    return `| ${setting} | ${algorithm} | ${metric} at ${at} | ${shown(mean)} ± ${shown(standardError)} | ${printed} |`;
  });
  return ["| setting | algorithm | metric | here | paper |", "| --- | --- | --- | --: | --: |", ...lines].join("\n");
}
