// Plants random small errors in the product code, one at a time, and looks whether the tests notice.
import { globSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Presets, SingleBar } from "cli-progress";
import { Coverage, measured } from "./mutations/coverage.ts";
import { equivalentOf, equivalents } from "./mutations/equivalent.ts";
import { drawn, FOLDERS, type Mutant, type Planted, plantedIn } from "./mutations/mutant.ts";
import { isEnough, type Score, table } from "./mutations/score.ts";
import { run, type SuiteTest } from "./mutations/suite.ts";
import { Tree } from "./mutations/tree.ts";
import { askedToStop } from "./worker-process.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Mutants that are judged at once. */
const LANES = 2;

const USAGE = `Usage: npm run mutations [-- --seed N --sample N --only PATH]

Plants random small errors in the product code, one at a time in a copy of the project, and runs the tests that reach
the place. First it runs the whole suite twice: as it is, and to see which test reaches what. Takes most of an hour.

  --seed N      draws the errors; the same seed draws the same ones from the same code (default 1). Given several times, each
                seed is judged and reported by itself, and the suite is measured only once
  --sample N    how many errors, in equal parts from each folder of product code (default 160)
  --only PATH   errors in files whose path begins like this, such as src/model

Prints the errors that no test noticed, and a table. The exit code is 1 if for any seed less than 88 % were noticed, or
less than 80 % in one of the folders.`;

class MutationError extends Error {}

type Fate = "killed" | "survived" | "equivalent";
interface Judged {
  readonly mutant: Mutant;
  readonly fate: Fate;
}

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      seed: { type: "string", multiple: true, default: ["1"] },
      sample: { type: "string", default: "160" },
      only: { type: "string", default: "" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return true;
  }
  const seeds = values.seed.map((seed) => wholeNumber("--seed", seed));
  const sample = wholeNumber("--sample", values.sample);
  const planted = await plantedIn(ROOT);
  for (const each of equivalents) {
    const same = planted.mutants.filter((mutant) => equivalentOf(mutant) === each).length;
    if (same !== 1) throw new MutationError(`equivalent.ts: "${each.original}" matches ${same} mutants of ${each.file}, expected one`);
  }
  const candidates = planted.mutants.filter(({ file }) => file.startsWith(values.only));
  if (candidates.length === 0) throw new MutationError(`--only: no product code below "${values.only}"`);
  const controller = new AbortController();
  void askedToStop().then(() => controller.abort(new MutationError("it was asked to stop")));
  const { signal } = controller;
  const trees: Tree[] = [];
  try {
    for (let i = 0; i < LANES; i++) trees.push(await Tree.copyOf(ROOT, signal));
    const coverage = await measure(trees, planted, signal);
    let enough = true;
    for (const seed of seeds) {
      const judged = await judge(trees, drawn(candidates, seed), sample, coverage, signal);
      const scores = scoresOf(judged);
      console.log(`\nseed ${seed}: ${judged.length} of ${candidates.length} mutants\n${table(scores)}`);
      enough &&= isEnough(scores);
    }
    return enough;
  } finally {
    controller.abort();
    await Promise.all(trees.map((tree) => tree.remove()));
  }
}

function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new MutationError(`${name}: expected a positive whole number, got ${text}`);
}

function progress(format: string): SingleBar {
  return new SingleBar({ format, stream: process.stderr, noTTYOutput: true, notTTYSchedule: 30_000, hideCursor: true }, Presets.rect);
}

/** Runs the suite as it is, and beside it the suite over code that reports what is reached. */
async function measure(trees: readonly Tree[], planted: Planted, signal: AbortSignal): Promise<Coverage> {
  const files = globSync("test/**/*.test.ts", { cwd: ROOT }).sort();
  const bar = progress("{bar} {value}/{total} files of tests, as they are and what they reach | {duration_formatted}");
  bar.start(files.length, 0);
  const begun = new Set<string>();
  const instrumented = await Tree.copyOf(ROOT, signal);
  try {
    const options = { bail: false, slowestMs: 60_000, heard: ({ file }: { file: string }) => bar.update(begun.add(file).size) };
    const [plain, reports] = await Promise.all([
      run(trees[0], { files: files.map((file) => [file, null]) }, signal, options),
      measured(instrumented, planted, files, signal),
    ]);
    if (plain.killer) throw new MutationError(`The suite fails as it is: ${plain.killer}`);
    const tests: SuiteTest[] = plain.reports.map(({ file, name, ms }) => ({ file, name, ms }));
    return new Coverage(tests, reports, planted.mutants);
  } finally {
    bar.stop();
    await instrumented.remove();
  }
}

/** Judges a sample of the mutants of each folder, in several trees at once. */
async function judge(
  trees: readonly Tree[],
  folders: ReadonlyMap<string, readonly Mutant[]>,
  sample: number,
  coverage: Coverage,
  signal: AbortSignal,
): Promise<Judged[]> {
  const own = Array.from(folders.values()).filter((mutants) => mutants.length > 0);
  const share = Math.ceil(sample / own.length);
  const draws = own.flatMap((mutants) => {
    const left = mutants.values();
    return Array.from({ length: Math.min(share, mutants.length) }, () => left);
  });
  const bar = progress("{bar} {value}/{total} | {duration_formatted}, about {eta_formatted} left | {survived} survived | {at}");
  const judged: Judged[] = [];
  bar.start(draws.length, 0, { survived: 0, at: "" });
  const waiting = draws.values();
  const lane = async (tree: Tree) => {
    for (const mutants of waiting) {
      for (const mutant of mutants) {
        bar.update({ at: `${mutant.file}:${mutant.line}` });
        const verdict = await verdictOn(tree, mutant, coverage, signal);
        // Nobody can commit an error that does not compile. Another one takes its place.
        if (!verdict) continue;
        judged.push(verdict);
        if (verdict.fate !== "killed") console.log(`${verdict.fate}: ${described(mutant)}`);
        break;
      }
      bar.increment({ survived: judged.filter(({ fate }) => fate === "survived").length });
    }
  };
  try {
    await Promise.all(trees.map(lane));
    return judged;
  } finally {
    bar.stop();
  }
}

async function verdictOn(tree: Tree, mutant: Mutant, coverage: Coverage, signal: AbortSignal): Promise<Judged | null> {
  if (equivalentOf(mutant)) return { mutant, fate: "equivalent" };
  const { selection, slowestMs } = coverage.testsOf(mutant);
  return tree.with(mutant, async (): Promise<Judged> => {
    const { killer, killerFile } = selection.files.length > 0 ? await run(tree, selection, signal, { bail: true, slowestMs }) : {};
    if (killerFile) coverage.found(mutant, killerFile);
    if (killer) return { mutant, fate: "killed" };
    if (mutant.file.startsWith("assembly/") && !(await tree.passesCoreTests())) return { mutant, fate: "killed" };
    return { mutant, fate: "survived" };
  });
}

/** A mutant in three lines. */
function described({ file, line, operator, original, replacement }: Mutant): string {
  const oneLine = (text: string): string => {
    const all = text.replace(/\s+/g, " ");
    return all.length > 100 ? `${all.slice(0, 60)} ... ${all.slice(-35)}` : all;
  };
  return `${file}:${line} ${operator}\n    ${oneLine(original)}\n -> ${oneLine(replacement)}`;
}

function scoresOf(judged: readonly Judged[]): Score[] {
  return FOLDERS.map((folder): Score => {
    const own = judged.filter(({ mutant }) => mutant.file.startsWith(`${folder}/`));
    const count = (fate: Fate): number => own.filter((each) => each.fate === fate).length;
    return { folder, killed: count("killed"), survived: count("survived"), equivalent: count("equivalent") };
  }).filter(({ killed, survived, equivalent }) => killed + survived + equivalent > 0);
}

try {
  process.exit((await main()) ? 0 : 1);
} catch (error) {
  const told = error instanceof MutationError || (error as NodeJS.ErrnoException).code?.startsWith("ERR_PARSE_ARGS");
  console.error(told ? (error as Error).message : error);
  process.exit(1);
}
