import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type { Environment } from "../environment.ts";
import { Problem } from "../protocol/problem.ts";
import { isByPage, type Keyed } from "./api-keys.ts";
import { namedOrigin } from "./origin.ts";

/** The shorter of the two possible periods of a limit, in seconds. The binding does not state its period. */
const PERIOD_S = 10;

/** Addresses whose last webhook was forged. An isolate remembers this many. */
const MOST_FORGERS = 1000;
const forgers = new Set<string>();

/**
 * Limits the requests of a publishable key by address, and by key and origin, whichever model they name. Follows `anyKey` or
 * `keyInBody`. Requests without an allowed origin may come from anybody, so they are counted apart. The limits are approximate and apply
 * per location. If a limiter fails, the request passes.
 *
 * @throws {Problem} 429.
 */
export const rateLimit = createMiddleware<Keyed>(async (c, next) => {
  if (isByPage(c)) await countPage(c);
  await next();
});

/** Counts a request of a page. @throws {Problem} 429, see `rateLimit`. */
export async function countPage(c: Context<Keyed>): Promise<void> {
  const { RATE_LIMIT, ORIGIN_RATE_LIMIT } = c.env;
  if (RATE_LIMIT) await countAddress(c);
  if (!ORIGIN_RATE_LIMIT) return;
  const page = `${namedOrigin(c.req, c.env) ?? "any origin"} ${c.get("key")}`;
  if (await isOver(ORIGIN_RATE_LIMIT, page)) throw tooMany("with this key from this origin");
}

/**
 * Limits webhooks from an address whose last webhook was forged, before their bodies are read. A sender whose webhooks verify is
 * never limited.
 *
 * @throws {Problem} 429.
 */
export const forgeryLimit = createMiddleware<{ Bindings: Environment }>(async (c, next) => {
  const address = addressOf(c);
  if (address === undefined) return next();
  if (forgers.has(address)) await countAddress(c);
  await next();
  forgers.delete(address);
  if (c.res.status !== 401) return;
  if (forgers.size === MOST_FORGERS) forgers.clear();
  forgers.add(address);
});

// Without an address all callers would share one limit.
const addressOf = (c: Pick<Context, "req">): string | undefined => c.req.header("cf-connecting-ip");

/** @throws {Problem} 429 if the address is over its limit. */
async function countAddress(c: Pick<Context<{ Bindings: Environment }>, "env" | "req">): Promise<void> {
  const address = addressOf(c);
  if (!c.env.RATE_LIMIT || address === undefined) return;
  if (await isOver(c.env.RATE_LIMIT, address)) throw tooMany("from this address");
}

const tooMany = (which: string): Problem => new Problem(429, `too many requests ${which}`, undefined, PERIOD_S);

async function isOver(limiter: RateLimit, address: string): Promise<boolean> {
  try {
    const { success } = await limiter.limit({ key: address });
    return !success;
  } catch (error) {
    console.error("rate limit", error instanceof Error ? error.name : typeof error);
    return false;
  }
}
