// Limits callers without a secret, before their bodies cost anything.

import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { LatestSet } from "../../domain/ids/latest-set.ts";
import type { Environment } from "../../environment.ts";
import { Problem } from "../../protocol/problem.ts";
import { isByPage, type Keyed } from "./api-keys.ts";
import { askerOf } from "./asker.ts";
import { namedOrigin } from "./origin.ts";

/** The shorter of the two possible periods of a limit, in seconds. The binding does not state its period. */
const PERIOD_S = 10;

/** Addresses that have sent a forged webhook and no verified one since. An isolate remembers the latest. */
const forgers = new LatestSet<string>(1000);

/** Context of a route for webhooks. The route sets `verified` once the signature is right. */
export interface Signed {
  readonly Bindings: Environment;
  readonly Variables: { verified?: true };
}

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
  if (RATE_LIMIT) await countAsker(c);
  if (!ORIGIN_RATE_LIMIT) return;
  const page = `${namedOrigin(c.req, c.env) ?? "any origin"} ${c.get("key")}`;
  if (await isOver(ORIGIN_RATE_LIMIT, page)) throw tooMany("with this key from this origin");
}

/**
 * Limits webhooks from an address that has sent a forged one, before their bodies are read. Only a verified webhook ends that, so a
 * sender whose webhooks verify is never limited.
 *
 * @throws {Problem} 429.
 */
export const forgeryLimit = createMiddleware<Signed>(async (c, next) => {
  // Without an address all callers would share one limit.
  const asker = askerOf(c);
  if (asker === undefined) return next();
  if (forgers.has(asker)) await countAsker(c);
  await next();
  const isForged = c.res.status === 401 && !c.get("verified");
  if (isForged || c.get("verified")) forgers.delete(asker);
  if (isForged) forgers.add(asker);
});

/** @throws {Problem} 429 if the address, or the network of an IPv6 address, is over its limit. */
async function countAsker(c: Pick<Context<{ Bindings: Environment }>, "env" | "req">): Promise<void> {
  const asker = askerOf(c);
  if (!c.env.RATE_LIMIT || asker === undefined) return;
  if (await isOver(c.env.RATE_LIMIT, asker)) throw tooMany("from this address");
}

const tooMany = (which: string): Problem => new Problem(429, `too many requests ${which}`, undefined, PERIOD_S);

async function isOver(limiter: RateLimit, key: string): Promise<boolean> {
  try {
    const { success } = await limiter.limit({ key });
    return !success;
  } catch (error) {
    console.error("rate limit", error instanceof Error ? error.name : typeof error);
    return false;
  }
}
