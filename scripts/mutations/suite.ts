import { fork } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Report, SELECTION, type Selection } from "./selection.ts";
import type { Tree } from "./tree.ts";

/** A test of the suite, and how long it took in the tree as it is. */
export interface SuiteTest {
  readonly file: string;
  readonly name: string;
  readonly ms: number;
}

export interface Verdict {
  /** What was wrong first, and the file of the test that failed. */
  readonly killer?: string;
  readonly killerFile?: string;
  readonly reports: readonly Report[];
}

/** A run that says nothing for this long, and for ten times as long as its slowest test takes, hangs. */
const SILENCE_MS = 45_000;
const SLOWER = 10;

/** Runs the selected tests in a tree, up to the first failure if `bail`. */
export async function run(
  tree: Tree,
  selection: Selection,
  signal: AbortSignal,
  { bail, slowestMs, heard }: { readonly bail: boolean; readonly slowestMs: number; heard?(report: Report): void },
): Promise<Verdict> {
  signal.throwIfAborted();
  const list = join(tree.root, "selection.json");
  await writeFile(list, JSON.stringify(selection));
  const options = ["--config", "scripts/mutations/vitest.config.ts", ...(bail ? ["--bail", "1"] : [])];
  const files = selection.files.map(([file]) => file);
  const env = { ...process.env, [SELECTION]: list, REQUIRE_CHROMIUM: "1" };
  const child = fork("node_modules/vitest/vitest.mjs", ["run", ...options, ...files], {
    cwd: tree.root,
    env,
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    // A process group of its own, so that the runtimes that it starts end with it.
    detached: true,
  });
  const end = () => process.kill(-(child.pid as number), "SIGKILL");
  const patience = SILENCE_MS + SLOWER * slowestMs;
  let timer = setTimeout(end, patience);
  const reports: Report[] = [];
  child.on("message", (report: Report) => {
    reports.push(report);
    heard?.(report);
    clearTimeout(timer);
    timer = setTimeout(end, patience);
  });
  signal.addEventListener("abort", end);
  process.once("exit", end);
  const [code] = await once(child, "exit");
  clearTimeout(timer);
  signal.removeEventListener("abort", end);
  process.off("exit", end);
  signal.throwIfAborted();
  const failed = reports.find((report) => report.failed);
  if (failed) return { killer: `${failed.file}: ${failed.name}`, killerFile: failed.file, reports };
  if (code === null) return { killer: "a run that hangs", reports };
  if (code !== 0) return { killer: "an error outside any test", reports };
  return { reports };
}
