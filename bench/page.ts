// Keeps results, and writes the tables and figures of docs/speed.md from them.
import { readFile, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { table, withTables } from "../cli/command/markdown.ts";
import type { Entry } from "./entry.ts";
import { axes, drawingOf } from "./figure.ts";
import { type MedianEstimate, short, shown, verdictOn } from "./statistics.ts";
import type { Comparison, Workload } from "./workload.ts";
import { workloads } from "./workloads.ts";

const RESULTS = "bench/results.json";
const PAGE = "docs/speed.md";

/** Tables of the page, by their marks. A workload is in the first table whose pattern fits. */
const TABLES: Readonly<Record<string, RegExp>> = {
  "speed-decisions": /decision|greedy/,
  "speed-linear": /^(ridge-score|otflinucb|lin-ts)/,
  "speed-restart": /^(snapshot|cold-start)/,
  "speed-worker": /^(worker|first-request)/,
  "speed-processes": /./,
};

/** Replaces the kept results of one workload. */
export async function keep({ name, unit, peer }: Workload, comparison: Comparison, before?: string): Promise<void> {
  const { results, ratios, missing } = comparison;
  const entry: Entry = {
    workload: name,
    unit,
    peer,
    machine: `${cpus().length} cores, ${cpus()[0]?.model ?? process.arch}, Node ${process.versions.node}`,
    day: new Date().toISOString().slice(0, 10),
    ...(before !== undefined && { before: before.slice(0, 7) }),
    variants: results.map(({ variant, median, p10, p90, runs }) => {
      const ratio = variant === peer ? undefined : ratios.get(variant);
      return { variant, median, p10, p90, runs, ...(ratio && { ratio }) };
    }),
    missing,
  };
  const all = workloads.map((workload) => workload.name);
  const others = (await kept()).filter(({ workload }) => workload !== name);
  const entries = [...others, entry].filter(({ workload }) => all.includes(workload));
  entries.sort((a, b) => all.indexOf(a.workload) - all.indexOf(b.workload));
  await writeFile(RESULTS, `${JSON.stringify(entries, null, 1)}\n`);
}

const kept = async (): Promise<Entry[]> => JSON.parse(await readFile(RESULTS, "utf8"));

/** Writes the page and its figures from the kept results. */
export async function writePage(): Promise<void> {
  const entries = await kept();
  await writeFile(PAGE, withTables(await readFile(PAGE, "utf8"), tablesOf(entries)));
  for (const axis of axes) await writeFile(`docs/figures/speed-${axis.name}.svg`, await drawingOf(axis, entries));
}

/** The page's tables in Markdown, by their marks. */
export function tablesOf(entries: readonly Entry[]): Record<string, string> {
  const patterns = Object.entries(TABLES);
  const markOf = ({ workload }: Entry) => patterns.find(([, pattern]) => pattern.test(workload))?.[0];
  const tables = patterns.map(([mark]) => [mark, tableOf(entries.filter((entry) => markOf(entry) === mark))] as const);
  return { ...Object.fromEntries(tables), "speed-machine": machinesOf(entries) };
}

function tableOf(entries: readonly Entry[]): string {
  const rows = entries.flatMap(({ workload, unit, peer, before, variants, missing }) => [
    ...variants.map(({ variant, median, p10, p90, runs, ratio }, i) => [
      i === 0 ? `\`${workload}\`` : "",
      variant === "before" ? `before (${before})` : variant,
      `${short(median)} ${unit}`,
      `${short(p10)} to ${short(p90)}`,
      ratio ? ratioCell(ratio, peer) : "",
      String(runs),
    ]),
    ...Object.entries(missing).map(([variant, why]) => ["", variant, "missing", why, "", "0"]),
  ]);
  return table(["workload", "variant", "median", "10 % to 90 %", "times better (95 %)", "runs"], rows, 2);
}

function ratioCell(ratio: MedianEstimate, peer: string): string {
  const told = verdictOn(ratio, 1, ["", ""]);
  return `${shown(ratio)} x ${peer}${told && `, ${told}`}`;
}

/** How many workloads each machine measured. */
function machinesOf(entries: readonly Entry[]): string {
  const counts = new Map<string, number>();
  for (const { machine, day } of entries) counts.set(`${machine} | ${day}`, (counts.get(`${machine} | ${day}`) ?? 0) + 1);
  return table(
    ["machine", "day", "workloads"],
    Array.from(counts, ([row, count]) => [...row.split(" | "), String(count)]),
    2,
  );
}
