// A build of another commit, in a git worktree that is deleted when this process ends.
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { readFile, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { UsageError } from "../../cli/command/command.ts";
import type { Missing } from "../variant.ts";

const execute = promisify(execFile);

/** A built commit. */
export interface Build {
  readonly commit: string;
  /** Folder of its package. */
  readonly root: string;
}

/** Full name of the commit that a revision names. @throws {UsageError} if it names none. */
export async function commitOf(revision: string): Promise<string> {
  try {
    return (await execute("git", ["rev-parse", "--verify", "--quiet", "--end-of-options", `${revision}^{commit}`])).stdout.trim();
  } catch {
    throw new UsageError(`--against: expected a revision of this repository, got ${revision}`);
  }
}

/** Builds a commit. If that fails, returns the reason. */
export async function buildOf(commit: string): Promise<Build | Missing> {
  const root = join(mkdtempSync(join(tmpdir(), "afterclick-before-")), "afterclick");
  removeAtEnd(root);
  try {
    await execute("git", ["worktree", "add", "--detach", root, commit]);
    await installIn(root);
    await execute("npm", ["run", "build"], { cwd: root, maxBuffer: 2 ** 26 });
    return { commit, root };
  } catch (error) {
    return { missing: `${commit.slice(0, 7)} cannot be built: ${lastLine(error)}` };
  }
}

/** Links the packages of this worktree if the lock files are equal. Otherwise installs them. */
async function installIn(root: string): Promise<void> {
  const [own, other] = await Promise.all([".", root].map((folder) => readFile(join(folder, "package-lock.json"), "utf8")));
  if (own === other) await symlink(join(process.cwd(), "node_modules"), join(root, "node_modules"));
  else await execute("npm", ["ci", "--no-audit", "--no-fund"], { cwd: root, maxBuffer: 2 ** 26 });
}

/** Deletes the worktree when this process ends, also by an interruption. */
function removeAtEnd(root: string): void {
  process.once("exit", () => {
    rmSync(join(root, ".."), { recursive: true, force: true });
    execFileSync("git", ["worktree", "prune"], { stdio: "ignore" });
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));
}

function lastLine(error: unknown): string {
  const { stderr, message } = error as Error & { stderr?: string };
  return (stderr || message).trim().split("\n").at(-1) as string;
}
