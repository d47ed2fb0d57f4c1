// Takes the worker's guards out, one at a time, in a copy of the tree, and looks whether the tests notice.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Presets, SingleBar } from "cli-progress";
import { type Mutant, mutants } from "./mutations/mutants.ts";
import { askedToStop } from "./worker-process.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** What the worker's tests do not read. */
const LEFT_OUT = ["node_modules", ".git", ".wrangler", ".ci", "assembly", "bench", "docs", "experiments"];
const LONGEST_RUN_MS = 240_000;
/** Mutants at once: most of a run is start-up, which waits more than it works. */
const LANES = 2;

const USAGE = `Usage: npm run mutations [-- --only TEXT]

Takes each guard of the worker out in a copy of the tree, and runs the tests that are to notice; first it runs those on the copy
as it is. Needs what npm run build makes. Takes a few minutes.

  --only TEXT   guards whose description has this in it

Ends with a table. The exit code is 1 if a mutant survived.`;

class MutationError extends Error {}

interface Verdict {
  readonly mutant: Mutant;
  readonly killed: boolean;
}

async function main(): Promise<boolean> {
  const { values } = parseArgs({ options: { only: { type: "string", default: "" }, help: { type: "boolean", short: "h" } } });
  if (values.help) {
    console.log(USAGE);
    return true;
  }
  const chosen = mutants.filter(({ guard }) => guard.includes(values.only));
  if (chosen.length === 0) throw new MutationError(`--only: no guard has "${values.only}" in its description`);
  const trees = await Promise.all(Array.from({ length: LANES }, () => mkdtemp(join(tmpdir(), "afterclick-mutations-"))));
  const controller = new AbortController();
  void askedToStop().then(() => controller.abort(new MutationError("it was asked to stop")));
  const { signal } = controller;
  try {
    await Promise.all(trees.map(copyTo));
    const verdicts = await judge(trees, chosen, signal);
    console.log(table(verdicts));
    return verdicts.every(({ killed }) => killed);
  } finally {
    controller.abort();
    await Promise.all(trees.map((tree) => rm(tree, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })));
  }
}

async function copyTo(tree: string): Promise<void> {
  await cp(ROOT, tree, { recursive: true, filter: (path) => !LEFT_OUT.includes(relative(ROOT, path)) });
  await symlink(join(ROOT, "node_modules"), join(tree, "node_modules"));
}

/** Judges mutants in several trees at once, each in one of them. */
async function judge(trees: readonly string[], chosen: readonly Mutant[], signal: AbortSignal): Promise<Verdict[]> {
  for (const mutant of chosen) await textOf(trees[0], mutant);
  const format = "{bar} {value}/{total} | {duration_formatted} | {guard}";
  const bar = new SingleBar({ format, stream: process.stderr, noTTYOutput: true, notTTYSchedule: 10_000, hideCursor: true }, Presets.rect);
  const files = [...new Set(chosen.map(({ tests }) => tests))];
  const verdicts = new Map<Mutant, Verdict>();
  bar.start(files.length + chosen.length, 0, { guard: "" });
  const lanes = async <Item>(items: readonly Item[], work: (tree: string, item: Item) => Promise<void>) => {
    const left = items.values();
    const lane = async (tree: string) => {
      for (const item of left) {
        await work(tree, item);
        bar.increment();
      }
    };
    await Promise.all(trees.map(lane));
  };
  try {
    await lanes(files, async (tree, tests) => {
      bar.update({ guard: `${tests}.test.ts as it is` });
      await checkTests(
        tree,
        chosen.filter((mutant) => mutant.tests === tests),
        signal,
      );
    });
    await lanes(chosen, async (tree, mutant) => {
      bar.update({ guard: mutant.guard });
      verdicts.set(mutant, await verdictOn(tree, mutant, signal));
    });
    return chosen.map((mutant) => verdicts.get(mutant) as Verdict);
  } finally {
    bar.stop();
  }
}

async function verdictOn(tree: string, mutant: Mutant, signal: AbortSignal): Promise<Verdict> {
  const path = join(tree, mutant.file);
  const text = await textOf(tree, mutant);
  // A function, so that no dollar sign is taken for a pattern.
  await writeFile(
    path,
    text.replace(mutant.find, () => mutant.replace),
  );
  const { failed } = await run(tree, [mutant], signal);
  await writeFile(path, text);
  return { mutant, killed: failed > 0 };
}

/** @throws {MutationError} if the mutant does not fit the file any more. */
async function textOf(tree: string, { guard, file, find }: Mutant): Promise<string> {
  const text = await readFile(join(tree, file), "utf8");
  const found = text.split(find).length - 1;
  if (found !== 1) throw new MutationError(`${guard}: expected its text once in ${file}, found it ${found} times: ${find}`);
  return text;
}

/** @throws {MutationError} if a test fails though nothing was taken out. */
async function checkTests(tree: string, mutants: readonly Mutant[], signal: AbortSignal): Promise<void> {
  const { failed } = await run(tree, mutants, signal);
  if (failed > 0) throw new MutationError(`${mutants[0].tests}.test.ts fails without any mutant`);
}

/** Runs the tests of mutants that share a file, up to the first failure. One that hangs fails. */
async function run(
  tree: string,
  mutants: readonly Mutant[],
  signal: AbortSignal,
): Promise<{ readonly passed: number; readonly failed: number }> {
  const [{ tests }] = mutants;
  const output = join(tree, "results.json");
  const named = mutants.map((mutant) => `(?:${mutant.named})`).join("|");
  await rm(output, { force: true });
  const options = ["--project", "worker", `test/worker/${tests}.test.ts`, "-t", named, "--bail", "1", "--reporter", "json"];
  const command = ["node_modules/vitest/vitest.mjs", "run", ...options, "--outputFile", output];
  // Its own process group, so that the runtimes that it starts end with it.
  const child = spawn(process.execPath, command, { cwd: tree, stdio: "ignore", detached: true });
  const end = () => process.kill(-(child.pid as number), "SIGKILL");
  const timer = setTimeout(end, LONGEST_RUN_MS);
  signal.addEventListener("abort", end);
  process.once("exit", end);
  const [code] = await once(child, "exit");
  signal.removeEventListener("abort", end);
  process.off("exit", end);
  clearTimeout(timer);
  signal.throwIfAborted();
  // What hangs does not pass.
  if (code === null) return { passed: 0, failed: 1 };
  const { numPassedTests: passed, numFailedTests: failed } = JSON.parse(await readFile(output, "utf8"));
  if (passed + failed > 0) return { passed, failed };
  throw new MutationError(`${mutants[0].guard}: no test is named like ${named}, or what is left is no program`);
}

function table(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ mutant: { guard, file, tests }, killed }) => [
    killed ? "killed" : "SURVIVED",
    guard,
    file,
    `${tests}.test.ts`,
  ]);
  const header = ["mutant", "guard that was taken out", "in", "noticed by"];
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column].length)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column]))
      .join("  ")
      .trimEnd();
  const survived = verdicts.filter(({ killed }) => !killed).length;
  return [line(header), ...rows.map(line), "", `${verdicts.length - survived} killed, ${survived} survived`].join("\n");
}

try {
  process.exit((await main()) ? 0 : 1);
} catch (error) {
  const told = error instanceof MutationError || (error as NodeJS.ErrnoException).code?.startsWith("ERR_PARSE_ARGS");
  console.error(told ? (error as Error).message : error);
  process.exit(1);
}
