// Writes the tables of docs/real-logs.md.
import { table } from "../../cli/command/markdown.ts";
import { ALL, BTS, CLICKS, ESTIMATORS, MISTAKES, RANDOM, REWARD } from "../logs.ts";
import { type Result, ratioName, ratioText } from "../runs/results.ts";
import { DEFAULT } from "../shop/algorithms.ts";
import { PROVENANCE, provenance } from "../summary/provenance.ts";
import { dataSets } from "./classes.ts";

const ofLogs = (results: readonly Result[], experiment: string): Result[] =>
  results.filter((each) => each.paper === "logs" && each.experiment === experiment);

const distinct = <T>(values: readonly T[]): T[] => [...new Set(values)];

/** The rows of each algorithm in each setting. */
function groupsOf(results: readonly Result[], experiment: string): { setting: string; algorithm: string; own: Result[] }[] {
  const rows = ofLogs(results, experiment);
  return distinct(rows.map(({ setting }) => setting)).flatMap((setting) =>
    distinct(rows.filter((each) => each.setting === setting).map(({ algorithm }) => algorithm)).map((algorithm) => ({
      setting,
      algorithm,
      own: rows.filter((each) => each.setting === setting && each.algorithm === algorithm),
    })),
  );
}

const meanOf = (rows: readonly Result[], metric: string): number | undefined => rows.find((each) => each.metric === metric)?.mean;

/** To two figures, with commas. */
export const rounded = (value: number): string => Number(value.toPrecision(2)).toLocaleString("en");

const percent = (share: number): string => (100 * share).toFixed(2);

/** An estimate with its interval, or how many rows it lacks. Empty if there is none. */
function figureText(rows: readonly Result[], metric: string): string {
  const more = meanOf(rows, `${metric}, more rows`);
  if (more !== undefined) return `too few, about ${rounded(more)} more rows`;
  const [value, low, high] = ["", ", low", ", high"].map((end) => meanOf(rows, `${metric}${end}`));
  if (value === undefined || low === undefined || high === undefined) return "";
  return `${percent(value)} % (${percent(low)} to ${percent(high)})`;
}

/** The click rate of each log at each position. */
export function ratesTable(results: readonly Result[]): string {
  const rows = groupsOf(results, "rates").map(({ setting, algorithm, own }) => {
    const count = own[0].at;
    const clicks = Math.round(count * (meanOf(own, CLICKS) ?? Number.NaN));
    return [setting, algorithm, count.toLocaleString("en"), `${clicks}`, figureText(own, CLICKS), ...provenance(own)];
  });
  return table(["log", "position", "rows", "clicks", "click rate", ...PROVENANCE], rows, 2);
}

/** The log's own policy; on another log, BTS has the shares of items that it showed on its own. */
function nameOf(setting: string, algorithm: string): string {
  if (algorithm === (setting === BTS ? "BTS" : "uniform")) return `${algorithm}, the log's own`;
  return algorithm === "BTS" ? "BTS, its shares of items" : algorithm;
}

/** The estimates of each policy on each log. */
export function policiesTable(results: readonly Result[]): string {
  const rows = groupsOf(results, "policies").map(({ setting, algorithm, own }) => [
    setting,
    nameOf(setting, algorithm),
    ...Object.values(ESTIMATORS).map((estimator) => figureText(own, estimator)),
    rounded(meanOf(own, "effective rows") as number),
    rounded(meanOf(own, "greatest weight") as number),
    ...provenance(own),
  ]);
  return table(["log", "policy", ...Object.values(ESTIMATORS), "effective rows", "greatest weight", ...PROVENANCE], rows, 2);
}

/** A figure of each algorithm, and that of the default over it. */
function besideDefault(groups: ReturnType<typeof groupsOf>, metric: string, shown: (value: number) => string): string[][] {
  return groups.map(({ setting, algorithm, own }) => {
    const row = own.find((each) => each.metric === metric) as Result;
    const defaults = groups.find((each) => each.setting === setting && each.algorithm === DEFAULT);
    const ratio = defaults?.own.find((each) => each.metric === ratioName(metric, algorithm));
    const printed = row.paperValue === null ? "" : `${row.paperValue}`;
    const figure = `${shown(row.mean)} ± ${shown(row.standardError)}`;
    return [setting, algorithm, figure, printed, ratio && ratio.runs > 1 ? ratioText(ratio) : "", ...provenance([row])];
  });
}

/** Visits and purchases in replays of random e-mails. Above 1 the default earns more. */
export function emailsTable(results: readonly Result[]): string {
  const rows = besideDefault(groupsOf(results, "emails"), REWARD, (value) => value.toPrecision(3));
  return table(
    ["outcome", "algorithm", REWARD, "default over it", ...PROVENANCE],
    rows.map(([a, b, c, , ...rest]) => [a, b, c, ...rest]),
    2,
  );
}

/** Mistakes on data sets of classes. Below 1 the default makes fewer. */
export function classesTable(results: readonly Result[]): string {
  const rows = Object.keys(dataSets).flatMap((id) =>
    besideDefault(groupsOf(results, id), MISTAKES, (value) => value.toFixed(0)).map((row) => [id, ...row]),
  );
  return table(["data", "setting", "algorithm", "mistakes", "published", "default over it", ...PROVENANCE], rows, 3);
}

/** Items of the campaign. */
const ITEMS = 46;
/** Rows of the published sample of a log. */
const ROWS = 10_000;
/** A difference of so many standard errors has an interval of 95 % without 0 in four logs of five. */
const TOLD = 1.96 + 0.84;

/** A comparison of two policies by their clicks. */
export interface Compared {
  readonly label: string;
  /** Variance of the difference of both rates, times the number of rows, over the rate. */
  readonly variance: number;
  readonly rate: number;
  readonly sources: readonly Result[];
}

/**
 * Comparisons on the random log. Weights w of mean 1 compare a policy with the log itself by the mean of (w - 1) x click, whose variance per
 * row is about the rate times the mean of w^2 - 1: the number of rows over that of effective rows, less 1.
 */
export function comparedOf(results: readonly Result[]): Compared[] {
  const all = groupsOf(results, "rates").filter(({ setting, algorithm }) => setting === RANDOM && algorithm === ALL)[0].own;
  const rate = meanOf(all, CLICKS) as number;
  const weighed = groupsOf(results, "policies")
    .filter(({ setting, algorithm }) => setting === RANDOM && algorithm !== "uniform")
    .map(({ algorithm, own }) => {
      const effective = own.filter(({ metric }) => metric === "effective rows");
      const variance = effective[0].at / effective[0].mean - 1;
      return { label: `${nameOf(RANDOM, algorithm)}, beside the log itself`, variance, rate, sources: [...all, ...effective] };
    });
  return [
    { label: "two policies in an A/B test, half of the rows each", variance: 4, rate, sources: all },
    ...weighed.sort((a, b) => a.variance - b.variance),
    { label: "a policy that shows one item, beside the log itself", variance: ITEMS - 1, rate, sources: all },
    { label: "two policies that show one item each, never the same", variance: 2 * ITEMS, rate, sources: all },
  ];
}

/** Standard error of the difference of both rates, over the rate. */
export const errorOf = ({ variance, rate }: Compared, rows: number): number => Math.sqrt(variance / (rows * rate));

/** The smallest lift that so many rows tell in four logs of five. */
export const leastLift = (compared: Compared, rows: number): number => TOLD * errorOf(compared, rows);

/** Rows that tell a lift in four logs of five. */
export const rowsToTell = ({ variance, rate }: Compared, lift: number): number => ((TOLD / lift) ** 2 * variance) / rate;

/** The table of lifts that the random log can tell, by comparison. */
export function toldTable(results: readonly Result[]): string {
  const rows = comparedOf(results).map((each) => [
    each.label,
    `${rounded(100 * errorOf(each, ROWS))} %`,
    `${rounded(100 * leastLift(each, ROWS))} %`,
    rounded(rowsToTell(each, 0.1)),
    ...provenance(each.sources),
  ]);
  return table(["comparison", "standard error of the lift", "least lift told", "rows that tell a lift of 10 %", ...PROVENANCE], rows);
}
