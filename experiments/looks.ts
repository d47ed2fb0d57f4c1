// Simulates experiments that are looked at every day: A/A for false alarms, A/B for the time to a decision.
import { command, type Values, wholeNumber } from "../scripts/command.ts";
import { progressBar } from "../scripts/progress.ts";
import { DEFAULT_TRAFFIC, decisionDays, HORIZON, type LookTest } from "./daily-looks.ts";

const USAGE = `Simulates experiments that are looked at daily, for ${HORIZON} days each, and compares three tests.

Usage: npm run looks -- [--runs N] [--null-runs N]

  --runs N       experiments with a lift of 20 %, default 200
  --null-runs N  experiments without a lift, default 1000

Example: npm run looks -- --runs 20 --null-runs 100`;

const options = { runs: { type: "string", default: "200" }, "null-runs": { type: "string", default: "1000" } } as const;

/** "immediate" has no delays, and "waiting" counts closed windows alone. */
const TESTS: readonly LookTest[] = ["immediate", "corrected", "waiting"];

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

function main(values: Values<typeof options>): void {
  const runs = wholeNumber("--runs", values.runs, 1);
  const nullRuns = wholeNumber("--null-runs", values["null-runs"], 1);
  const bar = progressBar("{bar} {value}/{total} experiments, {eta_formatted} left");
  bar.start(runs + nullRuns, 0);
  const played = <T>(count: number, play: (run: number) => T): T[] =>
    Array.from({ length: count }, (_, run) => {
      bar.increment();
      return play(run);
    });
  const lifted = played(runs, (run) => decisionDays({ seed: `b-${run}`, lift: 0.2, perDay: DEFAULT_TRAFFIC, repeat: 0 }));
  const nulls = played(nullRuns, (run) => decisionDays({ seed: `a-${run}`, lift: 0, perDay: 300, repeat: 0.3, tests: ["corrected"] }));
  bar.stop();
  const days = Object.fromEntries(TESTS.map((test) => [test, median(lifted.map((row) => row[test]))]));
  for (const test of TESTS) console.log(`${test.padEnd(10)} decided after a median of ${days[test]} days`);
  console.log(`corrected / waiting: ${(days.corrected / days.waiting).toFixed(2)}`);
  console.log(`without a lift, ever significant: ${nulls.filter((row) => row.correctedDecided === 1).length} of ${nullRuns}`);
}

await command({ usage: USAGE, options, run: async (values) => main(values) });
