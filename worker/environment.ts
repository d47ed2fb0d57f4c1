import type { Learner } from "./learner.ts";
import { Problem } from "./problem.ts";

/** Bindings and variables; the four secrets have no default. */
export interface Environment {
  readonly LEARNER: DurableObjectNamespace<Learner>;
  readonly EVENTS: KVNamespace;
  /** May do everything. */
  readonly AFTERCLICK_SECRET_KEY?: string;
  /** May ask for recommendations only; it stands in web pages. */
  readonly AFTERCLICK_PUBLISHABLE_KEY?: string;
  /** `whsec_` and base64, as in Standard Webhooks. */
  readonly AFTERCLICK_WEBHOOK_SECRET?: string;
  /** Signs impression ids. */
  readonly AFTERCLICK_TOKEN_KEY?: string;
  /** "true" serves the demonstration shop and what it needs; only locally. */
  readonly AFTERCLICK_DEMO?: string;
  /** How long after its window a conversion may still be delivered, in ms; default five minutes. */
  readonly AFTERCLICK_GRACE_MS?: string;
}

export type SecretName = "AFTERCLICK_SECRET_KEY" | "AFTERCLICK_PUBLISHABLE_KEY" | "AFTERCLICK_WEBHOOK_SECRET" | "AFTERCLICK_TOKEN_KEY";

/** @throws {Problem} 500 naming the secret, if it is not set. */
export function secret(env: Environment, name: SecretName): string {
  const value = env[name];
  if (!value) throw new Problem(500, `${name} is not set: put it into .dev.vars, or deploy it with wrangler secret put ${name}`);
  return value;
}

const DEFAULT_GRACE_MS = 300_000;

/** @throws {Problem} 500 naming the variable, if it is not a number of milliseconds. */
export function graceMs(env: Environment): number {
  const value = Number(env.AFTERCLICK_GRACE_MS ?? DEFAULT_GRACE_MS);
  if (!Number.isSafeInteger(value) || value < 0) throw new Problem(500, "AFTERCLICK_GRACE_MS is not a whole number of milliseconds");
  return value;
}
