// npm run test:random: runs the properties on new random seeds.
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { command, type Values, wholeNumber } from "../cli/command/command.ts";

const USAGE = `Runs all property tests on random seeds. Other runs have a fixed seed, so only this one finds new counterexamples.

Usage: npm run test:random [-- --runs N --seed N]

  --runs N  seeds to try, default 3
  --seed N  the first seed; each further one is greater by 1 (default: drawn at random)

Keep each counterexample that it finds: add it to the \`examples\` of the property, so that every run tries it.

Example: npm run test:random -- --seed 1026361444 --runs 1`;

const options = { runs: { type: "string", default: "3" }, seed: { type: "string" } } as const;

/** Test files that draw from properties, without those in workerd and in browsers. */
function propertyFiles(): string[] {
  const files = globSync("test/{unit,property,conformance}/**/*.test.ts");
  return files.filter((file) => /from "fast-check"/.test(readFileSync(file, "utf8"))).sort();
}

async function main(values: Values<typeof options>): Promise<boolean> {
  const runs = wholeNumber("--runs", values.runs, 1);
  const first = values.seed === undefined ? randomInt(2 ** 31) : wholeNumber("--seed", values.seed, 0, 2 ** 31 - 1);
  const files = propertyFiles();
  const failed: number[] = [];
  for (let seed = first; seed < first + runs; seed++) {
    console.log(`\nseed ${seed}, ${files.length} files`);
    const env = { ...process.env, PROPERTY_SEED: `${seed}` };
    const child = spawn("vitest", ["run", "--project", "node", ...files], { env, stdio: "inherit" });
    const [code] = await once(child, "exit");
    if (code !== 0) failed.push(seed);
  }
  for (const seed of failed) console.log(`failed: npm run test:random -- --runs 1 --seed ${seed}`);
  return failed.length === 0;
}

await command({ usage: USAGE, options, run: main });
