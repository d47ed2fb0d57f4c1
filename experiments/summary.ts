// npm run summary: updates the tables of docs/research.md and docs/choosing.md, and their figures, from experiments/results.json.
import { readFile, writeFile } from "node:fs/promises";
import { comparisons, drawingOf, withNumbers, withTables } from "./choosing.ts";
import { claimsTable } from "./claims.ts";
import { goalsTable } from "./goals.ts";

const results = JSON.parse(await readFile("experiments/results.json", "utf8"));
const tables = { claims: claimsTable(results), goals: goalsTable(results) };
await writeFile("docs/research.md", withTables(await readFile("docs/research.md", "utf8"), tables));
await writeFile("docs/choosing.md", withNumbers(await readFile("docs/choosing.md", "utf8"), results));
for (const [name, comparison] of Object.entries(comparisons)) {
  await writeFile(`docs/figures/${name}.svg`, await drawingOf(comparison, results));
}
