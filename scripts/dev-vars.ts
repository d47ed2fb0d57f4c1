import { readFile, writeFile } from "node:fs/promises";
import { parseEnv } from "node:util";

/** Where `wrangler dev` looks for local secrets. */
export const DEV_VARS = ".dev.vars";

/** Local secrets of the current directory; none when there is no file. */
export async function readDevVars(): Promise<Record<string, string>> {
  try {
    return parseEnv(await readFile(DEV_VARS, "utf8")) as Record<string, string>;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
}

/** Writes local secrets, readable by their owner alone. */
export async function writeDevVars(vars: Record<string, string>): Promise<void> {
  const lines = Object.entries(vars).map(([name, value]) => `${name}="${value}"\n`);
  await writeFile(DEV_VARS, lines.join(""), { mode: 0o600 });
}
