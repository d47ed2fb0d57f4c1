// Writes the table of docs/research.md about what knowing delays gains on the papers' problems.

import { table } from "../../cli/command/markdown.ts";
import { AS_ZERO } from "../beyond.ts";
import { type Result, ratioName, ratioText, verdictOf, winsText } from "../runs/results.ts";
import { PROVENANCE, provenance } from "../summary/provenance.ts";

/** A problem, and the ratios of the regret of `delay-lin-ts` to those of policies that take a pending impression for a zero. */
interface BesideZero {
  readonly problem: string;
  readonly ratios: readonly Result[];
  /** The ratio to the best of them in hindsight, which is in its favour. */
  readonly best: Result;
  readonly verdict: string;
}

const METRIC = "cumulative regret";

export function besideZero(results: readonly Result[]): BesideZero[] {
  return ["vernade", "heavy-tail", "digits"].flatMap((experiment) => {
    const own = results.filter((row) => row.paper === "beyond" && row.experiment === experiment);
    return [...new Set(own.map(({ setting }) => setting))].flatMap((setting): BesideZero[] => {
      const here = own.filter((row) => row.setting === setting && row.algorithm === "delay-lin-ts");
      const ratios = AS_ZERO.flatMap((rival) => here.filter(({ metric }) => metric === ratioName(METRIC, rival)));
      if (ratios.length === 0) return [];
      const best = ratios.reduce((most, each) => (each.mean > most.mean ? each : most));
      return [{ problem: `${experiment}: ${setting}`, ratios, best, verdict: verdictOf(best) }];
    });
  });
}

/** The table of `delay-lin-ts` beside policies that take a pending impression for a zero, on the papers' problems. */
export function zeroTable(results: readonly Result[]): string {
  const rows = besideZero(results).map(({ problem, ratios, verdict }) => {
    const cells = AS_ZERO.map((rival) => ratios.find(({ metric }) => metric === ratioName(METRIC, rival))).map((each) =>
      each === undefined ? "" : ratioText(each),
    );
    return [problem, ...cells, verdict, ...provenance(ratios)];
  });
  return table(["problem", ...AS_ZERO.map((name) => `over ${name}`), "beside the best of them", ...PROVENANCE], rows);
}

/** How many of the ratios to the best rival win, in words. */
export const zeroWins = (results: readonly Result[]): string =>
  `Beside the best rival, ${winsText(besideZero(results).map(({ best }) => best))}.`;
