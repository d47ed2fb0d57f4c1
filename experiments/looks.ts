// Simulates experiments that are looked at every day: A/A for false alarms, A/B for the time to a decision.
import { command, type Values, wholeNumber } from "../cli/command/command.ts";
import { progressBar } from "../cli/command/progress.ts";
import { changingWorld, DEFAULT_TRAFFIC, decisionDays, HORIZON, type LookTest } from "./daily-looks.ts";

const USAGE = `Simulates experiments that are looked at daily, for ${HORIZON} days each, and compares three tests.

Usage: npm run looks -- [--runs N] [--null-runs N]

  --runs N       experiments with a lift of 20 %, default 200
  --null-runs N  experiments without a lift, default 1000. In half of them the holdout's share changes while rates go from 10 to 40 %

Example: npm run looks -- --runs 20 --null-runs 100`;

const options = { runs: { type: "string", default: "200" }, "null-runs": { type: "string", default: "1000" } } as const;

/** "immediate" has no delays, and "waiting" counts closed windows alone. */
const TESTS: readonly LookTest[] = ["immediate", "corrected", "waiting"];
/** Lists per day of an experiment without a lift. */
const NULL_TRAFFIC = 600;

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

function main(values: Values<typeof options>): void {
  const runs = wholeNumber("--runs", values.runs, 1);
  const nullRuns = wholeNumber("--null-runs", values["null-runs"], 2);
  const bar = progressBar("{bar} {value}/{total} experiments, {eta_formatted} left");
  bar.start(runs + nullRuns, 0);
  const played = <T>(count: number, play: (run: number) => T): T[] =>
    Array.from({ length: count }, (_, run) => {
      bar.increment();
      return play(run);
    });
  const lifted = played(runs, (run) => decisionDays({ seed: `b-${run}`, lift: 0.2, perDay: DEFAULT_TRAFFIC, longer: 0 }));
  const changing = Math.floor(nullRuns / 2);
  const steady = played(nullRuns - changing, (run) =>
    decisionDays({ seed: `a-${run}`, lift: 0, perDay: NULL_TRAFFIC, longer: 0.3, tests: ["corrected"] }),
  );
  const changed = played(changing, (run) => decisionDays(changingWorld(run, NULL_TRAFFIC)));
  bar.stop();
  const days = Object.fromEntries(TESTS.map((test) => [test, median(lifted.map((row) => row[test]))]));
  for (const test of TESTS) console.log(`${test.padEnd(10)} decided after a median of ${days[test]} days`);
  console.log(`corrected / waiting: ${(days.corrected / days.waiting).toFixed(2)}`);
  const decided = (rows: readonly Record<string, number>[]): string =>
    `${rows.filter((row) => row.correctedDecided === 1).length} of ${rows.length}`;
  console.log(`without a lift, ever decided: ${decided([...steady, ...changed])}`);
  console.log(`  one share: ${decided(steady)}; a share that changes: ${decided(changed)}`);
}

await command({ usage: USAGE, options, run: async (values) => main(values) });
