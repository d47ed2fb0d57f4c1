// A copy of the project in which one mutant at a time is planted and built.

import { spawn } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import packaged from "../../tsconfig.types.json" with { type: "json" };
import type { Mutant } from "./mutant.ts";
import { exitCodeOf } from "./process-group.ts";

const LEFT_OUT = ["node_modules", ".git", ".wrangler", "results"];
/** Unused names are allowed, because many mutants leave some behind. */
const TYPES = ["--noEmit", "--noUnusedLocals", "false", "--noUnusedParameters", "false", "--allowUnreachableCode", "true"];
const CORE = "dist/core.wasm";
const LONGEST_STEP_MS = 300_000;
/** Whether the published bundles contain a file. Tests in browsers load those bundles. */
const isPackaged = (file: string): boolean => packaged.include.some((folder) => file.startsWith(`${folder}/`));
/** The TypeScript projects that check a file. */
function projectsOf(file: string): readonly string[] {
  if (isPackaged(file)) return ["tsconfig.types.json"];
  return file.startsWith("cli/") ? ["cli"] : ["worker", "pages"];
}

/** A copy of the project that may be changed and built. */
export class Tree {
  readonly root: string;
  readonly #signal: AbortSignal;

  private constructor(root: string, signal: AbortSignal) {
    this.root = root;
    this.#signal = signal;
  }

  /** Copies a project that is built. */
  static async copyOf(source: string, signal: AbortSignal): Promise<Tree> {
    const root = await mkdtemp(join(tmpdir(), "afterclick-mutations-"));
    await cp(source, root, { recursive: true, filter: (path) => !LEFT_OUT.includes(relative(source, path)) });
    await symlink(join(source, "node_modules"), join(root, "node_modules"));
    return new Tree(root, signal);
  }

  read(file: string): Promise<string> {
    return readFile(join(this.root, file), "utf8");
  }

  write(file: string, text: string): Promise<void> {
    return writeFile(join(this.root, file), text);
  }

  /** Plants a mutant, builds, runs `work`, restores the file and builds again. Returns `null` if the mutant does not compile. */
  async with<Result>(mutant: Mutant, work: () => Promise<Result>): Promise<Result | null> {
    const { file, start, end, replacement } = mutant;
    const text = await this.read(file);
    const core = await readFile(join(this.root, CORE));
    await this.write(file, text.slice(0, start) + replacement + text.slice(end));
    try {
      if (!(await this.#compiles(file))) return null;
      await this.build(file);
      return await work();
    } finally {
      await this.write(file, text);
      await writeFile(join(this.root, CORE), core);
      if (!this.#signal.aborted) await this.build(file);
    }
  }

  /** Builds everything that depends on `file`. */
  async build(file: string): Promise<void> {
    const page = /^(demo|pages)\//.test(file);
    if (isPackaged(file)) await this.#node(["scripts/build.ts"]);
    else if (file.startsWith("worker/")) await this.#node(["scripts/openapi.ts"]);
    if (page || file.startsWith("worker/")) await this.#node(["pages/build.ts"]);
    if (page) await this.#node(["pages/playground/build.ts"]);
  }

  /** Compiles AssemblyScript straight into the package, and checks the types of everything else. */
  async #compiles(file: string): Promise<boolean> {
    if (file.startsWith("assembly/")) return this.#node(["scripts/core.ts", "--out", CORE]);
    for (const project of projectsOf(file)) if (!(await this.#run("node_modules/.bin/tsc", ["-p", project, ...TYPES]))) return false;
    return true;
  }

  #node(args: readonly string[]): Promise<boolean> {
    return this.#run(process.execPath, args);
  }

  /** Whether the AssemblyScript unit tests pass. */
  passesCoreTests(): Promise<boolean> {
    const config = ["-c", "assembly/__tests__/as-pect.config.js", "-a", "assembly/__tests__/as-pect.asconfig.json"];
    return this.#run("node_modules/.bin/asp", [...config, "--summary", "--no-logo"]);
  }

  async #run(command: string, args: readonly string[]): Promise<boolean> {
    this.#signal.throwIfAborted();
    const child = spawn(command, args, { cwd: this.root, stdio: "ignore", detached: true });
    return (await exitCodeOf(child, LONGEST_STEP_MS, this.#signal)) === 0;
  }

  remove(): Promise<void> {
    return rm(this.root, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}
