import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

// The commands of README.md, CONTRIBUTING.md and docs/research.md, each in small. `test/speed` has those that take minutes also in small.

const execute = promisify(execFile);
const { scripts } = JSON.parse(await readFile("package.json", "utf8")) as { scripts: Record<string, string> };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "afterclick-commands-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Arguments that make a command small, and what it prints. */
const SMALL: Readonly<Record<string, readonly (readonly [args: readonly string[], printed: RegExp])[]>> = {
  "bench:open": [[["--most", "1000"], /1,000/]],
  simulate: [
    [["--schedules", "3"], /3 of 3 schedules kept all laws/],
    [["--schedules", "2", "--shards"], /2 of 2 schedules kept all laws/],
  ],
  launch: [[["--runs", "1", "--impressions", "100"], /KV alone +regret [\d.]+, ratio/]],
  orders: [[["--impressions", "300"], /offline fold: +[0-9a-f]{16}/]],
  looks: [[["--runs", "2", "--null-runs", "2"], /one share: \d of 1; a share that changes: \d of 1/]],
  intervals: [[["--figure", "delay-law", "--only", "lognormal, steady", "--runs", "3"], /^\| lognormal, steady, 500 \|.*\| 3 \|$/m]],
  reproduce: [[["--paper", "vernade", "--experiment", "figure-1", "--runs", "1", "--out", "FOLDER"], /\d+ results in/]],
  sizing: [[["--views", "1000"], /1,000/]],
  golden: [[["test/golden/cases"], /\d+ passed, 0 failed/]],
};

/** Commands that other files run. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  start: "test/browser/start.test.ts",
  doctor: "test/packaging/bin.test.ts",
  rehearse: "test/packaging/bin.test.ts",
  verify: "test/packaging/bin.test.ts",
  package: "test/packaging/installation.ts",
  options: "test/unit/worker/model-options.test.ts",
  openapi: "test/packaging/recipes.test.ts",
  release: "test/unit/scripts/release.test.ts",
  soak: "test/speed/commands.test.ts",
  attack: "test/speed/commands.test.ts",
  mutations: "test/unit/trials/mutations.test.ts",
  crossing: "test/unit/trials/crossing.test.ts",
};

/** Commands that consist of the suite, of its build, or of a part of it on other seeds. */
const SUITE = ["build", "docs", "check", "types", "test", "test:all", "test:quick", "test:core", "test:random", "test:speed"];

const run = (script: string, args: readonly string[], cwd = ".") => {
  const program = resolve(/node (\S+\.ts)/.exec(scripts[script])?.[1] as string);
  return execute(process.execPath, [program, ...args.map((arg) => (arg === "FOLDER" ? folder : arg))], { cwd, maxBuffer: 2 ** 26 });
};

it("a workload of each kind of npm run bench runs, with finite figures of every variant", async () => {
  const { stdout: usage } = await run("bench", ["--help"]);
  const all = Array.from(usage.matchAll(/^ {18}(\S.*)$/gm), ([, name]) => name);
  const kindOf = (name: string): string => name.split(" ")[0];
  const names = all.filter((name, i) => all.findIndex((other) => kindOf(other) === kindOf(name)) === i);
  const { stdout } = await run("bench", ["--quick", "--json", ...names.flatMap((name) => ["--only", name])]);
  const results = JSON.parse(stdout) as { workload: string; variant: string; median: number; runs: number }[];
  expect(names.length).toBeGreaterThan(15);
  expect(new Set(results.map(({ workload }) => workload))).toEqual(new Set(names));
  for (const { workload, variant, median, runs } of results) {
    expect(median, `${workload}, ${variant}`).toBeGreaterThan(0);
    expect(runs).toBe(1);
  }
});

describe.each(Object.entries(SMALL))("npm run %s", (script, calls) => {
  it.each(calls)("%j", async (args, printed) => {
    const { stdout } = await run(script, args);
    expect(stdout).toMatch(printed);
    expect(stdout).not.toMatch(/NaN|undefined/);
  });
});

it("npm run summary changes nothing while the results are the same", async () => {
  await cp("docs", join(folder, "docs"), { recursive: true, filter: (file) => !file.includes("node_modules") });
  for (const file of ["README.md", "experiments/results.json", "bench/results.json"]) await cp(file, join(folder, file));
  await run("summary", [], folder);
  for (const page of ["README.md", "docs/research.md", "docs/choosing.md"])
    expect(await readFile(join(folder, page), "utf8")).toBe(await readFile(page, "utf8"));
});

it("the documents name no command that nothing runs", async () => {
  const texts = await Promise.all(["README.md", "CONTRIBUTING.md", "docs/research.md"].map((file) => readFile(file, "utf8")));
  const named = new Set(texts.flatMap((text) => Array.from(text.matchAll(/npm (?:run )?([a-z]+(?::[a-z]+)?)\b/g), ([, name]) => name)));
  const commands = Object.keys(scripts).filter((name) => named.has(name));
  expect(commands.length).toBeGreaterThan(15);
  const known = ["bench", "summary", ...Object.keys(SMALL), ...Object.keys(ELSEWHERE), ...SUITE];
  expect(commands.filter((name) => !known.includes(name))).toEqual([]);
  for (const [name, file] of Object.entries(ELSEWHERE))
    expect((await readFile(file, "utf8")).includes(name), `${file} runs ${name}`).toBe(true);
});
