// npm run reproduce: reruns the experiments of the papers.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Tinypool } from "tinypool";
import { progressBar } from "../scripts/progress.ts";
import type { Curve, Experiment, Paper, Task } from "./experiment.ts";
import { figureOf } from "./figure.ts";
import { all, papers } from "./papers.ts";
import { type Result, resultsOf, type Series, tableOf } from "./results.ts";

const names = all.map(({ id }) => id).join("|");
const HELP = `Reruns the papers' experiments on all cores. Writes results.json, and a figure and a table per experiment.

Usage: npm run reproduce -- [--paper ${names}] [--experiment ID] [--setting NAME]... [--algorithm NAME]... [--runs N] [--from N] [--data DIR] [--out DIR]

--paper ID       run one paper only; "beyond", "shop" and "signals", this project's own experiments, run only with this option
--experiment ID  run one experiment only
--setting NAME   run this setting only; may be repeated. Needs --experiment
--algorithm NAME run this algorithm only; may be repeated. Needs --experiment. A ratio needs both of its algorithms
--runs N         repeats per experiment (default: the experiment's own number)
--from N         number of the first run, which seeds it (default: 0; choose options on runs that you do not report)
--data DIR       folder of the real data; experiments that need it are skipped without
--out DIR        folder of the results (default: results)

Example: npm run reproduce -- --paper vernade --experiment figure-1 --runs 2 --out build/try

The experiments of each paper:
${all.map(({ id, experiments }) => `  ${id}: ${experiments.map((experiment) => experiment.id).join(", ")}`).join("\n")}`;

function refuse(message: string): never {
  console.error(`${message}\n\n${HELP}`);
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
        data: { type: "string" },
        out: { type: "string", default: "results" },
        help: { type: "boolean", short: "h" },
      },
    }).values;
  } catch (error) {
    return refuse((error as Error).message);
  }
}

const values = parsed();
if (values.help) {
  console.log(HELP);
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

const pool = new Tinypool({ filename: new URL("./pool-worker.ts", import.meta.url).href, maxThreads: availableParallelism() });

/** Reads an experiment's data file. If it cannot be read, prints the reason and returns undefined. */
async function dataFor({ id, dataFile }: Experiment): Promise<string | undefined> {
  const skipped = (why: string): undefined => void console.log(`${id}: skipped, ${why}`);
  if (!values.data) return skipped(`it needs ${dataFile} (--data DIR)`);
  return readFile(join(values.data, dataFile as string), "utf8").catch((error) => skipped(error.message));
}

/** An experiment in the pool, with its progress and its results. */
interface Played {
  readonly paper: Paper;
  readonly experiment: Experiment;
  /** Number of finished tasks. */
  ended: number;
  /** Called after each further task. */
  progress?: () => void;
  readonly tasks: number;
  readonly series: Promise<Series[]>;
}

/** Queues all tasks of an experiment in the pool. All experiments share the queue, so no core idles at the end of one. */
function enqueue(paper: Paper, experiment: Experiment, data: string | undefined): Played {
  const repeats = Array.from({ length: runs ?? experiment.runs }, (_, i) => from + i);
  const algorithms = namesOf("algorithm", experiment.algorithms);
  const combinations = namesOf("setting", experiment.settings).flatMap((setting) =>
    algorithms.map((algorithm) => ({ setting, algorithm })),
  );
  const module = new URL(`./${paper.id}.ts`, import.meta.url).href;
  const play = async (task: Omit<Task, "data">): Promise<readonly Curve[]> => {
    const curves = await pool.run({ module, experiment: experiment.id, ...task, data });
    played.ended++;
    played.progress?.();
    return curves;
  };
  const series = Promise.all(
    combinations.map(async (combination) => ({
      ...combination,
      runs: await Promise.all(repeats.map((run) => play({ ...combination, run }))),
    })),
  );
  const played: Played = { paper, experiment, ended: 0, tasks: combinations.length * repeats.length, series };
  return played;
}

/** Waits for an experiment and shows a progress bar. */
async function watch(played: Played): Promise<Series[]> {
  const name = `${played.paper.id} ${played.experiment.id}`;
  const bar = progressBar(`${name} {bar} {value}/{total} runs, {eta_formatted} left`);
  bar.start(played.tasks, played.ended);
  played.progress = () => bar.increment();
  const series = await played.series;
  bar.stop();
  return series;
}

const results: Result[] = [];
await mkdir(values.out, { recursive: true });
const queue: Played[] = [];
for (const paper of chosen) {
  for (const experiment of paper.experiments) {
    if (values.experiment !== undefined && values.experiment !== experiment.id) continue;
    const data = experiment.dataFile ? await dataFor(experiment) : undefined;
    if (!experiment.dataFile || data !== undefined) queue.push(enqueue(paper, experiment, data));
  }
}
for (const [i, played] of queue.entries()) {
  const { paper, experiment } = played;
  if (queue[i - 1]?.paper !== paper) console.log(`\n# ${paper.title}`);
  const series = await watch(played);
  const rows = resultsOf(paper, experiment, series);
  results.push(...rows);
  const name = `${paper.id}-${experiment.id}`;
  for (const figure of experiment.figures) {
    const suffix = experiment.figures.length > 1 ? `-${figure.metric.replace(/\W+/g, "-")}` : "";
    await writeFile(join(values.out, `${name}${suffix}.svg`), await figureOf(experiment, figure, series));
  }
  await writeFile(join(values.out, `${name}.md`), `${experiment.title}\n\n${tableOf(rows)}\n`);
  console.log(`\n${experiment.title}\n\n${tableOf(rows)}`);
  await writeFile(join(values.out, "results.json"), `${JSON.stringify(results, null, 1)}\n`);
}
await pool.destroy();
if (results.length === 0) refuse("All experiments were skipped. Their data is needed: name its folder with --data.");
console.log(`\n${results.length} results in ${join(values.out, "results.json")} (${(performance.now() / 1000).toFixed(0)} s)`);
