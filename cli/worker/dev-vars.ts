import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { parseEnv } from "node:util";

/** The file from which `wrangler dev` reads local secrets. */
export const DEV_VARS = ".dev.vars";

/** Reads the local secrets of the current directory. Empty if there is no file. */
export async function readDevVars(): Promise<Record<string, string>> {
  try {
    return parseEnv(await readFile(DEV_VARS, "utf8")) as Record<string, string>;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
}

/** Writes local secrets to a file that only its owner can read. */
export async function writeDevVars(vars: Readonly<Record<string, string>>, file = DEV_VARS): Promise<void> {
  // A value in JSON has double quotes of its own.
  const lines = Object.entries(vars).map(([name, value]) => (value.includes('"') ? `${name}='${value}'\n` : `${name}="${value}"\n`));
  await writeFile(file, lines.join(""), { mode: 0o600 });
}

/** Generates the five secrets that a worker needs. */
export function freshSecrets() {
  return {
    AFTERCLICK_SECRET_KEY: `sk_${randomBytes(24).toString("base64url")}`,
    AFTERCLICK_PUBLISHABLE_KEY: `pk_${randomBytes(24).toString("base64url")}`,
    AFTERCLICK_WEBHOOK_SECRET: `whsec_${randomBytes(32).toString("base64")}`,
    AFTERCLICK_TOKEN_KEY: randomBytes(32).toString("base64url"),
    AFTERCLICK_JOIN_KEY: randomBytes(32).toString("base64url"),
  };
}
