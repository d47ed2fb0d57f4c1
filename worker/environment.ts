import { Problem } from "./protocol/problem.ts";
import type { LearnerRpc } from "./rpc/learner.ts";

/**
 * Bindings and variables of the worker. The five secrets have no default. Each may hold several values, separated by whitespace, so that a
 * new value works before the old one is removed.
 */
export interface Environment {
  readonly LEARNER: DurableObjectNamespace<LearnerRpc>;
  readonly EVENTS: KVNamespace;
  /** Limits each address with a publishable key, and senders of forged webhooks. Absent: no limit. */
  readonly RATE_LIMIT?: RateLimit;
  /** Limits a publishable key in all pages of an origin together. Absent: no limit. */
  readonly ORIGIN_RATE_LIMIT?: RateLimit;
  /** The files of the pages and the OpenAPI document, as static assets. Absent: the worker has neither. */
  readonly ASSETS?: Fetcher;
  /** Takes the log as Parquet before it is forgotten. Absent: no archive. */
  readonly ARCHIVE?: R2Bucket;
  /** Grants every route. A value may also be `sha256:` and the key's hash in hex. */
  readonly AFTERCLICK_SECRET_KEY?: string;
  /** For web pages: grants recommendations and the routes of `local` models. Values may be hashed too. */
  readonly AFTERCLICK_PUBLISHABLE_KEY?: string;
  /** `whsec_` and base64, as in Standard Webhooks. `sender=` before it names its sender. */
  readonly AFTERCLICK_WEBHOOK_SECRET?: string;
  /** Signs impression tokens with the first value. Tokens signed with the others stay valid. */
  readonly AFTERCLICK_TOKEN_KEY?: string;
  /** Hashes join keys with the first value. Keys hashed with the others are still found. */
  readonly AFTERCLICK_JOIN_KEY?: string;
  /** Secrets of Stripe's webhook endpoints, `whsec_...`. Absent: `POST /v1/hooks/stripe` is off. */
  readonly AFTERCLICK_STRIPE_SECRET?: string;
  /** Secrets that sign Shopify's webhooks. Absent: `POST /v1/hooks/shopify` is off. */
  readonly AFTERCLICK_SHOPIFY_SECRET?: string;
  /** Further senders of orders, as JSON: their secrets, and the paths of fields in their payloads. */
  readonly AFTERCLICK_SENDERS?: string;
  /** Origins whose pages may use a publishable key, such as https://shop.example; `*` for any. The worker's own is always allowed. */
  readonly AFTERCLICK_ALLOWED_ORIGINS?: string;
  /** "true" serves the demonstration shop. For local use only. */
  readonly AFTERCLICK_DEMO?: string;
  /** Grace: time after the window in which a conversion may still be delivered, in ms. Default: 300,000. */
  readonly AFTERCLICK_GRACE_MS?: string;
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

/**
 * The refusal of a malformed variable. Strangers read the answer, and a variable may hold a secret in a wrong place, so only the log says
 * where the fault is. Neither repeats a value.
 */
export function malformed(name: string, expected: string, place?: string): Problem {
  if (place === undefined) return new Problem(500, `${name}: expected ${expected}`);
  console.error(`${name}: ${place}`);
  return new Problem(500, `${name}: expected ${expected}; the worker's log names the place`);
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
  throw malformed("AFTERCLICK_GRACE_MS", `a whole number of milliseconds, such as ${DEFAULT_GRACE_MS}`);
}

/** @throws {Problem} 500 naming the variable, if it is neither true nor false. */
export function isDemo(env: Environment): boolean {
  const text = textOf(env.AFTERCLICK_DEMO);
  if (!["", "true", "false"].includes(text)) throw malformed("AFTERCLICK_DEMO", "true or false");
  return text === "true";
}

/** Origins whose pages may use a publishable key, as they are listed. */
export const allowedOrigins = (env: Environment): string => textOf(env.AFTERCLICK_ALLOWED_ORIGINS);
