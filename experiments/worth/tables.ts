// Writes the table and the figures of docs/worth.md.
import { table } from "../../cli/command/markdown.ts";
import { intervalOf, type Result, ratioName } from "../runs/results.ts";
import { DEFAULT } from "../shop/algorithms.ts";
import type { Comparison } from "../summary/choosing.ts";
import { PROVENANCE, provenance } from "../summary/provenance.ts";
import { conversionsAfter, DAYS, figureCells, INFORMED, labelOf, paper, rivals, SHOP_WIDE, shareAfter } from "../worth.ts";

const ofWorth = (results: readonly Result[]): Result[] => results.filter((each) => each.paper === paper.id);

const [{ settings, algorithms }] = paper.experiments;

/** A ratio of gains as a change in percent, with its interval of 95 %. */
function gainText(ratio: Result | undefined): string {
  if (!ratio) return "";
  const { low, high } = intervalOf(ratio);
  const [gain, ...ends] = [ratio.mean, low, high].map((each) => (100 * (each - 1)).toFixed(0));
  return `${gain} % (${ends.join(" to ")})`;
}

/** How many more conversions the default has brought since day 1 than what a shop does without it, and with a prior than the list that knows the same orders. */
export function worthTable(results: readonly Result[]): string {
  const own = ofWorth(results);
  const rows = settings.flatMap((setting) =>
    DAYS.flatMap((days) => {
      const of = (metric: string, algorithm: string) =>
        own.find((row) => row.setting === setting && row.algorithm === algorithm && row.metric === metric);
      const share = of(shareAfter(days), DEFAULT);
      if (!share) return [];
      const gain = (algorithm: string) => (rival: string) => of(ratioName(conversionsAfter(days), rival), algorithm);
      const ratios = [...rivals.map(gain(DEFAULT)), gain(INFORMED)(SHOP_WIDE)];
      const found = ratios.filter((row) => row !== undefined);
      return [[labelOf(setting), `${days}`, share.mean.toFixed(2), ...ratios.map(gainText), ...provenance(found)]];
    }),
  );
  return table(["shop", "day", "share of the best", ...rivals, `${INFORMED}, over ${SHOP_WIDE}`, ...PROVENANCE], rows, 1);
}

/** Day of the figures. */
const MONTH = 30;

/** The figures by name: the share of the best after a month, of each algorithm. */
export function worthComparisons(results: readonly Result[]): Readonly<Record<string, Comparison>> {
  const own = ofWorth(results).filter(({ metric }) => metric === shareAfter(MONTH));
  const settingsOf = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, labelOf(name)]));
  const labels = Object.fromEntries(algorithms.map((name) => [name, name.split(",")[0]]));
  return Object.fromEntries(
    Object.entries(figureCells).flatMap(([name, cells]) => {
      const played = cells.filter((cell) => algorithms.every((each) => own.some((row) => row.setting === cell && row.algorithm === each)));
      if (played.length === 0) return [];
      return [[name, { experiments: ["cells"], metric: shareAfter(MONTH), settings: settingsOf(played), algorithms: labels }]];
    }),
  );
}
