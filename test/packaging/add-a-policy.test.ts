import { execFileSync } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { run } from "./installation.ts";

// Follows "Add a policy" of CONTRIBUTING.md in a copy of the repository, to the letter: every block, then the check.

/** Parts of the repository that no step needs. */
const LEFT_OUT = new Set(["node_modules", ".git", ".wrangler", ".dev.vars", "results", "coverage"]);

/** File of the check's results, in the copy. */
const RESULTS = "results.json";

interface Results {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

interface Step {
  readonly language: string;
  readonly code: string;
}

let copy: string;
let steps: readonly Step[];
beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), "afterclick-policy-"));
  for (const name of await readdir(".")) if (!LEFT_OUT.has(name)) await cp(name, join(copy, name), { recursive: true });
  await symlink(resolve("node_modules"), join(copy, "node_modules"));
  const config = await readFile("vitest.config.ts", "utf8");
  const reporting = config.replace("reporters: [", `reporters: [["json", { outputFile: ${JSON.stringify(RESULTS)} }], `);
  expect(reporting).not.toBe(config);
  await writeFile(join(copy, "vitest.config.ts"), reporting);
  const [, section] = (await readFile("CONTRIBUTING.md", "utf8")).split(/^## (?=Add a policy$)/m);
  const text = section.split(/^## /m, 1)[0].replaceAll(/^ {3}/gm, "");
  steps = Array.from(text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm), ([, language, code]) => ({ language, code }));
});
afterAll(() => rm(copy, { recursive: true, force: true }));

/** The lines of a hunk with one of these marks, without their marks. */
const linesOf = (hunk: string, marks: string) =>
  Array.from(hunk.matchAll(/^(.)?(.*\n)/gm), ([, mark = "", line]) => (marks.includes(mark) ? line : "")).join("");

/** Applies a block of changes. Its first line names the file. The unmarked lines of a hunk must be there once. */
async function change(block: string): Promise<void> {
  const [name, ...rest] = block.split("\n");
  const file = join(copy, name);
  let content = await readFile(file, "utf8").catch(() => "");
  for (const hunk of rest.join("\n").split("@@\n")) {
    const [before, after] = [linesOf(hunk, " "), linesOf(hunk, " +")];
    if (before !== "") expect(content.split(before).length - 1, `${name}: number of places with\n${before}`).toBe(1);
    content = before === "" ? after : content.replace(before, () => after);
  }
  await writeFile(file, content);
}

it("passes the check that the text names, and is formatted", async () => {
  const changes = steps.filter(({ language }) => language === "diff");
  for (const { code } of changes) await change(code);
  const files = changes.map(({ code }) => code.split("\n", 1)[0]);
  expect(files.length).toBe(5);
  const [check, ...others] = steps.filter(({ language }) => language === "sh");
  expect(others).toEqual([]);
  const printed = shell(check.code);
  expect(printed).toMatch(/\b[1-9]\d+ passed, 0 failed/);
  expect(printed).toContain("test/conformance/policy.test.ts");
  // The conformance tests play the policy, because it is listed.
  const { testResults } = JSON.parse(await readFile(join(copy, RESULTS), "utf8")) as Results;
  const played = testResults
    .filter(({ name }) => name.includes("/test/conformance/"))
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ fullName, status }) => status === "passed" && fullName.includes("ridge-ucb"));
  expect(played.length).toBeGreaterThan(15);
  expect(await readFile(join(copy, "docs/choosing.md"), "utf8")).toContain(
    "| `ridgeUcb` | `ridge-ucb` | Li, Chu, Langford, Schapire, WWW 2010,",
  );
  run(copy, "biome", ["check", ...files.filter((file) => file.endsWith(".ts"))]);
  run(copy, "tsc", ["--noEmit", "-p", "."]);
});

/** Runs commands in the copy. */
function shell(commands: string): string {
  // The suite that runs this test says so in the environment.
  const env = Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith("VITEST")));
  return execFileSync("bash", ["-e", "-c", commands], { cwd: copy, encoding: "utf8", stdio: "pipe", env });
}
