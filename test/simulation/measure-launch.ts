import { parseArgs } from "node:util";
import { Presets, SingleBar } from "cli-progress";
import { Tinypool } from "tinypool";
import type { Launch, Launched } from "./launch.ts";

const HELP = `npm run launch -- [--runs N] [--seed S] [--impressions T]

Plays the first T (default 3000) impressions of a new model, 100 a second on four isolates, while KV is a minute late. Each of N (default
30) seeds from S (default 1001) on is played three times, with the same customers: isolates decide by publications, the learner decides
itself, and isolates decide that get publications from KV alone. Prints for each shop the mean regrets and their ratios to the learner's.`;

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "30" },
    seed: { type: "string", default: "1001" },
    impressions: { type: "string", default: "3000" },
    help: { type: "boolean" },
  },
});
if (values.help) {
  console.log(HELP);
  process.exit();
}

const ways: Readonly<Record<string, Pick<Launch, "serving" | "lost">>> = {
  learner: { serving: "learner" },
  publications: { serving: "edge" },
  "KV alone": { serving: "edge", lost: ["publicationAfter"] },
};
const shops = ["1 to 10 %, mean delay 5 s", "5 to 50 %, mean delay 2 s"];

const [runs, first, impressions] = [values.runs, values.seed, values.impressions].map(wholeNumber);
const pool = new Tinypool({ filename: new URL("./pool-worker.ts", import.meta.url).href, maxThreads: 2 });
const bar = new SingleBar({ format: "{bar} {value}/{total} launches, {eta_formatted} left" }, Presets.shades_classic);
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
    console.log(`${way.padEnd(12)} regret ${mean(regrets).toFixed(1)}, ratio ${ratio.toFixed(3)} ± ${error.toFixed(3)}`);
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

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new RangeError(`expected a whole number of at least 1, got ${text}`);
  return value;
}
