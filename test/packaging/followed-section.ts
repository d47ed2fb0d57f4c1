import { execFileSync } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { expect } from "vitest";
import { run } from "./installation.ts";

// Follows sections of CONTRIBUTING.md in a copy of the repository, to the letter.

/** Names of folders and files that no step needs. */
const LEFT_OUT = new Set(["node_modules", ".git", ".wrangler", ".dev.vars", "results", "coverage"]);

/** File of the check's results, in the copy. */
const RESULTS = "results.json";

interface Results {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** The changed files, and the check's output and results. */
export interface Followed {
  readonly files: readonly string[];
  readonly printed: string;
  readonly results: Results["testResults"];
}

/** Makes every change of a section in a copy, runs its one block of commands, and checks that the changed files are formatted. */
export async function follow(title: string, folder: string): Promise<Followed> {
  const [, section] = (await readFile("CONTRIBUTING.md", "utf8")).split(new RegExp(`^## (?=${title}$)`, "m"));
  const text = section.split(/^## /m, 1)[0].replaceAll(/^ {3}/gm, "");
  const steps = Array.from(text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm), ([, language, code]) => ({ language, code }));
  const changes = steps.filter(({ language }) => language === "diff");
  for (const { code } of changes) await change(folder, code);
  const files = changes.map(({ code }) => code.split("\n", 1)[0]);
  const [check, ...others] = steps.filter(({ language }) => language === "sh");
  expect(others).toEqual([]);
  const printed = shell(folder, check.code);
  const { testResults: results } = JSON.parse(await readFile(join(folder, RESULTS), "utf8")) as Results;
  run(folder, "biome", ["check", ...files.filter((file) => file.endsWith(".ts"))]);
  return { files, printed, results };
}

/** A copy of the repository, whose tests write their results. */
export async function copied(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "afterclick-section-"));
  const filter = (path: string) => !LEFT_OUT.has(basename(path));
  for (const name of await readdir(".")) await cp(name, join(copy, name), { recursive: true, filter });
  await symlink(resolve("node_modules"), join(copy, "node_modules"));
  const config = await readFile("vitest.config.ts", "utf8");
  const reporting = config.replace("reporters: [", `reporters: [["json", { outputFile: ${JSON.stringify(RESULTS)} }], `);
  expect(reporting).not.toBe(config);
  await writeFile(join(copy, "vitest.config.ts"), reporting);
  return copy;
}

/** The lines of a hunk with one of these marks, without their marks. */
const linesOf = (hunk: string, marks: string) =>
  Array.from(hunk.matchAll(/^(.)?(.*\n)/gm), ([, mark = "", line]) => (marks.includes(mark) ? line : "")).join("");

/** Applies a block of changes. Its first line names the file. The unmarked lines of a hunk must be there once. */
async function change(copy: string, block: string): Promise<void> {
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

/** Runs commands in the copy. */
function shell(copy: string, commands: string): string {
  // The suite that runs this test says so in the environment.
  const env = Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith("VITEST")));
  return execFileSync("bash", ["-e", "-c", commands], { cwd: copy, encoding: "utf8", stdio: "pipe", env });
}
