import { parseArgs } from "node:util";
import { Presets, SingleBar } from "cli-progress";
import { Tinypool } from "tinypool";
import type { Outcome } from "./pool-worker.ts";

const HELP = `npm run simulate -- [--schedules N] [--seed S]

Plays N (default 10000) schedules of a shop's traffic and of faults against the worker's own classes, from seed S (default 1) on,
and checks its laws at the end of each. A schedule that fails is printed with all that happened; --schedules 1 --seed with
its seed plays it again, step by step the same.`;

/** Schedules per task of a thread. */
const CHUNK = 25;

const { values } = parseArgs({
  options: { schedules: { type: "string", default: "10000" }, seed: { type: "string", default: "1" }, help: { type: "boolean" } },
});
if (values.help) {
  console.log(HELP);
  process.exit();
}

const first = wholeNumber("seed", values.seed);
const schedules = wholeNumber("schedules", values.schedules);
const pool = new Tinypool({ filename: new URL("./pool-worker.ts", import.meta.url).href, maxThreads: 2 });
const bar = new SingleBar({ format: "{bar} {value}/{total} schedules, {failed} failed, {eta_formatted} left" }, Presets.shades_classic);
const failed: Outcome[] = [];

bar.start(schedules, 0, { failed: 0 });
const chunks = Array.from({ length: Math.ceil(schedules / CHUNK) }, async (_, chunk) => {
  const seeds = Array.from({ length: Math.min(CHUNK, schedules - chunk * CHUNK) }, (_, i) => first + chunk * CHUNK + i);
  const outcomes: Outcome[] = await pool.run(seeds);
  failed.push(...outcomes.filter(({ failure }) => failure !== undefined));
  bar.increment(seeds.length, { failed: failed.length });
});
await Promise.all(chunks);
bar.stop();
await pool.destroy();

for (const { failure } of failed.sort((a, b) => a.seed - b.seed)) console.log(`\n${failure}`);
if (failed.length > 0) console.log(`\nfailing seeds: ${failed.map(({ seed }) => seed).join(", ")}`);
console.log(`${schedules - failed.length} of ${schedules} schedules kept all laws`);
process.exitCode = failed.length > 0 ? 1 : 0;

function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new RangeError(`--${name}: expected a whole number of at least 1, got ${text}`);
  return value;
}
