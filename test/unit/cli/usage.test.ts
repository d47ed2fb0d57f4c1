import { readFile } from "node:fs/promises";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { progressBar } from "../../../cli/command/progress.ts";
import { type Answer, answersTo, type Call } from "../../support/calls.ts";

/** Scripts that take no options of their own, because they only run others. */
const WITHOUT_OPTIONS = [
  "prepare",
  "prebuild",
  "build",
  "test",
  "test:all",
  "test:quick",
  "test:core",
  "test:speed",
  "check",
  "types",
  "docs",
  "openapi",
];

const { scripts } = JSON.parse(await readFile("package.json", "utf8")) as { scripts: Record<string, string> };
const commands = Object.entries(scripts)
  .filter(([name]) => !WITHOUT_OPTIONS.includes(name))
  .map(([script, text]): Call => {
    const [, program] = /node (\S+\.ts(?: \w+)?)$/.exec(text) as RegExpExecArray;
    const [file, ...args] = program.split(" ");
    return { file, args: [...args, "--help"], env: { npm_lifecycle_event: script } };
  });

/** Wrong command lines, and how the answer begins. */
const wrong: readonly (readonly [file: string, args: readonly string[], message: RegExp])[] = [
  ["experiments/reproduce.ts", ["--paper", "verne"], /^--paper: expected one of vernade\|verma\|.*, got verne\n/],
  ["experiments/reproduce.ts", ["--experiment", "figure-9"], /^--experiment: expected one: figure-1, figure-3, .*; got figure-9\n/],
  [
    "experiments/reproduce.ts",
    ["--paper", "verma", "--experiment", "figure-1"],
    /^--experiment: expected one of verma: figure-1a, .*; got figure-1\n/,
  ],
  ["experiments/reproduce.ts", ["--setting", "m = 5"], /^--setting: name its experiment with --experiment\n/],
  [
    "experiments/reproduce.ts",
    ["--paper", "shop", "--experiment", "long", "--algorithm", "default", "--algorithm", "nobody"],
    /^--algorithm: expected one of the experiment's, "default", "Beta, waiting", "uniform"; got nobody\n/,
  ],
  ["experiments/reproduce.ts", ["--papre", "verma"], /^Unknown option '--papre'[\s\S]*\nUsage: /],
  ["bench/bench.ts", ["--only", "ridge"], /^--only: expected one of the workloads below, got "ridge"[\s\S]*ridge-score/],
  ["bench/bench.ts", ["--against", "nowhere"], /^--against: expected a revision of this repository, got nowhere\n/],
  ["bench/bench.ts", ["--quick", "--write"], /^--write: expected no --quick, because its figures mean nothing\n/],
  ["trials/mutations.ts", ["--only", "source"], /^--only: expected the start of a path in one of assembly, .*src\/policy.*; got source\n/],
];

const calls = [...commands, ...wrong.map(([file, args]): Call => ({ file, args }))];
let answers: readonly Answer[];
beforeAll(async () => {
  answers = await answersTo(calls);
});

it.each(commands.map(({ env }, place) => [env?.npm_lifecycle_event as string, place] as const))(
  "npm run %s -- --help says how it is used, with an example",
  (name, place) => {
    const { code, stdout, stderr } = answers[place];
    const called = `npm ${name === "start" ? "" : "run "}${name}`;
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(`Usage: ${called}`);
    expect(stdout).toContain(`\nExample: ${called}`);
    expect(stdout.split("\n")[0]).toMatch(/^[A-Z].*[.a-z,]/);
  },
);

it.each(wrong.map((each, i) => [...each, commands.length + i] as const))("%s %j lists what exists", (_, __, message, place) => {
  expect(answers[place]).toMatchObject({ code: 1, stderr: expect.stringMatching(message) });
});

describe("without a terminal", () => {
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  it("progress is a line a minute", () => {
    vi.useFakeTimers();
    const write = vi.spyOn(process.stderr, "write").mockImplementation(() => true);
    const bar = progressBar("{value}/{total}");
    bar.start(300, 0);
    const lines = () =>
      write.mock.calls
        .map(([text]) => String(text))
        .join("")
        .trim()
        .split("\n").length;
    const before = lines();
    for (let second = 1; second <= 300; second++) {
      vi.advanceTimersByTime(1000);
      bar.update(second);
    }
    expect(lines() - before).toBe(5);
    bar.stop();
  });
});
