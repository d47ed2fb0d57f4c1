import { type ChildProcessByStdio, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Missing, Variant } from "./variant.ts";

// Peers that run as separate programs. A peer starts once per workload, reads its inputs from one file and writes its answer to
// another. It times itself on request and waits between measurements.

export interface ProgramInputs {
  readonly workload: string;
  /** Whole-number parameters, such as sizes. */
  readonly numbers: readonly number[];
  readonly arrays: readonly Float64Array[];
}

const execute = promisify(execFile);
const folder = (name: string): string => fileURLToPath(new URL(`peers/${name}`, import.meta.url));

/** Starts the peers in C and in Python. A peer that cannot run here is returned with the reason. */
export async function programs(
  inputs: ProgramInputs,
  names: readonly ("c" | "numpy")[] = ["c", "numpy"],
): Promise<Record<string, Variant | Missing>> {
  const started: Record<string, Variant | Missing> = {};
  try {
    for (const name of names) started[name] = await (name === "c" ? startC(inputs) : startNumpy(inputs));
  } catch (error) {
    for (const variant of Object.values(started)) if ("run" in variant) await variant.close?.();
    throw error;
  }
  return started;
}

async function startC(inputs: ProgramInputs): Promise<Variant | Missing> {
  const executable = await compiled();
  return typeof executable === "string" ? start(executable, [], inputs) : executable;
}

async function startNumpy(inputs: ProgramInputs): Promise<Variant | Missing> {
  if (!(await numpyInstalled())) return { missing: "python3 with numpy and scipy is not installed" };
  return start("python3", ["-B", join(folder("numpy"), "peer.py")], inputs);
}

/** Compiles the program in C, once per process. The executable is deleted when the process ends. */
const compiled = remembered(async (): Promise<string | Missing> => {
  if (process.arch !== "x64") return { missing: `needs x86-64, this machine is ${process.arch}` };
  if (!(await succeeds("gcc", "--version"))) return { missing: "gcc is not installed" };
  const temporary = await temporaryFolder();
  process.on("exit", () => rmSync(temporary, { recursive: true, force: true }));
  const sources = (await readdir(folder("c"))).filter((name) => name.endsWith(".c")).map((name) => join(folder("c"), name));
  const executable = join(temporary, "peer");
  // x86-64-v2 has vectors as wide as WebAssembly's and no fused multiply-add.
  await execute("gcc", ["-std=c11", "-O3", "-march=x86-64-v2", ...sources, "-lm", "-o", executable]);
  return executable;
});

const numpyInstalled = remembered(() => succeeds("python3", "-c", "import numpy, scipy"));

function remembered<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

function succeeds(command: string, ...args: string[]): Promise<boolean> {
  return execute(command, args).then(
    () => true,
    () => false,
  );
}

const temporaryFolder = (): Promise<string> => mkdtemp(join(tmpdir(), "afterclick-bench-"));

/** Starts a program and reads its answer. */
async function start(command: string, args: readonly string[], inputs: ProgramInputs): Promise<Variant> {
  const temporary = await temporaryFolder();
  const [input, output] = [join(temporary, "inputs"), join(temporary, "answer")];
  await writeFile(
    input,
    Buffer.concat(inputs.arrays.map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength))),
  );
  const child = spawn(command, [...args, inputs.workload, input, output, ...inputs.numbers.map(String)], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, OPENBLAS_NUM_THREADS: "1" },
  });
  const ended = once(child, "exit");
  const next = reader(child);
  const close = async () => {
    child.stdin.end();
    await ended;
    await rm(temporary, { recursive: true });
  };
  try {
    if ((await next()) !== "ready") throw new Error(`expected "ready" from ${command} for ${inputs.workload}; look at its output above`);
    const answer = new Float64Array(new Uint8Array(await readFile(output)).buffer);
    return {
      answer,
      close,
      async run(times) {
        child.stdin.write(`${times}\n`);
        return Number(await next());
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Returns a function that reads the next line of the program's output. */
function reader({ stdout }: ChildProcessByStdio<Writable, Readable, null>): () => Promise<string> {
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  return async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error("A peer program ended before it answered. Look at its output above.");
    return value;
  };
}
