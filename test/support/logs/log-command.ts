import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import type { Answer } from "../calls.ts";
import { ran } from "../ran.ts";
import { textsOf } from "./log-lines.ts";

/** Calls a command with the file of a log: its head, then lines, which are numbered. For the tests of one file. */
export function commandOnLog(run: (args: readonly string[]) => Promise<void>, head: object) {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "log-command-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  /** Path of a file in the folder of the log, `log.jsonl`. */
  const fileOf = (name: string): string => join(folder, name);

  async function answered(lines: readonly object[], ...options: string[]): Promise<Answer> {
    const file = fileOf("log.jsonl");
    const numbered = lines.map((line, i) => ({ seq: i + 1, ...line }));
    await writeFile(
      file,
      textsOf([head, ...numbered])
        .map((text) => `${text}\n`)
        .join(""),
    );
    return ran(run, file, ...options);
  }

  /** The lines of a report that succeeded. */
  async function report(lines: readonly object[], ...options: string[]): Promise<string[]> {
    const { code, stdout, stderr } = await answered(lines, ...options);
    expect([code, stderr]).toEqual([0, ""]);
    return stdout.trimEnd().split("\n");
  }
  return { fileOf, answered, report };
}
