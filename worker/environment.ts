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

const DEFAULT_GRACE_MS = 300_000;

/** @throws {Problem} 500 naming the variable, if it is not a number of milliseconds. */
export function graceMs(env: Environment): number {
  const given = String(env.AFTERCLICK_GRACE_MS ?? DEFAULT_GRACE_MS);
  const value = Number(given);
  if (/^\d+$/.test(given) && Number.isSafeInteger(value)) return value;
  throw new Problem(
    500,
    `AFTERCLICK_GRACE_MS: expected a whole number of milliseconds such as ${DEFAULT_GRACE_MS}, got ${JSON.stringify(given)}`,
  );
}
