import { readFile, writeFile } from "node:fs/promises";
import { command } from "../cli/command/command.ts";
import { withTables } from "../cli/command/markdown.ts";
import { zeroTable, zeroWins } from "./beyond/zero.ts";
import { classesTable, emailsTable, policiesTable, ratesTable, toldTable } from "./logs/tables.ts";
import { shopComparisons, shopMoney, shopOracle, shopRatios, shopTable, shopTraffic, shopVerdicts } from "./shop/tables.ts";
import { signalsComparisons, signalsTable, signalsWins } from "./signals/tables.ts";
import { comparisons, drawingOf, withNumbers } from "./summary/choosing.ts";
import { claimsTable } from "./summary/claims.ts";
import { DECISION, numbersTable } from "./summary/front.ts";
import { goalsTable, rhythmTable } from "./summary/goals.ts";
import { worthComparisons, worthTable } from "./worth/tables.ts";

const USAGE = `Updates the tables and figures of README.md, docs/research.md, docs/choosing.md and docs/real-logs.md from
experiments/results.json, the speed in README.md from bench/results.json, and the list of policies from src/policy.

Usage: npm run summary

Example: npm run summary`;

async function main(): Promise<void> {
  const results = JSON.parse(await readFile("experiments/results.json", "utf8"));
  const tables = {
    claims: claimsTable(results),
    goals: goalsTable(results),
    zero: zeroTable(results),
    "zero-wins": zeroWins(results),
    rhythm: rhythmTable(results),
    "shop-regret": shopTable(results),
    "shop-ratios": shopRatios(results),
    "shop-oracle": shopOracle(results),
    "shop-verdicts": shopVerdicts(results),
    "shop-traffic": shopTraffic(results),
    "shop-money": shopMoney(results),
    signals: signalsTable(results),
    "signals-wins": signalsWins(results),
  };
  await writeFile("docs/research.md", withTables(await readFile("docs/research.md", "utf8"), tables));
  await writeFile("docs/choosing.md", withNumbers(await readFile("docs/choosing.md", "utf8"), results));
  const logs = {
    "logs-rates": ratesTable(results),
    "logs-policies": policiesTable(results),
    "logs-told": toldTable(results),
    "logs-emails": emailsTable(results),
    "logs-classes": classesTable(results),
  };
  await writeFile("docs/real-logs.md", withTables(await readFile("docs/real-logs.md", "utf8"), logs));
  if (results.some(({ paper }: { paper: string }) => paper === "worth")) {
    await writeFile("docs/worth.md", withTables(await readFile("docs/worth.md", "utf8"), { worth: worthTable(results) }));
  }
  const bench: { workload: string; variants: { median: number }[] }[] = JSON.parse(await readFile("bench/results.json", "utf8"));
  const decision = bench.find(({ workload }) => workload === DECISION);
  if (decision === undefined) throw new Error(`bench/results.json must have "${DECISION}". Run npm run bench -- --write.`);
  const numbers = numbersTable(results, decision.variants[0].median);
  await writeFile("README.md", withTables(await readFile("README.md", "utf8"), { numbers }));
  for (const [name, comparison] of Object.entries({
    ...comparisons,
    ...shopComparisons(results),
    ...signalsComparisons(results),
    ...worthComparisons(results),
  })) {
    await writeFile(`docs/figures/${name}.svg`, await drawingOf(comparison, results));
  }
}

await command({ usage: USAGE, run: main });
