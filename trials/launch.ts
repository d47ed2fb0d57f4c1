// The command `npm run launch`: what late publications cost in the first seconds of a model.

import { Tinypool } from "tinypool";
import { command, type Values, wholeNumber } from "../cli/command/command.ts";
import { progressBar } from "../cli/command/progress.ts";
import type { Launch, Launched } from "./simulation/launch/launch.ts";

const USAGE = `Plays the first impressions of new models, 100 a second on four isolates, while KV is a minute late. Each seed is played three
times, with the same customers: isolates decide by publications, the learner decides itself, and isolates decide that get publications
from KV alone. Prints for each shop the mean regrets and their ratios to the learner's.

Usage: npm run launch -- [--runs N] [--seed S] [--impressions T]

  --runs N          number of seeds, default 30
  --seed S          the first seed, default 1001
  --impressions T   impressions of each model, default 3000

Example: npm run launch -- --runs 3 --impressions 1000`;

const options = {
  runs: { type: "string", default: "30" },
  seed: { type: "string", default: "1001" },
  impressions: { type: "string", default: "3000" },
} as const;

const ways: Readonly<Record<string, Pick<Launch, "serving" | "lost">>> = {
  learner: { serving: "learner" },
  publications: { serving: "edge" },
  "KV alone": { serving: "edge", lost: ["newer"] },
};
const shops = ["1 to 10 %, mean delay 5 s", "5 to 50 %, mean delay 2 s"];

async function main(values: Values<typeof options>): Promise<void> {
  const runs = wholeNumber("--runs", values.runs, 1);
  const first = wholeNumber("--seed", values.seed, 1);
  const impressions = wholeNumber("--impressions", values.impressions, 1);
  const pool = new Tinypool({ filename: new URL("./simulation/pool-worker.ts", import.meta.url).href, maxThreads: 2 });
  const bar = progressBar("{bar} {value}/{total} launches, {eta_formatted} left");
  bar.start(runs * shops.length * Object.keys(ways).length, 0);

  async function played(shop: string, way: string, seed: number): Promise<Launched> {
    const launched: Launched = await pool.run({ shop, seed, impressions, ...ways[way] }, { name: "launch" });
    if (launched.wrong.length > 0) throw new Error(`seed ${seed}, ${way}: ${launched.wrong.join("; ")}`);
    bar.increment();
    return launched;
  }

  const seeds = Array.from({ length: runs }, (_, i) => first + i);
  const regrets = await Promise.all(
    shops.map(async (shop) => {
      const of = (way: string) => Promise.all(seeds.map(async (seed) => (await played(shop, way, seed)).regret));
      return { shop, ways: await Promise.all(Object.keys(ways).map(async (way) => ({ way, regrets: await of(way) }))) };
    }),
  );
  bar.stop();
  await pool.destroy();

  for (const { shop, ways } of regrets) {
    console.log(`\n${shop}; ${impressions} impressions, ${runs} seeds from ${first}`);
    for (const { way, regrets } of ways) {
      const { ratio, error } = ratioOf(regrets, ways[0].regrets);
      console.log(
        `${way.padEnd(12)} regret ${mean(regrets).toFixed(1)}, ratio ${ratio.toFixed(3)} ± ${Number.isNaN(error) ? "unknown" : error.toFixed(3)}`,
      );
    }
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Ratio of two means over the same seeds, with its standard error by the delta method. */
function ratioOf(own: readonly number[], base: readonly number[]): { readonly ratio: number; readonly error: number } {
  const ratio = mean(own) / mean(base);
  const squares = own.map((value, i) => (value - ratio * base[i]) ** 2);
  return { ratio, error: Math.sqrt(mean(squares) / (own.length - 1)) / mean(base) };
}

await command({ usage: USAGE, options, run: main });
