import type { Stated } from "./stated-figure.ts";

/** How often the intervals of one metric hold the truth, over all worlds of a setting. */
export interface Coverage {
  readonly figure: string;
  readonly setting: string;
  readonly metric: string;
  /** Simulated worlds, and the share of them for which the figure says "too few". */
  readonly worlds: number;
  readonly tooFew: number;
  /** Shares of the stated intervals. Null if none was stated. */
  readonly held: number | null;
  readonly below: number | null;
  readonly above: number | null;
}

/** Counts by metric, in order of appearance. */
export function coverageOf(figure: string, setting: string, all: readonly Stated[]): Coverage[] {
  const metrics = [...new Set(all.map(({ metric }) => metric))];
  return metrics.map((metric) => {
    const rows = all.filter((row) => row.metric === metric);
    const count = (result: Stated["result"]): number => rows.filter((row) => row.result === result).length;
    const stated = rows.length - count("too few");
    const share = (result: Stated["result"]): number | null => (stated === 0 ? null : count(result) / stated);
    return {
      figure,
      setting,
      metric,
      worlds: rows.length,
      tooFew: count("too few") / rows.length,
      held: share("held"),
      below: share("below"),
      above: share("above"),
    };
  });
}

const percent = (share: number | null): string => (share === null ? "" : `${(100 * share).toFixed(1)} %`);

/** A Markdown table of one figure. */
export function coverageTable(rows: readonly Coverage[]): string {
  const lines = rows.map(({ setting, metric, worlds, tooFew, held, below, above }) =>
    [setting, metric, worlds, percent(held), percent(below), percent(above), percent(tooFew)].join(" | "),
  );
  const head = ["world", "figure", "runs", "held", "truth below", "truth above", "too few"].join(" | ");
  return [`| ${head} |`, "| --- | --- | --: | --: | --: | --: | --: |", ...lines.map((line) => `| ${line} |`)].join("\n");
}
