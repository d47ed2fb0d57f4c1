// npm run bench: measures each workload beside its peers in one run on one machine, and prints ratios.
import { command, UsageError, type Values } from "../cli/command/command.ts";
import { progressBar } from "../cli/command/progress.ts";
import { type Build, buildOf, commitOf } from "./against/build.ts";
import { beside } from "./against/process.ts";
import { NOISY, short, shown, verdictOn } from "./statistics.ts";
import type { Missing } from "./variant.ts";
import { type Comparison, measure, once, type Workload } from "./workload.ts";
import { files, workloads } from "./workloads.ts";

const USAGE = `Measures each workload and its peers in turn. Prints medians, 10th and 90th percentiles, the ratio to the peer with its 95 % interval,
then the targets. It says "${NOISY}" where the interval is on both sides of a target, or of 1. Times are processor time of
the working thread, except the cold start, which is wall-clock time.

Usage: npm run bench [-- --json] [--only NAME] [--against REV] [--quick] [--write]

  --json         print only [{ workload, variant, unit, median, p10, p90, runs }]
  --quick        measure each variant once, to see that it runs; the figures mean nothing
  --against REV  build this commit too, and measure it beside as the variant "before"
  --write        keep the results, and write docs/speed.md and its figures
  --only NAME    run one workload; may be repeated. The workloads are
${workloads.map(({ name }) => `                  ${name}`).join("\n")}

Example: npm run bench -- --only "${workloads[0].name}" --against HEAD~1`;

const options = {
  json: { type: "boolean", default: false },
  only: { type: "string", multiple: true },
  quick: { type: "boolean", default: false },
  against: { type: "string" },
  write: { type: "boolean", default: false },
} as const;

async function main(values: Values<typeof options>): Promise<void> {
  if (values.quick && values.write) throw new UsageError("--write: expected no --quick, because its figures mean nothing");
  const names = chosen(values.only);
  const commit = values.against === undefined ? undefined : await commitOf(values.against);
  const before = commit === undefined ? undefined : await built(commit);
  // Loaded on demand, because it loads a library for figures.
  const page = values.write ? await import("./page.ts") : undefined;
  const ran = workloadsOf(names, before, values.quick);
  const comparisons: Comparison[] = [];
  for (const workload of ran) {
    const comparison = await measureWithBar(workload);
    comparisons.push(comparison);
    await page?.keep(workload, comparison, commit);
    if (!values.json) console.log(table(workload, comparison));
  }
  await page?.writePage();
  if (values.json) console.log(JSON.stringify(comparisons.flatMap(({ results }) => results)));
  else console.log(targets(ran, comparisons));
}

/** Names of the workloads to run. */
function chosen(names: readonly string[] | undefined): readonly string[] {
  const known = workloads.map(({ name }) => name);
  const unknown = names?.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new UsageError(`--only: expected one of the workloads below, got ${JSON.stringify(unknown)}`);
  return known.filter((name) => names?.includes(name) ?? true);
}

async function built(commit: string): Promise<Build | Missing> {
  console.error(`Building ${commit} ...`);
  return buildOf(commit);
}

function workloadsOf(names: readonly string[], before: Build | Missing | undefined, quick: boolean): readonly Workload[] {
  return Object.entries(files)
    .flatMap(([file, each]) => each.map((workload) => (before ? beside(workload, file, before) : workload)))
    .filter(({ name }) => names.includes(name))
    .map((workload) => (quick ? once(workload) : workload));
}

/** Measures and shows a progress bar. The bar goes to standard error, because standard output may go to a file. */
async function measureWithBar(workload: Workload): Promise<Comparison> {
  const format = `{bar} ${workload.name} | {value}/{total} rounds | {duration_formatted}`;
  const bar = progressBar(format, { clearOnComplete: true });
  bar.start(workload.rounds, 0);
  try {
    return await measure(workload, (done) => bar.update(done));
  } finally {
    bar.stop();
  }
}

function table({ name, unit, peer }: Workload, { results, ratios, missing }: Comparison): string {
  const absent = Object.entries(missing).map(([variant, why]) => `\n  ${variant}: ${why}`);
  const rows = results.map(({ variant, median, p10, p90, runs }) => {
    const ratio = variant === peer ? undefined : ratios.get(variant);
    const told = ratio && verdictOn(ratio, 1, ["", ""]);
    const spread = `${short(p10)} to ${short(p90)}`;
    return [variant, short(median), spread, String(runs), ratio ? `${shown(ratio)} x ${peer}` : "", told ?? ""];
  });
  return `\n${name} (${unit})\n${aligned([["", "median", "p10 to p90", "runs", "", ""], ...rows])}${absent.join("")}`;
}

/** One line per target of the workloads that ran, and per comparison with another commit. */
function targets(ran: readonly Workload[], comparisons: readonly Comparison[]): string {
  const rows = comparisons.flatMap(({ findings }, i) => findings.map(({ text, verdict }) => [ran[i].name, verdict, text]));
  return rows.length === 0 ? "" : `\ntargets\n${aligned(rows)}`;
}

/** Pads a table: the first column aligned to the left, the others to the right. */
function aligned(lines: readonly (readonly string[])[]): string {
  const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  const text = lines.map((line) =>
    line.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]))).join("  "),
  );
  return text.map((line) => `  ${line.trimEnd()}`).join("\n");
}

await command({ usage: USAGE, options, run: main });
