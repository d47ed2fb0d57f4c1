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
  /** Secrets of WooCommerce's webhooks. Absent: `POST /v1/hooks/woocommerce` is off. */
  readonly AFTERCLICK_WOOCOMMERCE_SECRET?: string;
  /** Further senders of orders, as JSON: their secrets, and the paths of fields in their payloads. */
  readonly AFTERCLICK_SENDERS?: string;
  /** Amounts of orders with taxes (`gross`) or without them (`net`, the default). */
  readonly AFTERCLICK_AMOUNTS?: string;
  /** "true" counts orders of a sender's test mode. */
  readonly AFTERCLICK_TEST_ORDERS?: string;
  /** Origins whose pages may use a publishable key, such as https://shop.example; `*` for any. The worker's own is always allowed. */
  readonly AFTERCLICK_ALLOWED_ORIGINS?: string;
  /** "true" serves the demonstration shop. For local use only. */
  readonly AFTERCLICK_DEMO?: string;
  /** Grace: time after the window in which a conversion may still be delivered, in ms. Default: as long as the senders in use repeat messages. */
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

/** The least default grace. Webhooks that a backend sends itself come at once. */
const DEFAULT_GRACE_MS = 300_000;
const HOUR_MS = 3_600_000;
/** How long a sender repeats a message that was not taken, in ms. WooCommerce repeats none, but may send a message hours later. */
const REPEATS_MS = { stripe: 72 * HOUR_MS, shopify: 48 * HOUR_MS, woocommerce: 24 * HOUR_MS } as const;

/** How long each sender in use may repeat a message, in ms. Senders of the configuration may do as the slowest one does. */
export function horizons(env: Environment): Readonly<Record<string, number>> {
  const secrets = {
    ...{ stripe: env.AFTERCLICK_STRIPE_SECRET, shopify: env.AFTERCLICK_SHOPIFY_SECRET, woocommerce: env.AFTERCLICK_WOOCOMMERCE_SECRET },
  };
  const native = Object.entries(REPEATS_MS).filter(([name]) => secrets[name as keyof typeof secrets]?.trim());
  return Object.fromEntries([...native, ...(env.AFTERCLICK_SENDERS?.trim() ? [["AFTERCLICK_SENDERS", REPEATS_MS.stripe] as const] : [])]);
}

/** The text of a variable, which a configuration may also state as a number or as true. */
const textOf = (value: unknown): string => String(value ?? "").trim();

/** @throws {Problem} 500 naming the variable, if it is not a number of milliseconds. */
export function graceMs(env: Environment): number {
  const text = textOf(env.AFTERCLICK_GRACE_MS);
  const value = text === "" ? Math.max(DEFAULT_GRACE_MS, ...Object.values(horizons(env))) : Number(text);
  if (/^\d*$/.test(text) && Number.isSafeInteger(value)) return value;
  throw malformed("AFTERCLICK_GRACE_MS", `a whole number of milliseconds, such as ${DEFAULT_GRACE_MS}`);
}

export const isDemo = (env: Environment): boolean => isOneOf(env, "AFTERCLICK_DEMO", ["true", "false"]);

/** Whether orders of a sender's test mode count. */
export const countsTests = (env: Environment): boolean => isOneOf(env, "AFTERCLICK_TEST_ORDERS", ["true", "false"]);

/** Whether amounts of orders include taxes. */
export const isGross = (env: Environment): boolean => isOneOf(env, "AFTERCLICK_AMOUNTS", ["gross", "net"]);

/** Whether a variable has the first of two values. The second is the default. @throws {Problem} 500 naming it, if it has another. */
function isOneOf(
  env: Environment,
  name: "AFTERCLICK_DEMO" | "AFTERCLICK_TEST_ORDERS" | "AFTERCLICK_AMOUNTS",
  values: [string, string],
): boolean {
  const text = textOf(env[name]);
  if (text !== "" && !values.includes(text)) throw malformed(name, values.join(" or "));
  return text === values[0];
}

/** Origins whose pages may use a publishable key, as they are listed. */
export const allowedOrigins = (env: Environment): string => textOf(env.AFTERCLICK_ALLOWED_ORIGINS);
