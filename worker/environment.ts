import { Problem } from "./protocol/problem.ts";
import type { LearnerRpc } from "./rpc/learner.ts";

/**
 * Bindings and variables. The four secrets have no default; each may hold several values, separated by whitespace, so that
 * a new one can come into use before the old one goes.
 */
export interface Environment {
  readonly LEARNER: DurableObjectNamespace<LearnerRpc>;
  readonly EVENTS: KVNamespace;
  /** Damps callers with a publishable key; where it is absent, nobody is damped. */
  readonly RATE_LIMIT?: RateLimit;
  /** May do everything. A value may also be `sha256:` and the key's hash in hex. */
  readonly AFTERCLICK_SECRET_KEY?: string;
  /** May ask for recommendations only; it stands in web pages. Hashed values as above. */
  readonly AFTERCLICK_PUBLISHABLE_KEY?: string;
  /** `whsec_` and base64, as in Standard Webhooks. After `sender=`, it is that sender's. */
  readonly AFTERCLICK_WEBHOOK_SECRET?: string;
  /** Signs impression ids: the first value; ids signed with the others stay valid. */
  readonly AFTERCLICK_TOKEN_KEY?: string;
  /** Origins, such as https://shop.example, whose pages may use a publishable key; the worker's own need not be named. `*`: any. */
  readonly AFTERCLICK_ALLOWED_ORIGINS?: string;
  /** "true" serves the demonstration shop and what it needs; only locally. */
  readonly AFTERCLICK_DEMO?: string;
  /** How long after its window a conversion may still be delivered, in ms; default five minutes. */
  readonly AFTERCLICK_GRACE_MS?: string;
}

export type SecretName = "AFTERCLICK_SECRET_KEY" | "AFTERCLICK_PUBLISHABLE_KEY" | "AFTERCLICK_WEBHOOK_SECRET" | "AFTERCLICK_TOKEN_KEY";

/** All values of a secret, as one text. @throws {Problem} 500 naming the secret, if it is not set. */
export function secret(env: Environment, name: SecretName): string {
  const value = env[name];
  if (!value?.trim()) throw new Problem(500, `${name} is not set: put it into .dev.vars, or deploy it with wrangler secret put ${name}`);
  return value;
}

const DEFAULT_GRACE_MS = 300_000;

/** @throws {Problem} 500 naming the variable, if it is not a number of milliseconds. */
export function graceMs(env: Environment): number {
  const value = Number(env.AFTERCLICK_GRACE_MS ?? DEFAULT_GRACE_MS);
  if (!Number.isSafeInteger(value) || value < 0) throw new Problem(500, "AFTERCLICK_GRACE_MS is not a whole number of milliseconds");
  return value;
}
