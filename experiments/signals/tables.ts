// Writes the table and the figures of docs/research.md about the signals of a shop.

import { table } from "../../cli/command/markdown.ts";
import { type Result, ratioName, ratioText, verdictOf, winsText } from "../runs/results.ts";
import type { Comparison } from "../summary/choosing.ts";
import { PROVENANCE, provenance } from "../summary/provenance.ts";

const EXPERIMENTS = ["goals", "funnel", "contextual-funnel", "revenue", "lists"];
const DRAWN = ["funnel", "contextual-funnel"];

const shown = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(2));
const withError = ({ mean, standardError }: Result): string => `${shown(mean)} ± ${shown(standardError)}`;

const ofPaper = (results: readonly Result[]): Result[] => results.filter(({ paper }) => paper === "signals");
const isRatio = ({ metric }: Result): boolean => metric.includes(ratioName("", ""));

/** Each setting with its algorithms: their regret or error, and ratios of one to another. */
export function signalsTable(results: readonly Result[]): string {
  const rows = EXPERIMENTS.flatMap((experiment) => {
    const own = ofPaper(results).filter((row) => row.experiment === experiment);
    return [...new Set(own.map(({ setting }) => setting))].map((setting) => {
      const here = own.filter((row) => row.setting === setting);
      const values = here.filter((row) => !isRatio(row)).map((row) => `${row.algorithm} ${withError(row)}`);
      const ratios = here.filter(isRatio).map((row) => {
        const [, to] = row.metric.split(" over that of ");
        return `${row.algorithm} over ${to}: ${ratioText(row)}, ${verdictOf(row)}`;
      });
      return [`${experiment}: ${setting}`, values.join("; "), ratios.join("; "), ...provenance(here)];
    });
  });
  return table(["setting", "regret, or error of the estimate", "ratios", ...PROVENANCE], rows, 3);
}

/** How many of the ratios win, in words. */
export const signalsWins = (results: readonly Result[]): string => `In this table ${winsText(ofPaper(results).filter(isRatio))}.`;

/** Figures by name: the regret of each algorithm that has played all settings of an experiment. */
export function signalsComparisons(results: readonly Result[]): Readonly<Record<string, Comparison>> {
  const same = (names: readonly string[]): Record<string, string> => Object.fromEntries(names.map((name) => [name, name]));
  return Object.fromEntries(
    DRAWN.map((experiment): [string, Comparison] => {
      const own = ofPaper(results).filter((row) => row.experiment === experiment && !isRatio(row));
      const settings = [...new Set(own.map(({ setting }) => setting))];
      const algorithms = [...new Set(own.map(({ algorithm }) => algorithm))].filter(
        (name) => own.filter(({ algorithm }) => algorithm === name).length === settings.length,
      );
      const metric = "cumulative regret";
      return [`signals-${experiment}`, { experiments: [experiment], metric, settings: same(settings), algorithms: same(algorithms) }];
    }),
  );
}
