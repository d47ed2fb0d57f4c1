import type { Learner } from "./learner/learner.ts";
import { Problem } from "./protocol/problem.ts";

/**
 * Bindings and variables. The four secrets have no default; each may hold several values, separated by whitespace, so that
 * a new one can come into use before the old one goes.
 */
export interface Environment {
  readonly LEARNER: DurableObjectNamespace<Learner>;
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

/** Values of a variable that may hold several. */
export function valuesOf(text: string): string[] {
  return text.split(/\s+/).filter(Boolean);
}

/** More than a worker is configured with at any time. */
const MOST_TEXTS = 16;

/**
 * Remembers what `make` gave for a text: importing a key or hashing it costs more than all the rest of a request may.
 * What is kept are results, never promises, which belong to the request that made them. When it is full it starts again.
 */
export function remembered<T>(make: (text: string) => T, most = MOST_TEXTS): (text: string) => T | Awaited<T> {
  const made = new Map<string, Awaited<T>>();
  const keep = (text: string, value: Awaited<T>): Awaited<T> => {
    if (made.size >= most) made.clear();
    made.set(text, value);
    return value;
  };
  return (text) => {
    const known = made.get(text);
    if (known !== undefined) return known;
    const value = make(text);
    return value instanceof Promise ? (value.then((result) => keep(text, result)) as T) : keep(text, value as Awaited<T>);
  };
}

const DEFAULT_GRACE_MS = 300_000;

/** @throws {Problem} 500 naming the variable, if it is not a number of milliseconds. */
export function graceMs(env: Environment): number {
  const value = Number(env.AFTERCLICK_GRACE_MS ?? DEFAULT_GRACE_MS);
  if (!Number.isSafeInteger(value) || value < 0) throw new Problem(500, "AFTERCLICK_GRACE_MS is not a whole number of milliseconds");
  return value;
}
