// Writes the table of numbers in README.md from the results of experiments and of the bench.

import { table } from "../../cli/command/markdown.ts";
import { besideZero } from "../beyond/zero.ts";
import { AS_ZERO } from "../beyond.ts";
import { type Result, ratioText } from "../runs/results.ts";
import { verdictsOf } from "../shop/tables.ts";
import { comparisons, find } from "./choosing.ts";

/** The bench's workload in the table. */
export const DECISION = "decision k=1000 d=128";

/** @param decision milliseconds of the workload `DECISION`. */
export function numbersTable(results: readonly Result[], decision: number): string {
  const setting = "m = 500, mean 100";
  const of = (algorithm: string): number => find(comparisons.linear, setting, algorithm, results).mean;
  const rival = Math.min(...AS_ZERO.map(of));
  const regrets = [of("delay-lin-ts"), rival, of("uniform")].map((mean) => mean.toFixed(0));
  const others = besideZero(results).filter(({ problem }) => problem.startsWith("vernade: ") && problem !== `vernade: ${setting}`);
  const beside = others.map(({ verdict, best }) => `${verdict}, ${ratioText(best)}`).join("; ");
  const verdicts = verdictsOf(results).map(({ rival, worlds, wins, certain, ties, losses }) => [
    `${worlds} simulated shops, beside the best rival that ${rival}`,
    `wins ${wins} (${certain} after Holm's correction), ties ${ties}, loses ${losses}`,
    "`npm run reproduce -- --paper shop`",
  ]);
  return table(
    ["measured", "result", "command"],
    [
      [
        "conversions missed in 3,000 rounds, in one of three settings: by the default; by the best of four policies that take pending for zero; at random",
        regrets.join("; "),
        `\`npm run reproduce -- --paper beyond --experiment vernade --setting "${setting}" --runs 50\``,
      ],
      [
        "the two other settings of that experiment, with shorter windows: regret over that of the best of the four",
        beside,
        "`npm run reproduce -- --paper beyond --experiment vernade --runs 50`",
      ],
      ...verdicts,
      ["a decision among 1,000 products with 128 components", `${decision.toPrecision(2)} ms`, `\`npm run bench -- --only "${DECISION}"\``],
    ],
    2,
  );
}
