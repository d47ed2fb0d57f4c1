// npm run bench: measures each workload beside its peers in one run on one machine, and prints ratios.
import { command, UsageError, type Values } from "../scripts/command.ts";
import { progressBar } from "../scripts/progress.ts";
import { catalogueWorkload } from "./catalogue.ts";
import { gaussianProcessWorkloads } from "./gaussian-process.ts";
import { gridWorkloads } from "./grid.ts";
import { longRunWorkloads } from "./long-run.ts";
import { otfLinUcbWorkloads } from "./otf-lin-ucb.ts";
import { restartWorkloads } from "./restart.ts";
import { ridgeWorkloads } from "./ridge.ts";
import { workerWorkloads } from "./worker.ts";
import { type Comparison, measure, once, short, type Workload } from "./workload.ts";

const workloads: readonly Workload[] = [
  ...ridgeWorkloads,
  ...otfLinUcbWorkloads,
  ...gaussianProcessWorkloads,
  ...gridWorkloads,
  ...longRunWorkloads,
  ...restartWorkloads,
  catalogueWorkload,
  ...workerWorkloads,
];

const USAGE = `Measures each workload and its peers in turn. Prints medians, 10th and 90th percentiles and the ratio to the peer, then the
targets. Times are processor time of the working thread, except the cold start, which is wall-clock time.

Usage: npm run bench [-- --json] [--only NAME] [--quick]

  --json        print only [{ workload, variant, unit, median, p10, p90, runs }]
  --quick       measure each variant once, to see that it runs; the figures mean nothing
  --only NAME   run one workload; may be repeated. The workloads are
${workloads.map(({ name }) => `                  ${name}`).join("\n")}

Example: npm run bench -- --only "${workloads[0].name}"`;

const options = {
  json: { type: "boolean", default: false },
  only: { type: "string", multiple: true },
  quick: { type: "boolean", default: false },
} as const;

async function main(values: Values<typeof options>): Promise<void> {
  const chosen = choose(values.only).map((workload) => (values.quick ? once(workload) : workload));
  const comparisons: Comparison[] = [];
  for (const workload of chosen) {
    const comparison = await measureWithBar(workload);
    comparisons.push(comparison);
    if (!values.json) console.log(table(workload, comparison));
  }
  if (values.json) console.log(JSON.stringify(comparisons.flatMap(({ results }) => results)));
  else console.log(targets(chosen, comparisons));
}

function choose(names: readonly string[] | undefined): readonly Workload[] {
  const unknown = names?.find((name) => workloads.every((workload) => workload.name !== name));
  if (unknown !== undefined) throw new UsageError(`--only: expected one of the workloads below, got ${JSON.stringify(unknown)}`);
  return names ? workloads.filter(({ name }) => names.includes(name)) : workloads;
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
  const rows = results.map(({ variant, median, p10, p90, runs }) => [
    variant,
    short(median),
    `${short(p10)} to ${short(p90)}`,
    String(runs),
    variant === peer || !ratios.has(variant) ? "" : `${short(ratios.get(variant) as number)} x ${peer}`,
  ]);
  return `\n${name} (${unit})\n${aligned([["", "median", "p10 to p90", "runs", ""], ...rows])}${absent.join("")}`;
}

/** One line per target of the workloads that ran. */
function targets(ran: readonly Workload[], comparisons: readonly Comparison[]): string {
  const rows = comparisons.flatMap(({ findings }, i) => findings.map(({ text, met }) => [`${met ? "yes" : "no "}  ${ran[i].name}`, text]));
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
