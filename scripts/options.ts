import { readFile, writeFile } from "node:fs/promises";
import { command } from "../cli/command/command.ts";
import { table, withTables } from "../cli/command/markdown.ts";
import { optionTable } from "../worker/openapi/model-options.ts";

const USAGE = `Writes the table of a model's options into docs/api.md.

Usage: npm run options

Example: npm run options`;

const PAGE = "docs/api.md";

async function main(): Promise<void> {
  const [head, rows] = optionTable();
  await writeFile(PAGE, withTables(await readFile(PAGE, "utf8"), { "model-options": table(head, rows, head.length) }));
}

await command({ usage: USAGE, run: main });
