// Whether somebody sees what a request asks for: its visitor may be a crawler, or may never open the page.

import type { Context } from "hono";
import { isbot } from "isbot";
import { isByPage, type Keyed } from "./api-keys.ts";
import { isLocal } from "./origin.ts";

/** What browsers send with requests for a page that its visitor may never open. A backend passes them on. */
const AHEAD = ["sec-purpose", "purpose", "x-purpose", "x-moz"] as const;

/** What tests of a page run in: on the developer's own machine they are visitors. */
const TESTING = /\bHeadless|^(node|undici|curl)\b/;

/**
 * Whether a visitor is a crawler or a link preview. A browser states its own user agent and an origin with it. All others call for a
 * visitor, and their own user agent says nothing about that one.
 *
 * @param stated the visitor's user agent, as the caller passes it on.
 */
export function isCrawler(c: Context<Keyed>, stated?: string): boolean {
  const isBrowser = isByPage(c) && c.req.header("origin") !== undefined;
  const userAgent = stated ?? (isBrowser ? c.req.header("user-agent") : undefined);
  return isbot(userAgent) && !(isLocal(c.req) && TESTING.test(userAgent ?? ""));
}

/** Whether a browser prefetches or prerenders. */
export function isFetchedAhead({ req }: Pick<Context, "req">): boolean {
  return AHEAD.some((name) => /prefetch|prerender|preview/i.test(req.header(name) ?? ""));
}
