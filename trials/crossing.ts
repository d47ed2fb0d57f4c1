import { Tinypool } from "tinypool";
import { command, type Values } from "../cli/command/command.ts";
import type { Crossing } from "./crossing/trace.ts";

const USAGE = `Counts the code that a recommendation, its registration and a conversion cross, in a model that runs already.

Usage: npm run crossing -- [--list]

  --list   prints each file with its calls, most first

The recommendation ends with its answer. Its registration follows in the background. The worker's own classes run in this process, with
the default policy and one shard. A call is the entry of a named function. A read is a call of one of the learner's getters.

Example: npm run crossing -- --list`;

const options = { list: { type: "boolean", default: false } } as const;

async function main({ list }: Values<typeof options>): Promise<void> {
  // A thread of its own, whose modules and clock are replaced.
  const pool = new Tinypool({ filename: new URL("./crossing/visit.ts", import.meta.url).href, maxThreads: 1 });
  const crossings: Readonly<Record<string, Crossing>> = await pool.run(undefined);
  await pool.destroy();
  for (const [name, crossing] of Object.entries(crossings)) print(name, crossing, list);
}

function print(name: string, crossing: Crossing, list: boolean): void {
  const { files, calls, fileChanges, folderChanges, reads, statements } = crossing;
  const sdk = Array.from(files.keys()).filter((file) => file.startsWith("src/")).length;
  console.log(
    `${name}: ${calls} calls in ${files.size - sdk} files of the worker and ${sdk} of the SDK, ${fileChanges} changes of file, ` +
      `${folderChanges} changes of folder, ${reads} reads of state, ${statements.length} statements of SQL`,
  );
  if (!list) return;
  for (const [file, count] of Array.from(files).sort(([, a], [, b]) => b - a)) console.log(`  ${String(count).padStart(5)}  ${file}`);
  console.log(`  SQL: ${statements.join(", ")}`);
}

await command({ usage: USAGE, options, run: main });
