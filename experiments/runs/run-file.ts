import { createHash } from "node:crypto";
import { appendFile, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Curve, Task } from "./experiment.ts";

/** What names a run, beside the code that played it. */
export interface RunName extends Omit<Task, "files"> {
  readonly paper: string;
  readonly experiment: string;
}

const keyOf = ({ paper, experiment, setting, algorithm, run }: RunName): string =>
  JSON.stringify([paper, experiment, setting, algorithm, run]);

/** Names of the code that plays a paper's runs, by paper. See `fingerprint`. */
type Codes = Readonly<Record<string, string>>;

/** A line of the file. */
type Line = RunName & { readonly code: string; readonly curves: readonly Curve[] };

/**
 * Runs on disk, one a line. A command that was stopped goes on with them when it is started again.
 *
 * A run belongs to the code that played it. Lines of other code stay in the file, but are not used.
 */
export class RunFile {
  readonly #path: string;
  readonly #codes: Codes;
  readonly #curves: Map<string, readonly Curve[]>;

  private constructor(path: string, codes: Codes, curves: Map<string, readonly Curve[]>) {
    this.#path = path;
    this.#codes = codes;
    this.#curves = curves;
  }

  /** A file that does not exist has no runs. */
  static async open(path: string, codes: Codes): Promise<RunFile> {
    const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return "";
      throw error;
    });
    const curves = new Map<string, readonly Curve[]>();
    for (const line of text.split("\n")) {
      const read = parsed(line);
      if (read && read.code === codes[read.paper]) curves.set(keyOf(read), read.curves);
    }
    // A command that is stopped while it writes leaves half a line.
    if (text !== "" && !text.endsWith("\n")) await appendFile(path, "\n");
    return new RunFile(path, codes, curves);
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
    const line: Line = { code: this.#codes[paper], paper, experiment, setting, algorithm, run, curves: plain };
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

/** Names the code of a paper's experiments: a hash of all that its module imports, and of the built package. Comments do not count. */
export async function fingerprint(paper: string): Promise<string> {
  const entry = fileURLToPath(new URL(`../${paper}.ts`, import.meta.url).href);
  const { outputFiles } = await build({
    ...{ entryPoints: [entry], bundle: true, write: false, minifySyntax: true, logLevel: "silent" },
    ...({ format: "esm", platform: "node", packages: "external", loader: { ".wasm": "binary" } } as const),
  });
  const hash = createHash("sha256").update(outputFiles[0].contents);
  hash.update(await readFile(fileURLToPath(import.meta.resolve("afterclick"))));
  return hash.digest("hex").slice(0, 16);
}
