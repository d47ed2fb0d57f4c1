// npm run bench:open: how counting, publishing, closing and storing depend on the number of open impressions in one learner.
import { readFile, writeFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { command, wholeNumber } from "../cli/command/command.ts";
import { memoryOf } from "./inspector.ts";
import { COLUMNS, drawn, type OpenFigures, tableRow, withFigures } from "./open-figure.ts";
import { type Service, startWorkerd } from "./workerd.ts";

const vars = {
  AFTERCLICK_SECRET_KEY: "sk_bench_bench_bench_bench",
  AFTERCLICK_WEBHOOK_SECRET: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  AFTERCLICK_TOKEN_KEY: "token_bench_bench_bench",
};
/** The learner has an isolate of its own, so that the memory of the one that makes the load is not counted. */
const services: readonly Service[] = [
  {
    name: "learner",
    entry: "bench/services/learner.ts",
    vars,
    objects: { LEARNER: "MeasuredLearner" },
    namespaces: { EVENTS: "key-value" },
  },
  { name: "intake", entry: "bench/services/intake.ts", foreign: { LEARNER: { service: "learner", className: "MeasuredLearner" } } },
  { name: "key-value", entry: "bench/services/key-value.ts" },
];
const BATCH = 500;
const DIMENSION = 16;
/** Numbers of open impressions at which it measures. */
const STEPS = [1000, 10_000, 100_000, 1_000_000, 2_000_000, 5_000_000];
/** Impressions of one request. */
const AT_ONCE = 5000;
/** Measurements at each number. The table has their medians. */
const REPEATS = 9;
const FIGURE = "docs/figures/open-impressions.svg";
const PAGE = "docs/sizing.md";

const USAGE = `Fills one learner in workerd with open impressions of a week, and measures at 1,000, 10,000 and so on what counting, publishing and closing cost.
One in fifty converts. 5,000,000 impressions take some minutes.

Usage: npm run bench:open -- [options]

  --most N   most impressions, default 1000000
  --write    writes the table to ${PAGE} and the figure to ${FIGURE}

Example: npm run bench:open -- --most 100000`;

async function run({ most, write }: { readonly most: string; readonly write?: boolean }): Promise<void> {
  const steps = STEPS.filter((step) => step <= wholeNumber("--most", most, 1000, 5_000_000));
  const { ports, inspector, close } = await startWorkerd(services, { inspected: true });
  const measured: OpenFigures[] = [];
  console.log(`| ${COLUMNS.join(" | ")} |\n|${" --: |".repeat(COLUMNS.length)}`);
  const call = async (query: string) => (await (await fetch(`http://127.0.0.1:${ports.get("intake")}/?${query}`)).json()) as OpenFigures;
  const wake = async () => {
    for (let i = 0; i < 20; i++) {
      await fetch(`http://127.0.0.1:${ports.get("learner")}/`);
      await setTimeout(50);
    }
  };
  let shown = 0;
  for (const step of steps) {
    const sent: OpenFigures[] = [];
    while (shown < step) {
      const count = Math.min(AT_ONCE, step - shown);
      const batch = Math.min(count, BATCH);
      sent.push(await call(`registrations=${Math.ceil(count / batch)}&batch=${batch}&dimension=${DIMENSION}&earlier=${shown / BATCH}`));
      shown += count;
    }
    const repeats: OpenFigures[] = [];
    for (let i = 0; i < REPEATS; i++) repeats.push(await call(`registrations=0&dimension=${DIMENSION}`));
    const memoryMb = await memoryOf(inspector as number, "learner", wake);
    const [last] = repeats.slice(-1);
    const figures: OpenFigures = {
      ...last,
      ...Object.fromEntries(TIMES.map((name) => [name, median(repeats.map((each) => each[name]))])),
      impressionsPerSecond: median(sent.map((each) => each.impressionsPerSecond)),
      bytesPerImpression: last.bytes / step,
      openImpressions: step,
      memoryMb,
    };
    measured.push(figures);
    console.log(tableRow(figures));
  }
  await close();
  if (!write) return;
  await writeFile(PAGE, withFigures(await readFile(PAGE, "utf8"), measured));
  await writeFile(FIGURE, await drawn(measured));
}

const TIMES = ["metricsMs", "describeMs", "snapshotMs", "closeMs", "pruneMs"] as const;

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

await command({ usage: USAGE, options: { most: { type: "string", default: "1000000" }, write: { type: "boolean" } }, run });
