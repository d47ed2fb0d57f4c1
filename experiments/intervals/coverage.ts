import { table } from "../../cli/command/markdown.ts";
import { pValue } from "../runs/significance.ts";
import type { Stated } from "./stated-figure.ts";

/** How often the intervals of one metric hold the truth, over all worlds of a setting. */
export interface Coverage {
  readonly figure: string;
  readonly setting: string;
  readonly metric: string;
  /** Simulated worlds. */
  readonly runs: number;
  /** Looks at the metric in these worlds, and the share of them for which the figure says "too few". */
  readonly worlds: number;
  readonly tooFew: number;
  /** Shares of the stated intervals. Null if none was stated. */
  readonly held: number | null;
  readonly below: number | null;
  readonly above: number | null;
  /** Mean of the stated values over that of the truths. Null if no value was stated, or all truths are 0. */
  readonly ratio: number | null;
  /** Mean width over that of an ideal interval. Null if no ideal is known. */
  readonly width: number | null;
  /** The commit that ran it, and the one that has affirmed it with fresh worlds since. */
  readonly commit?: string;
  readonly affirmed?: string;
  /** Names what the figure states in a few worlds, see `traceOf`. */
  readonly trace?: string;
}

/** Counts by metric, in order of appearance. */
export function coverageOf(figure: string, setting: string, runs: number, all: readonly Stated[]): Coverage[] {
  return Array.from(
    Map.groupBy(all, ({ metric }) => metric),
    ([metric, rows]) => {
      const count = (result: Stated["result"]): number => rows.filter((row) => row.result === result).length;
      const intervals = rows.length - count("too few") - count("no interval");
      const share = (result: Stated["result"]): number | null => (intervals === 0 ? null : count(result) / intervals);
      const valued = rows.filter(({ value }) => value !== undefined);
      const sum = (of: (row: Stated) => number): number => valued.reduce((total, row) => total + of(row), 0);
      const truth = sum((row) => row.truth as number);
      const widths = rows.flatMap(({ width = Number.NaN }) => (Number.isFinite(width) ? [width] : []));
      return {
        ...{ figure, setting, metric, runs, worlds: rows.length, tooFew: count("too few") / rows.length },
        ...{ held: share("held"), below: share("below"), above: share("above") },
        ratio: truth === 0 ? null : sum((row) => row.value as number) / truth,
        width: widths.length === 0 ? null : widths.reduce((total, each) => total + each, 0) / widths.length,
      };
    },
  );
}

/** The p-value of the hypothesis that two rows of one world hold equally often, and say "too few" equally often. */
export function agreementOf(one: Coverage, other: Coverage): number {
  const counts = ({ worlds, tooFew, held }: Coverage) => ({
    worlds,
    few: worlds * tooFew,
    missed: worlds * (1 - tooFew) * (1 - (held ?? 1)),
  });
  const [a, b] = [counts(one), counts(other)];
  const [few, missed] = [
    sharesDiffer(a.few, a.worlds, b.few, b.worlds),
    sharesDiffer(a.missed, a.worlds - a.few, b.missed, b.worlds - b.few),
  ];
  return Math.min(1, 2 * Math.min(few, missed));
}

/** The p-value of two shares. **Source:** the difference of arcsines, which are normal. */
function sharesDiffer(a: number, ofA: number, b: number, ofB: number): number {
  if (ofA < 1 || ofB < 1) return 1;
  // Anscombe 1948.
  const angle = (count: number, of: number): number => Math.asin(Math.sqrt((count + 0.375) / (of + 0.75)));
  return pValue(((angle(a, ofA) - angle(b, ofB)) * 2) / Math.sqrt(1 / ofA + 1 / ofB), 1e9);
}

/** Standard errors beyond which a share is outside the promise of 93 to 98 % by more than chance. */
const CLEAR = 2;

/** Whether a share is outside the promise, and by more than the chance of its runs. */
function isOutside({ held, worlds, tooFew }: Coverage): boolean {
  if (held === null) return false;
  const error = (share: number): number => Math.sqrt((share * (1 - share)) / (worlds * (1 - tooFew)));
  return held < 0.93 - CLEAR * error(0.93) || held > 0.98 + CLEAR * error(0.98);
}

const percent = (share: number): string => (100 * share).toFixed(1).replace(/^100\.0$/, "100");

/** A metric of a setting: the share held, the ratio, the width, and how often there are too few. */
function cell(row: Coverage | undefined): string {
  if (!row) return "";
  const { held, ratio, width, tooFew } = row;
  const share = held === null ? [] : [isOutside(row) ? `**${percent(held)}**` : percent(held)];
  const figures = [...share, ...[ratio, width].flatMap((each) => (each === null ? [] : [each.toFixed(2)]))].join("; ");
  if (tooFew === 0) return figures;
  return tooFew === 1 ? "too few" : `${figures} (too few: ${percent(tooFew)})`;
}

/** A Markdown table of one figure: a row for each setting, and a column for each metric. */
export function coverageTable(rows: readonly Coverage[]): string {
  const metrics = [...new Set(rows.map(({ metric }) => metric))];
  const lines = Map.groupBy(rows, ({ setting }) => setting);
  return table(
    ["world", ...metrics, "runs"],
    Array.from(lines, ([setting, own]) => [
      setting,
      ...metrics.map((name) => cell(own.find(({ metric }) => metric === name))),
      `${own[0].runs}`,
    ]),
  );
}
