import { UsageError } from "../command/command.ts";
import { readDevVars } from "./dev-vars.ts";

/** The keys with which a command calls a worker, from the environment or from .dev.vars in the current folder. */
export async function callersKeys() {
  const stored = await readDevVars();
  /** The first value of a key that is no hash. The variable of a worker may hold several. */
  const find = (name: string): string | undefined =>
    (process.env[name]?.trim() || stored[name])?.split(/\s+/).find((value) => value && !value.startsWith("sha256:"));
  /** @throws {UsageError} if there is no such key. */
  const get = (name: string): string => {
    const key = find(name);
    if (key) return key;
    throw new UsageError(
      `${name}: expected a value that is no hash, in the environment or in .dev.vars, got none; "npm start" makes one for a local worker`,
    );
  };
  return {
    find,
    get,
    /** The webhook secret without the name of its sender. @throws {UsageError} */
    webhookSecret(): string {
      const secret = get("AFTERCLICK_WEBHOOK_SECRET").replace(/^[^=]*=(?=whsec_)/, "");
      if (/^whsec_[A-Za-z0-9+/]+=*$/.test(secret)) return secret;
      throw new UsageError('AFTERCLICK_WEBHOOK_SECRET: expected whsec_ and base64; "npm start" makes one for a local worker');
    },
  };
}
