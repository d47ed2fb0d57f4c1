import { Tinypool } from "tinypool";
import { command, type Values } from "../cli/command.ts";
import type { Crossing } from "./crossing/visit.ts";

const USAGE = `Counts the code that a recommendation and a conversion cross, from the request to the answer, in a model that runs already.

Usage: npm run crossing -- [--list]

  --list   prints each file with its calls, most first

The worker's own classes run in this process, with the default policy and one shard. The SDK counts as one file.

Example: npm run crossing -- --list`;

const options = { list: { type: "boolean", default: false } } as const;

async function main({ list }: Values<typeof options>): Promise<void> {
  // A thread of its own, whose modules and clock are replaced.
  const pool = new Tinypool({ filename: new URL("./crossing/visit.ts", import.meta.url).href, maxThreads: 1 });
  const crossings: Readonly<Record<string, Crossing>> = await pool.run(undefined);
  await pool.destroy();
  for (const [name, crossing] of Object.entries(crossings)) print(name, crossing, list);
}

function print(name: string, { files, functions, calls, statements }: Crossing, list: boolean): void {
  console.log(`${name}: ${files.size} files, ${functions} functions, ${calls} calls, ${statements.length} statements of SQL`);
  if (!list) return;
  for (const [file, count] of Array.from(files).sort(([, a], [, b]) => b - a)) console.log(`  ${String(count).padStart(5)}  ${file}`);
  console.log(`  SQL: ${statements.join(", ")}`);
}

await command({ usage: USAGE, options, run: main });
