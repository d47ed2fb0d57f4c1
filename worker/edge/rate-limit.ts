import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { Problem } from "../protocol/problem.ts";
import type { Keyed } from "./api-keys.ts";

/** The shorter of the two possible periods of a limit, in seconds. The binding does not state its period. */
const PERIOD_S = 10;

/**
 * Limits the requests of a publishable key by address and model. Follows `apiKeys` on a route with `:model`. The limit is approximate
 * and applies per location. If the limiter fails, the request passes.
 *
 * @throws {Problem} 429.
 */
export const rateLimit = createMiddleware<Keyed>(async (c, next) => {
  if (c.get("keyName") === "AFTERCLICK_PUBLISHABLE_KEY" && (await isOver(c))) {
    throw new Problem(429, "too many requests from this address for this model", undefined, PERIOD_S);
  }
  await next();
});

async function isOver(c: Context<Keyed>): Promise<boolean> {
  const limiter = c.env.RATE_LIMIT;
  if (!limiter) return false;
  const address = c.req.header("cf-connecting-ip");
  // Without an address all callers would share one limit.
  if (address === undefined) return false;
  try {
    const { success } = await limiter.limit({ key: `${address} ${c.req.param("model")}` });
    return !success;
  } catch (error) {
    console.error("rate limit", error instanceof Error ? error.name : typeof error);
    return false;
  }
}
