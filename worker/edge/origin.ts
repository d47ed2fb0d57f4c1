import type { HonoRequest } from "hono";
import { cors } from "hono/cors";
import { createMiddleware } from "hono/factory";
import { remembered, valuesOf } from "../domain/secret.ts";
import type { Environment } from "../environment.ts";
import { Problem } from "../protocol/problem.ts";

/** Chromium keeps the answer to a preflight no longer than this, in seconds. */
const PREFLIGHT_S = 7200;

const originsOf = remembered((text: string): ReadonlySet<string> => {
  const origins = new Set(valuesOf(text));
  if (origins.size === 1 && origins.has("*")) return origins;
  for (const origin of origins) {
    // As browsers write it: lower case, no path, no default port; a star inside would stand for nothing.
    if (/^https?:[^*]+$/.test(origin) && URL.parse(origin)?.origin === origin) continue;
    throw new Problem(500, "AFTERCLICK_ALLOWED_ORIGINS: expected origins such as https://shop.example, or * alone");
  }
  return origins;
});

function isListed(origin: string | undefined, env: Environment): boolean {
  const origins = originsOf(env.AFTERCLICK_ALLOWED_ORIGINS ?? "");
  return origin !== undefined && (origins.has(origin) || origins.has("*"));
}

/**
 * Whether the request comes from where a publishable key may be used: a listed origin, the worker's own, or none, as from
 * a server. A browser names its page's origin truthfully; who is no browser can name any.
 *
 * @throws {Problem} 500 naming the variable, if an entry is no origin.
 */
export function allowsOrigin(request: HonoRequest, env: Environment): boolean {
  const origin = request.header("origin");
  return isListed(origin, env) || origin === undefined || origin === new URL(request.url).origin;
}

interface Shared {
  readonly method: "GET" | "POST";
  readonly sends: string;
  readonly reads: readonly string[];
}

/** Answers preflights of listed origins and lets their pages read the answers; others get no CORS header at all. */
const crossOriginOf = ({ method, sends, reads }: Shared) => {
  const share = cors({
    origin: (origin) => origin,
    allowMethods: [method],
    allowHeaders: ["Authorization", sends],
    exposeHeaders: [...reads, "Retry-After"],
    maxAge: PREFLIGHT_S,
  });
  return createMiddleware<{ Bindings: Environment }>((c, next) => (isListed(c.req.header("origin"), c.env) ? share(c, next) : next()));
};

export const crossOrigin = crossOriginOf({ method: "POST", sends: "Content-Type", reads: [] });

/** The same for what is asked for again and again. */
export const crossOriginRead = crossOriginOf({ method: "GET", sends: "If-None-Match", reads: ["ETag", "Date"] });
