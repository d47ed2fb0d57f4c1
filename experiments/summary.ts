// npm run summary: writes what experiments/results.json says into the README, and into the guide and its figures.
import { readFile, writeFile } from "node:fs/promises";
import { comparisons, drawingOf, withNumbers } from "./choosing.ts";
import { claimsTable } from "./claims.ts";

const MARKS = /(<!-- claims -->\n)[\s\S]*?(\n<!-- \/claims -->)/;

const results = JSON.parse(await readFile("experiments/results.json", "utf8"));
const readme = await readFile("README.md", "utf8");
if (!MARKS.test(readme)) throw new Error("README.md has no place for the claims");
await writeFile(
  "README.md",
  readme.replace(MARKS, (_, before, after) => `${before}\n${claimsTable(results)}\n${after}`),
);
await writeFile("docs/choosing.md", withNumbers(await readFile("docs/choosing.md", "utf8"), results));
for (const [name, comparison] of Object.entries(comparisons)) {
  await writeFile(`docs/figures/${name}.svg`, await drawingOf(comparison, results));
}
