import { fork } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { exitCodeOf } from "./process-group.ts";
import { type Report, SELECTION, type Selection } from "./selection.ts";
import type { Tree } from "./tree.ts";

/** A test of the suite, with its duration on the plain code. */
export interface SuiteTest {
  readonly file: string;
  readonly name: string;
  readonly ms: number;
}

export interface Verdict {
  /** The first failure, and the file of the test that failed. */
  readonly killer?: string;
  readonly killerFile?: string;
  readonly reports: readonly Report[];
}

/** A run hangs if it reports no test for this long plus ten times the duration of its slowest test. */
const SILENCE_MS = 45_000;
const SLOWER = 10;

/** Runs the selected tests in a tree, up to the first failure if `bail`. */
export async function run(
  tree: Tree,
  selection: Selection,
  signal: AbortSignal,
  { bail, slowestMs, reported }: { readonly bail: boolean; readonly slowestMs: number; reported?(report: Report): void },
): Promise<Verdict> {
  signal.throwIfAborted();
  const list = join(tree.root, "selection.json");
  await writeFile(list, JSON.stringify(selection));
  const options = ["--config", "trials/mutations/vitest.config.ts", ...(bail ? ["--bail", "1"] : [])];
  const files = selection.files.map(([file]) => file);
  const env = { ...process.env, [SELECTION]: list, REQUIRE_CHROMIUM: "1" };
  const child = fork("node_modules/vitest/vitest.mjs", ["run", ...options, ...files], {
    cwd: tree.root,
    env,
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    // Leads its own process group, so that the runtimes it starts end with it.
    detached: true,
  });
  const reports: Report[] = [];
  child.on("message", (report: Report) => {
    reports.push(report);
    reported?.(report);
  });
  const code = await exitCodeOf(child, SILENCE_MS + SLOWER * slowestMs, signal);
  const failed = reports.find((report) => report.failed);
  if (failed) return { killer: `${failed.file}: ${failed.name}`, killerFile: failed.file, reports };
  if (code === null) return { killer: "a run that hangs", reports };
  if (code !== 0) return { killer: "an error outside any test", reports };
  return { reports };
}
