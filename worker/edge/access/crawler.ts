import type { Context } from "hono";
import { isbot } from "isbot";
import { isByPage, type Keyed } from "./api-keys.ts";
import { isLocal } from "./origin.ts";

/**
 * Whether a visitor is a crawler or a link preview. A browser states its own user agent and an origin with it. All others call for a
 * visitor, and their own user agent says nothing about that one. On the developer's own machine a headless browser is a visitor, so that
 * tests of a page learn.
 *
 * @param stated the visitor's user agent, as the caller passes it on.
 */
export function isCrawler(c: Context<Keyed>, stated?: string): boolean {
  const isBrowser = isByPage(c) && c.req.header("origin") !== undefined;
  const userAgent = stated ?? (isBrowser ? c.req.header("user-agent") : undefined);
  return isbot(userAgent) && !(isLocal(c.req) && /\bHeadless/.test(userAgent ?? ""));
}
