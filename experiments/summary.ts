// npm run summary: writes the table of claims into the README, from experiments/results.json.
import { readFile, writeFile } from "node:fs/promises";
import { claimsTable } from "./claims.ts";

const MARKS = /(<!-- claims -->\n)[\s\S]*?(\n<!-- \/claims -->)/;

const results = JSON.parse(await readFile("experiments/results.json", "utf8"));
const readme = await readFile("README.md", "utf8");
if (!MARKS.test(readme)) throw new Error("README.md has no place for the claims");
await writeFile(
  "README.md",
  readme.replace(MARKS, (_, before, after) => `${before}\n${claimsTable(results)}\n${after}`),
);
