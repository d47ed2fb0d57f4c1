// Writes the table of docs/research.md about what knowing delays gains on the papers' problems.

import { table } from "../../cli/command/markdown.ts";
import { AS_ZERO } from "../beyond.ts";
import { type Result, ratioName, ratioText, verdictOf } from "../runs/results.ts";
import { PROVENANCE, provenance } from "../summary/provenance.ts";

/** The table of `delay-lin-ts` beside policies that take a pending impression for a zero, on the papers' problems. */
export function zeroTable(results: readonly Result[]): string {
  const rows = ["vernade", "heavy-tail", "digits"].flatMap((experiment) => {
    const own = results.filter((row) => row.paper === "beyond" && row.experiment === experiment);
    const regret = "cumulative regret";
    return [...new Set(own.map(({ setting }) => setting))].flatMap((setting) => {
      const here = own.filter((row) => row.setting === setting && row.algorithm === "delay-lin-ts");
      const ratios = AS_ZERO.flatMap((rival) => here.filter(({ metric }) => metric === ratioName(regret, rival)));
      if (ratios.length === 0) return [];
      const least = ratios.reduce((best, each) => (each.mean > best.mean ? each : best));
      const cells = AS_ZERO.map((rival) => ratios.find(({ metric }) => metric === ratioName(regret, rival))).map((each) =>
        each === undefined ? "" : ratioText(each),
      );
      return [[`${experiment}: ${setting}`, ...cells, verdictOf(least), ...provenance(ratios)]];
    });
  });
  return table(["problem", ...AS_ZERO.map((name) => `over ${name}`), "beside the best of them", ...PROVENANCE], rows);
}
