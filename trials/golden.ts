// npm run golden -- DIR: runs every golden file of DIR through the built SDK and prints a line per case.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { print, printError } from "../cli/command/terminal.ts";
import { casesOf } from "./golden/format.ts";

const USAGE = `Runs every .json file of DIR through the built SDK. Exit code 1: a case failed, or DIR has no file.

Usage: npm run golden -- DIR

Example: npm run golden -- test/golden/cases`;

const { positionals, values } = parseArgs({ allowPositionals: true, options: { help: { type: "boolean", short: "h" } } });
if (values.help || positionals.length !== 1) {
  print(USAGE);
  process.exit(values.help ? 0 : 1);
}
const count = { passed: 0, failed: 0, skipped: 0 };
const report = (outcome: keyof typeof count, name: string, detail = ""): void => {
  count[outcome]++;
  print(`${outcome.padEnd(7)} ${name}${detail && `: ${detail}`}`);
};
const files = await readdir(positionals[0]).then(
  (names) => names.filter((name) => name.endsWith(".json")).sort(),
  (error) => {
    printError(`Cannot read ${positionals[0]}: ${error.message}`);
    return [];
  },
);
for (const file of files) {
  try {
    const cases = casesOf(JSON.parse(await readFile(join(positionals[0], file), "utf8")));
    if (cases.length === 0) throw new Error("expected at least one case, got none");
    for (const { name, run } of cases) {
      await run().then(
        (outcome) => report(outcome ?? "passed", `${file} ${name}`, outcome && "this version has no such algorithm"),
        (error) => report("failed", `${file} ${name}`, error.message),
      );
    }
  } catch (error) {
    report("failed", file, (error as Error).message);
  }
}
if (files.length === 0) printError(`Expected .json files in ${positionals[0]}, got none.`);
print(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`);
process.exitCode = count.failed > 0 || files.length === 0 ? 1 : 0;
