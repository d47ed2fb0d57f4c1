import { Problem } from "./protocol/problem.ts";
import type { LearnerRpc } from "./rpc/learner.ts";
import type { Settings } from "./settings.ts";

/** Bindings and variables of the worker. */
export interface Environment extends Settings {
  readonly LEARNER: DurableObjectNamespace<LearnerRpc>;
}

export type SecretName =
  | "AFTERCLICK_SECRET_KEY"
  | "AFTERCLICK_PUBLISHABLE_KEY"
  | "AFTERCLICK_WEBHOOK_SECRET"
  | "AFTERCLICK_TOKEN_KEY"
  | "AFTERCLICK_JOIN_KEY";

/** All values of a secret as one text. @throws {Problem} 500 naming the secret, if it is not set. */
export function secret(env: Environment, name: SecretName): string {
  const value = env[name];
  if (!value?.trim()) throw new Problem(500, `${name} is not set: put it into .dev.vars, or deploy it with wrangler secret put ${name}`);
  return value;
}

/** @throws {Problem} 404 if the worker has no static files. */
export function assets({ ASSETS }: Environment): Fetcher {
  if (ASSETS) return ASSETS;
  throw new Problem(404, "this worker has no pages: copy the block assets of afterclick's wrangler.jsonc to its configuration");
}

const DEFAULT_GRACE_MS = 300_000;

/** The text of a variable, which a configuration may also state as a number or as true. */
const textOf = (value: unknown): string => String(value ?? "").trim();

/** @throws {Problem} 500 naming the variable, if it is not a number of milliseconds. */
export function graceMs(env: Environment): number {
  const text = textOf(env.AFTERCLICK_GRACE_MS);
  const value = text === "" ? DEFAULT_GRACE_MS : Number(text);
  if (/^\d*$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new Problem(500, `AFTERCLICK_GRACE_MS: expected a whole number of milliseconds, such as ${DEFAULT_GRACE_MS}, got ${text}`);
}

/** @throws {Problem} 500 naming the variable, if it is neither true nor false. */
export function isDemo(env: Environment): boolean {
  const text = textOf(env.AFTERCLICK_DEMO);
  if (!["", "true", "false"].includes(text)) throw new Problem(500, `AFTERCLICK_DEMO: expected true or false, got ${text}`);
  return text === "true";
}

/** Origins whose pages may use a publishable key, as they are listed. */
export const allowedOrigins = (env: Environment): string => textOf(env.AFTERCLICK_ALLOWED_ORIGINS);
