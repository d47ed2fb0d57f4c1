import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

// The commands of CONTRIBUTING.md that take minutes also in small. The soak waits until a bucket closes that the worker let KV alone keep,
// which it does two minutes and more before. The attack sends every extreme of every schema, and waits after each request that it measures.
// `test/packaging/commands.test.ts` runs the others.

const LONGEST_MS = 900_000;

it.each([
  ["soak", ["--recommendations", "200", "--conversions", "40"], /"lost":0/],
  ["attack", ["--minutes", "0.5"], /"broke":0,.*"ok":true/],
])("npm run %s %j", { timeout: LONGEST_MS }, async (script, args, printed) => {
  const { stdout } = await promisify(execFile)(process.execPath, [`trials/${script}.ts`, ...args], { maxBuffer: 2 ** 26 });
  expect(stdout).toMatch(printed);
  expect(stdout).not.toMatch(/NaN|undefined/);
});
