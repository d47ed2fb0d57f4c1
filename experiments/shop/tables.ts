// Writes the tables and figures of docs/research.md about the shop suite.
import type { Comparison } from "../choosing.ts";
import { type Look, means } from "../claims.ts";
import { type Result, ratioName } from "../results.ts";
import { AS_ZERO, algorithms, DEFAULT, WAITING } from "./algorithms.ts";

const REGRET = "cumulative regret";
const SLOW = "share of slow products, from the second week on";

/** Experiments with every algorithm, and those of their settings whose window is at least a tenth of the horizon. */
const worlds: Readonly<Record<string, readonly string[]>> = {
  catalogue: ["2 days, window 7 days", "4 days, log-normal, window 14 days, daily batches"],
  products: ["one-hot, 2 days, window 6 days", "one-hot, 2 days, window 6 days, drift"],
  classification: [
    "encoder, mean 5 % of the horizon",
    "encoder, mean 25 % of the horizon",
    "disjoint, mean 5 % of the horizon",
    "disjoint, mean 25 % of the horizon",
  ],
  slow: ["half slow, all at 3 %", "the best slow, at 6 %"],
  random: ["window 10 to 30 % of the horizon"],
};

const shown = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(2));
const ratio = ({ mean, standardError }: Result): string => `${mean.toFixed(2)} ± ${standardError.toFixed(2)}`;

function rowsOf(results: readonly Result[]): { readonly experiment: string; readonly setting: string; readonly label: string }[] {
  return Object.keys(worlds).flatMap((experiment) => {
    const settings = new Set(results.filter((each) => each.paper === "shop" && each.experiment === experiment).map((each) => each.setting));
    return [...settings].map((setting) => ({ experiment, setting, label: `${experiment}: ${setting}` }));
  });
}

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, ["---", ...head.slice(1).map(() => "--:")], ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

/** The last row of a metric: a curve may be reported at several rounds. */
const last = (results: readonly Result[], experiment: string, setting: string, algorithm: string, metric: string): Result | undefined =>
  results.findLast(
    (each) =>
      each.paper === "shop" &&
      each.experiment === experiment &&
      each.setting === setting &&
      each.algorithm === algorithm &&
      each.metric === metric,
  );

/** The regret of each algorithm in each world. */
export function shopTable(results: readonly Result[]): string {
  const names = Object.keys(algorithms);
  const rows = rowsOf(results).map(({ experiment, setting, label }) => {
    const cells = names.map((name) => last(results, experiment, setting, name, REGRET));
    return [label, ...cells.map((each) => (each === undefined ? "" : `${shown(each.mean)} ± ${shown(each.standardError)}`))];
  });
  return table(["world", ...names], rows);
}

const LEAST_WINDOW = 0.9;
const AT_MOST = 1.02;

/** The regret of the default over that of the same policy with pending as zero, and over that of the best algorithm that waits. */
export function shopRatios(results: readonly Result[]): string {
  const mean: Look = means(results.filter(({ paper }) => paper === "shop"));
  const rows = rowsOf(results).flatMap(({ experiment, setting, label }) => {
    const over = (algorithm: string) => last(results, experiment, setting, DEFAULT, ratioName(REGRET, algorithm));
    const [zero, ...waiting] = [AS_ZERO, ...WAITING].map(over);
    if (!zero) return [];
    const regrets = WAITING.map((name) => mean(experiment, setting, name, REGRET));
    const best = regrets.indexOf(Math.min(...regrets));
    const bound = worlds[experiment].includes(setting) ? LEAST_WINDOW : AT_MOST;
    const other = waiting[best] as Result;
    const holds = zero.mean <= AT_MOST && other.mean <= bound;
    return [[label, ratio(zero), WAITING[best], ratio(other), bound.toString(), holds ? "yes" : "**no**"]];
  });
  return table(["world", "over pending as zero (at most 1.02)", "best that waits", "over it", "at most", "reached"], rows);
}

/** Where regret does not tell all: the traffic of slow products, runs that stay with another product, and a long horizon. */
export function shopTraffic(results: readonly Result[]): string {
  const names = Object.keys(algorithms);
  const row = (experiment: string, setting: string, metric: string, label: string): string[] => [
    `${experiment}: ${setting}`,
    label,
    ...names.map((name) => {
      const found = last(results, experiment, setting, name, metric);
      if (!found) return "";
      return metric === "stuck" ? `${Math.round(found.mean * found.runs)} of ${found.runs}` : shown(found.mean);
    }),
  ];
  const settings = (experiment: string) => rowsOf(results).filter((each) => each.experiment === experiment);
  const [long] = results.filter(({ paper, experiment }) => paper === "shop" && experiment === "long");
  const rows = [
    ...settings("slow").map(({ experiment, setting }) => row(experiment, setting, SLOW, "share of slow products")),
    ...settings("products").map(({ experiment, setting }) => row(experiment, setting, "stuck", "stuck runs")),
    ...[REGRET, "stuck"].map((metric) => row("long", long.setting, metric, metric === "stuck" ? "stuck runs" : "regret")),
  ];
  return table(["world", "", ...names], rows);
}

/** How many intervals of 95 % hold, and how wide they are, after a number of impressions. */
export function shopIntervals(results: readonly Result[]): string {
  const own = results.filter(({ paper, experiment }) => paper === "shop" && experiment === "intervals");
  const each = (field: "setting" | "algorithm") => [...new Set(own.map((row) => row[field]))];
  const rows = each("setting").flatMap((setting) =>
    each("algorithm").map((algorithm) => {
      const values = (metric: string, digits: number): string[] =>
        own
          .filter((row) => row.setting === setting && row.algorithm === algorithm && row.metric === metric)
          .map(({ mean }) => mean.toFixed(digits));
      return [setting, algorithm, values("held, %", 0).join(" / "), values("width over exact binomial", 2).join(" / ")];
    }),
  );
  return table(["shop", "traffic", "held (%)", "width over that of exact binomial intervals"], rows);
}

/** The figures by name: the regret of each algorithm in the worlds of an experiment. */
export function shopComparisons(results: readonly Result[]): Readonly<Record<string, Comparison>> {
  const same = (names: readonly string[]): Record<string, string> => Object.fromEntries(names.map((name) => [name, name]));
  const drawn = Object.keys(worlds).map((experiment): [string, Comparison] => {
    const settings = rowsOf(results).flatMap((each) => (each.experiment === experiment ? [each.setting] : []));
    return [
      `shop-${experiment}`,
      { experiments: [experiment], metric: REGRET, settings: same(settings), algorithms: same(Object.keys(algorithms)) },
    ];
  });
  return Object.fromEntries(drawn);
}
