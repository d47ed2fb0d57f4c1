import { createHash } from "node:crypto";
import { appendFile, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Curve, Task } from "./experiment.ts";

/** What names a run, beside the code that played it. */
export interface RunName extends Omit<Task, "files"> {
  readonly paper: string;
  readonly experiment: string;
}

const keyOf = ({ paper, experiment, setting, algorithm, run }: RunName): string =>
  JSON.stringify([paper, experiment, setting, algorithm, run]);

/** A line of the file. */
type Line = RunName & { readonly code: string; readonly curves: readonly Curve[] };

/**
 * Runs on disk, one a line. A command that was stopped goes on with them when it is started again.
 *
 * A run belongs to the code that played it. Lines of other code stay in the file, but are not used.
 */
export class RunFile {
  readonly #path: string;
  readonly #code: string;
  readonly #curves: Map<string, readonly Curve[]>;

  private constructor(path: string, code: string, curves: Map<string, readonly Curve[]>) {
    this.#path = path;
    this.#code = code;
    this.#curves = curves;
  }

  /** `code`: names the code that plays, see `fingerprint`. A file that does not exist has no runs. */
  static async open(path: string, code: string): Promise<RunFile> {
    const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return "";
      throw error;
    });
    const curves = new Map<string, readonly Curve[]>();
    for (const line of text.split("\n")) {
      const read = parsed(line);
      if (read?.code === code) curves.set(keyOf(read), read.curves);
    }
    // A command that is stopped while it writes leaves half a line.
    if (text !== "" && !text.endsWith("\n")) await appendFile(path, "\n");
    return new RunFile(path, code, curves);
  }

  /** Number of runs of this code. */
  get size(): number {
    return this.#curves.size;
  }

  find(name: RunName): readonly Curve[] | undefined {
    return this.#curves.get(keyOf(name));
  }

  async add(name: RunName, curves: readonly Curve[]): Promise<void> {
    const plain = curves.map(({ metric, at, values }) => ({ metric, at: Array.from(at), values: Array.from(values) }));
    const { paper, experiment, setting, algorithm, run } = name;
    const line: Line = { code: this.#code, paper, experiment, setting, algorithm, run, curves: plain };
    await appendFile(this.#path, `${JSON.stringify(line)}\n`);
    this.#curves.set(keyOf(name), plain);
  }
}

function parsed(line: string): Line | undefined {
  try {
    return JSON.parse(line) as Line;
  } catch {
    return undefined;
  }
}

/** A name of the contents of files and folders: the start of their SHA-256. */
export async function fingerprint(paths: readonly string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const path of paths) {
    for (const file of await filesOf(path)) hash.update(await readFile(file));
  }
  return hash.digest("hex").slice(0, 16);
}

/** The code below a path, in a fixed order. */
async function filesOf(path: string): Promise<string[]> {
  if (/\.\w+$/.test(path)) return [path];
  const entries = await readdir(path, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
