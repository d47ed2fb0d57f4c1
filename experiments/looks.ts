// Simulates experiments that are looked at every day: A/A for false alarms, A/B for the time to a decision.
import { parseArgs } from "node:util";
import { progressBar } from "../scripts/progress.ts";
import { DEFAULT_TRAFFIC, decisionDays, HORIZON } from "./daily-looks.ts";

const HELP = `Simulates experiments that are looked at daily, for ${HORIZON} days each.

Usage: node experiments/looks.ts [--runs N] [--null-runs N]

--runs N       A/B experiments (default: 200)
--null-runs N  A/A experiments (default: 1000)`;

const { values } = parseArgs({
  options: { runs: { type: "string", default: "200" }, "null-runs": { type: "string", default: "1000" }, help: { type: "boolean" } },
});
const [runs, nullRuns] = [Number(values.runs), Number(values["null-runs"])];
if (values.help || ![runs, nullRuns].every((count) => Number.isInteger(count) && count > 0)) {
  console.log(HELP);
  process.exit(values.help ? 0 : 1);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

const bar = progressBar("{bar} {value}/{total} experiments, {eta_formatted} left");
bar.start(runs + nullRuns, 0);
const rows: Record<string, number>[] = [];
for (let run = 0; run < runs; run++) {
  rows.push(decisionDays({ seed: `b-${run}`, lift: 0.2, perDay: DEFAULT_TRAFFIC, repeat: 0 }));
  bar.increment();
}
let [alarms, missed] = [0, 0];
for (let run = 0; run < nullRuns; run++) {
  const days = decisionDays({ seed: `a-${run}`, lift: 0, perDay: 300, repeat: 0.3, tests: ["corrected"] });
  if (days.corrected <= HORIZON && days.correctedDecided) alarms++;
  else missed++;
  bar.increment();
}
bar.stop();
console.table(
  Object.fromEntries(["immediate", "corrected", "waiting"].map((test) => [test, { medianDays: median(rows.map((row) => row[test])) }])),
);
const ratio = median(rows.map((row) => row.corrected)) / median(rows.map((row) => row.waiting));
console.log(`corrected / waiting: ${ratio.toFixed(2)}; A/A ever significant: ${alarms} of ${alarms + missed}`);
