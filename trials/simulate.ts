import { Tinypool } from "tinypool";
import { command, type Values, wholeNumber } from "../cli/command/command.ts";
import { progressBar } from "../cli/command/progress.ts";
import type { Outcome } from "./simulation/pool-worker.ts";

const USAGE = `Plays schedules of a shop's traffic and of faults against the worker's own classes, and checks its laws at the end of each.

Usage: npm run simulate -- [--schedules N] [--seed S] [--shards | --informed | --crowded]

  --schedules N   number of schedules, default 10000
  --seed S        seed of the first schedule, default 1; each further schedule has the next seed
  --shards        plays models with several shards, which are killed, cut off and added
  --informed      plays catalogues that grow and priors that come late and again, and repeats all decisions from the log
  --crowded       most requests come several at once, the learner decides in groups, and all decisions are repeated from the log

Example: npm run simulate -- --schedules 1 --seed 17

A schedule that fails is printed with all that happened. With its seed and --schedules 1 it is played again, step by step the same.
Exit code 1: a schedule broke a law.`;

/** Schedules per task of a thread. */
const CHUNK = 25;

const options = {
  schedules: { type: "string", default: "10000" },
  seed: { type: "string", default: "1" },
  shards: { type: "boolean", default: false },
  informed: { type: "boolean", default: false },
  crowded: { type: "boolean", default: false },
} as const;

async function main(values: Values<typeof options>): Promise<boolean> {
  const first = wholeNumber("--seed", values.seed, 1);
  const schedules = wholeNumber("--schedules", values.schedules, 1);
  const pool = new Tinypool({ filename: new URL("./simulation/pool-worker.ts", import.meta.url).href, maxThreads: 2 });
  const bar = progressBar("{bar} {value}/{total} schedules, {failed} failed, {eta_formatted} left");
  const failed: Outcome[] = [];

  bar.start(schedules, 0, { failed: 0 });
  const chunks = Array.from({ length: Math.ceil(schedules / CHUNK) }, async (_, chunk) => {
    const seeds = Array.from({ length: Math.min(CHUNK, schedules - chunk * CHUNK) }, (_, i) => first + chunk * CHUNK + i);
    const outcomes: Outcome[] = await pool.run({ seeds, sharded: values.shards, informed: values.informed, crowded: values.crowded });
    failed.push(...outcomes.filter(({ failure }) => failure !== undefined));
    bar.increment(seeds.length, { failed: failed.length });
  });
  await Promise.all(chunks);
  bar.stop();
  await pool.destroy();

  for (const { failure } of failed.sort((a, b) => a.seed - b.seed)) console.log(`\n${failure}`);
  if (failed.length > 0) console.log(`\nfailing seeds: ${failed.map(({ seed }) => seed).join(", ")}`);
  console.log(`${schedules - failed.length} of ${schedules} schedules kept all laws`);
  return failed.length === 0;
}

await command({ usage: USAGE, options, run: main });
