// npm run reproduce: reruns the experiments of the papers.
import { access, constants, mkdir, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Tinypool } from "tinypool";
import { progressBar } from "../cli/command/progress.ts";
import { print, printError } from "../cli/command/terminal.ts";
import { all, papers } from "./papers.ts";
import { affirmedRows, comparedRows, staleRows } from "./runs/affirm.ts";
import type { Curve, Experiment, Paper } from "./runs/experiment.ts";
import { figureOf } from "./runs/figure.ts";
import { Played } from "./runs/played.ts";
import { type Result, resultsOf, rivalOf, type Series, tableOf, textOf } from "./runs/results.ts";
import { fingerprint, RunFile } from "./runs/run-file.ts";
import { presentCommit, ratiosBeside, readStored, replaced, writeStored } from "./runs/stored-results.ts";
import { type TraceOf, tracesOf } from "./runs/trace.ts";

const names = all.map(({ id }) => id).join("|");
const HELP = `Reruns the papers' experiments on all cores. Writes results.json, and a figure and a table per experiment.

Usage: npm run reproduce -- [--paper ${names}] [--experiment ID] [--setting NAME]... [--algorithm NAME]... [--runs N] [--from N] [--tell PERCENT] [--minutes N] [--data DIR] [--out DIR] [--keep | --affirm]

--paper ID       run one paper only; "beyond", "shop", "signals", "logs" and "worth", this project's own experiments, run only with this option
--experiment ID  run one experiment only
--setting NAME   run this setting only; may be repeated. Needs --experiment
--algorithm NAME run this algorithm only; may be repeated. Needs --experiment. A ratio needs both of its algorithms
--runs N         repeats per experiment (default: the experiment's own number)
--from N         number of the first run, which seeds it (default: 0; choose options on runs that you do not report)
--tell PERCENT   then plays more runs of each comparison until it could tell this difference from a ratio of 1, or tells a clear one
--minutes N      longest time for --tell (default: 60)
--data DIR       folder of the real data; experiments that need it are skipped without
--out DIR        folder of the results (default: results). A command that was stopped goes on with the runs in its runs.jsonl
--keep           also replaces the rows in experiments/results.json, with the commit and the trace of the code
--affirm         plays only what has stale rows in experiments/results.json, by default one run each, and affirms the rows that agree with it

Example: npm run reproduce -- --paper vernade --experiment figure-1 --runs 2 --out build/try

The experiments of each paper:
${all.map(({ id, experiments }) => `  ${id}: ${experiments.map((experiment) => experiment.id).join(", ")}`).join("\n")}`;

function refuse(message: string): never {
  printError(`${message}\n\n${HELP}`);
  process.exit(1);
}

function parsed() {
  try {
    return parseArgs({
      options: {
        paper: { type: "string" },
        experiment: { type: "string" },
        setting: { type: "string", multiple: true },
        algorithm: { type: "string", multiple: true },
        runs: { type: "string" },
        from: { type: "string", default: "0" },
        tell: { type: "string" },
        minutes: { type: "string", default: "60" },
        data: { type: "string" },
        out: { type: "string", default: "results" },
        keep: { type: "boolean", default: false },
        affirm: { type: "boolean", default: false },
        help: { type: "boolean", short: "h" },
      },
    }).values;
  } catch (error) {
    return refuse((error as Error).message);
  }
}

const values = parsed();
if (values.help) {
  print(HELP);
  process.exit(0);
}

const chosen = values.paper === undefined ? papers : all.filter(({ id }) => id === values.paper);
if (chosen.length === 0) refuse(`--paper: expected one of ${names}, got ${values.paper}`);
const experiments = chosen.flatMap((paper) => paper.experiments.map(({ id }) => id));
if (values.experiment !== undefined && !experiments.includes(values.experiment)) {
  const where = values.paper === undefined ? "" : ` of ${values.paper}`;
  refuse(`--experiment: expected one${where}: ${experiments.join(", ")}; got ${values.experiment}`);
}
/** The names to run: those asked for, or all. */
function namesOf(option: "setting" | "algorithm", known: readonly string[]): readonly string[] {
  const asked = values[option];
  const wrong = asked?.find((name) => !known.includes(name));
  if (wrong !== undefined) refuse(`--${option}: expected one of the experiment's, "${known.join('", "')}"; got ${wrong}`);
  return asked ? known.filter((name) => asked.includes(name)) : known;
}
const [only] = chosen.flatMap((paper) => paper.experiments.filter(({ id }) => id === values.experiment));
for (const option of ["setting", "algorithm"] as const) {
  if (values[option] === undefined) continue;
  if (!only) refuse(`--${option}: name its experiment with --experiment`);
  namesOf(option, only[`${option}s`]);
}
const runs = values.runs === undefined ? undefined : Number(values.runs);
if (runs !== undefined && !(Number.isInteger(runs) && runs > 0)) refuse(`--runs: expected a positive whole number, got ${values.runs}`);
const from = Number(values.from);
if (!(Number.isInteger(from) && from >= 0)) refuse(`--from: expected a whole number, got ${values.from}`);

const tell = values.tell === undefined ? undefined : Number(values.tell) / 100;
if (tell !== undefined && !(tell > 0)) refuse(`--tell: expected a positive number, got ${values.tell}`);
const minutes = Number(values.minutes);
if (!(minutes > 0)) refuse(`--minutes: expected a positive number, got ${values.minutes}`);

const pool = new Tinypool({ filename: new URL("./runs/pool-worker.ts", import.meta.url).href, maxThreads: availableParallelism() });

/** Paths of an experiment's data files. If one cannot be read, prints the reason and returns undefined. */
async function filesFor({ id, dataFiles = [] }: Experiment): Promise<string[] | undefined> {
  const skipped = (why: string): undefined => void print(`${id}: skipped, ${why}`);
  const { data } = values;
  if (dataFiles.length > 0 && !data) return skipped(`it needs ${dataFiles.join(", ")} (--data DIR)`);
  const paths = dataFiles.map((name) => join(data as string, name));
  const readable = Promise.all(paths.map((path) => access(path, constants.R_OK)));
  return readable.then(
    () => paths,
    (error) => skipped(error.message),
  );
}

/** An experiment whose runs come from the file, or from the pool. */
function playedOf(paper: Paper, experiment: Experiment, files: readonly string[], file: RunFile): Played {
  const module = new URL(`./${paper.id}.ts`, import.meta.url).href;
  return new Played(paper, experiment, {
    settings: namesOf("setting", experiment.settings),
    algorithms: namesOf("algorithm", experiment.algorithms),
    from,
    async play(task) {
      const name = { paper: paper.id, experiment: experiment.id, ...task };
      const known = file.find(name);
      if (known) return known;
      const curves = (await pool.run({ module, experiment: experiment.id, ...task, files })) as readonly Curve[];
      await file.add(name, curves);
      return curves;
    },
  });
}

/** Waits for runs of an experiment, and shows a progress bar. */
async function watch(played: Played, runs: Promise<void>): Promise<void> {
  const name = `${played.paper.id} ${played.experiment.id}`;
  const bar = progressBar(`${name} {bar} {value}/{total} runs, {eta_formatted} left`);
  bar.start(played.tasks, played.ended);
  played.progress = () => bar.update(played.ended);
  await runs;
  bar.stop();
}

/** Plays more runs where comparisons do not tell yet, until all do or the time is up. */
async function sharpen(queue: readonly Played[], share: number): Promise<void> {
  const start = performance.now();
  const used = (): number => (performance.now() - start) / 60_000;
  const bar = progressBar("{open} comparisons left {bar} {value}/{total} min");
  bar.start(minutes, 0, { open: "?" });
  for (let open = 1; open > 0 && used() < minutes; ) {
    const left = await Promise.all(queue.map((played) => played.sharpen(share)));
    open = left.reduce((sum, each) => sum + each, 0);
    bar.update(Math.min(Math.round(used()), minutes), { open });
  }
  bar.stop();
}

/** Plays what has stale rows, and affirms those that agree. The exit code is 1 if some do not. */
async function affirm(): Promise<void> {
  const compared = [];
  for (const played of queue) {
    const traceOf = traces.get(played.experiment);
    const stale = traceOf ? staleRows(played, stored, traceOf) : [];
    if (!traceOf || stale.length === 0) continue;
    const isStale = ({ setting, algorithm }: Series): boolean =>
      stale.some((row) => row.setting === setting && [row.algorithm, rivalOf(row)].includes(algorithm));
    await watch(played, played.add(runs ?? 1, isStale));
    compared.push(...comparedRows(stale, played.series, traceOf));
  }
  const { affirmed, contradicted } = affirmedRows(compared, presentCommit());
  await writeStored(replaced(stored, affirmed));
  for (const { paper, experiment, setting, algorithm, metric } of contradicted)
    print(`contradicted: ${[paper, experiment, setting, algorithm, metric].join(", ")}`);
  print(`${affirmed.length} of ${compared.length} stale rows affirmed`);
  if (affirmed.length < compared.length) process.exitCode = 1;
}

const results: Result[] = [];
await mkdir(values.out, { recursive: true });
const codes = await Promise.all(chosen.map(async ({ id }) => [id, await fingerprint(id)]));
const file = await RunFile.open(join(values.out, "runs.jsonl"), Object.fromEntries(codes));
if (file.size > 0) print(`${file.size} runs of this code are in ${join(values.out, "runs.jsonl")}; they are not played again`);
const queue: Played[] = [];
for (const paper of chosen) {
  for (const experiment of paper.experiments) {
    if (values.experiment !== undefined && values.experiment !== experiment.id) continue;
    const files = await filesFor(experiment);
    if (files) queue.push(playedOf(paper, experiment, files, file));
  }
}
const stored = await readStored();
const traces = new Map<Experiment, TraceOf>();
if (values.keep || values.affirm) {
  for (const paper of chosen) {
    const own = queue.filter((played) => played.paper === paper).map(({ experiment }) => experiment);
    for (const [experiment, traceOf] of await tracesOf(paper, own)) traces.set(experiment, traceOf);
  }
}
if (values.affirm) {
  await affirm();
  await pool.destroy();
  process.exit();
}
// All experiments share the pool from the start, so no core idles at the end of one.
const first = queue.map((played) => played.add(runs ?? played.experiment.runs));
for (const [i, played] of queue.entries()) await watch(played, first[i]);
if (tell !== undefined) await sharpen(queue, tell);
for (const [i, played] of queue.entries()) {
  const { paper, experiment, series } = played;
  if (queue[i - 1]?.paper !== paper) print(`\n# ${paper.title}`);
  const rows = resultsOf(paper, experiment, series);
  results.push(...rows);
  const name = `${paper.id}-${experiment.id}`;
  for (const figure of experiment.figures) {
    const suffix = experiment.figures.length > 1 ? `-${figure.metric.replace(/\W+/g, "-")}` : "";
    await writeFile(join(values.out, `${name}${suffix}.svg`), await figureOf(experiment, figure, series));
  }
  await writeFile(join(values.out, `${name}.md`), `${experiment.title}\n\n${tableOf(rows)}\n`);
  print(`\n${experiment.title}\n\n${tableOf(rows)}`);
  await writeFile(join(values.out, "results.json"), textOf(results));
}
await pool.destroy();
if (values.keep) {
  const commit = presentCommit();
  let all = stored;
  for (const { paper, experiment } of queue) {
    const dated = (row: Result): Result => ({ ...row, commit, trace: traces.get(experiment)?.(row) });
    const fresh = results.filter((row) => row.paper === paper.id && row.experiment === experiment.id).map(dated);
    all = replaced(all, fresh);
    all = replaced(all, ratiosBeside(paper, experiment, all, fresh).map(dated));
  }
  await writeStored(all);
}
if (results.length === 0) refuse("All experiments were skipped. Their data is needed: name its folder with --data.");
print(`\n${results.length} results in ${join(values.out, "results.json")} (${(performance.now() / 1000).toFixed(0)} s)`);
