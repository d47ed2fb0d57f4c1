import { readFile, writeFile } from "node:fs/promises";
import { command } from "../cli/command/command.ts";
import { table, withTables } from "../cli/command/markdown.ts";
import { logTable } from "../worker/openapi/log-table.ts";
import { optionTable } from "../worker/openapi/model-options.ts";
import { senderTables } from "../worker/openapi/sender-tables.ts";

const USAGE = `Writes the tables of a model's options, of a log's fields and of the messages of senders into docs/api.md, docs/log.md and docs/senders.md.

Usage: npm run options

Example: npm run options`;

async function main(): Promise<void> {
  for (const [page, name, [head, rows]] of [
    ["docs/api.md", "model-options", optionTable()],
    ["docs/log.md", "log-fields", logTable()],
    ...Object.entries(senderTables()).map(([name, table]) => ["docs/senders.md", name, table] as const),
  ] as const) {
    await writeFile(page, withTables(await readFile(page, "utf8"), { [name]: table(head, rows, head.length) }));
  }
}

await command({ usage: USAGE, run: main });
