// npm run mutations: plants small random errors in the product code, one at a time, and checks whether the tests fail.

import { globSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { command, type Values, wholeNumber } from "../cli/command/command.ts";
import { progressBar } from "../cli/command/progress.ts";
import { askedToStop } from "../cli/worker/worker-process.ts";
import { Coverage, measured } from "./mutations/coverage.ts";
import { equivalentOf, equivalents } from "./mutations/equivalent.ts";
import { drawn, FOLDERS, type Mutant, type Planted, plantedIn, productFiles } from "./mutations/mutant.ts";
import { isEnough, type Score, table } from "./mutations/score.ts";
import { run, type SuiteTest } from "./mutations/suite.ts";
import { Tree } from "./mutations/tree.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url).href);
/** Number of mutants tested in parallel. */
const LANES = 2;

const USAGE = `Plants small random errors in a copy of the product code, one at a time, and runs the tests that reach them. Prints the errors
that no test noticed, and a table. Takes most of an hour, because it first runs the whole suite twice.

Usage: npm run mutations [-- --seed N --sample N --only PATH --quick]

  --seed N      seed of the draw; the same seed draws the same errors from the same code (default 1). Several seeds, each
                after its own --seed, are judged one by one after a single measurement of the suite
  --sample N    number of errors per seed, in equal parts from each folder of product code (default 160)
  --only PATH   draw only from files whose path begins with PATH, such as src/model
  --quick       leave out the tests in browsers and the simulations. Takes less than half of the time, and notices no more errors

Example: npm run mutations -- --only src/model --sample 40

Exit code 1: for some seed the tests noticed fewer than 88 % of the errors, or fewer than 80 % in one folder.`;

class MutationError extends Error {}

type Fate = "killed" | "survived" | "equivalent";
interface Judged {
  readonly mutant: Mutant;
  readonly fate: Fate;
}

const options = {
  seed: { type: "string", multiple: true, default: ["1"] as string[] },
  sample: { type: "string", default: "160" },
  only: { type: "string", default: "" },
  quick: { type: "boolean", default: false },
} as const;

/** Tests of the package take minutes and reach no place that others do not. */
const LEFT_OUT = ["test/{packaging,speed}/**"];
/** The tests that take longest: a mutant that survives runs all that reach it. */
const SLOW = ["test/{browser,simulation}/**"];

async function main(values: Values<typeof options>): Promise<boolean> {
  const seeds = values.seed.map((seed) => wholeNumber("--seed", seed, 1));
  const sample = wholeNumber("--sample", values.sample, 1);
  const files = productFiles(ROOT);
  if (!files.some((file) => file.startsWith(values.only))) {
    const folders = [...new Set(files.map((file) => dirname(file)))].sort().join(", ");
    throw new MutationError(`--only: expected the start of a path in one of ${folders}; got ${values.only}`);
  }
  const planted = await plantedIn(ROOT);
  for (const each of equivalents) {
    const same = planted.mutants.filter((mutant) => equivalentOf(mutant) === each).length;
    if (same !== 1)
      throw new MutationError(
        `equivalent.ts: expected "${each.original}" to match one mutant of ${each.file}, got ${same}; update or remove the entry`,
      );
  }
  const candidates = planted.mutants.filter(({ file }) => file.startsWith(values.only));
  const controller = new AbortController();
  void askedToStop().then(() => controller.abort(new MutationError("Stopped by a signal.")));
  const { signal } = controller;
  const trees: Tree[] = [];
  try {
    for (let i = 0; i < LANES; i++) trees.push(await Tree.copyOf(ROOT, signal));
    const tests = globSync("test/**/*.test.ts", { cwd: ROOT, exclude: [...LEFT_OUT, ...(values.quick ? SLOW : [])] }).sort();
    const coverage = await measure(trees, tests, planted, signal);
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

/** Runs test files on the plain code and, in parallel, on code that reports the places that each test reaches. */
async function measure(trees: readonly Tree[], files: readonly string[], planted: Planted, signal: AbortSignal): Promise<Coverage> {
  const bar = progressBar("{bar} {value}/{total} test files measured | {duration_formatted}");
  bar.start(files.length, 0);
  const begun = new Set<string>();
  const instrumented = await Tree.copyOf(ROOT, signal);
  try {
    const options = { bail: false, slowestMs: 60_000, reported: ({ file }: { file: string }) => bar.update(begun.add(file).size) };
    const [plain, reports] = await Promise.all([
      run(trees[0], { files: files.map((file) => [file, null]) }, signal, options),
      measured(instrumented, planted, files, signal),
    ]);
    if (plain.killer) throw new MutationError(`The suite must pass before errors are planted, but fails: ${plain.killer}`);
    const tests: SuiteTest[] = plain.reports.map(({ file, name, ms }) => ({ file, name, ms }));
    return new Coverage(tests, reports, planted.mutants);
  } finally {
    bar.stop();
    await instrumented.remove();
  }
}

/** Tests a sample of the mutants of each folder, in several trees in parallel. */
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
  const bar = progressBar("{bar} {value}/{total} | {duration_formatted}, about {eta_formatted} left | {survived} survived | {at}");
  const judged: Judged[] = [];
  bar.start(draws.length, 0, { survived: 0, at: "" });
  const waiting = draws.values();
  const lane = async (tree: Tree) => {
    for (const mutants of waiting) {
      for (const mutant of mutants) {
        bar.update({ at: `${mutant.file}:${mutant.line}` });
        const verdict = await verdictOn(tree, mutant, coverage, signal);
        // A mutant that does not compile is replaced by another, because nobody could commit it.
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

/** Describes a mutant in three lines. */
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

await command({ usage: USAGE, options, known: [MutationError], run: main });
process.exit();
