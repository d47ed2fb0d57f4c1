import type { HonoRequest } from "hono";
import { cors } from "hono/cors";
import { createMiddleware } from "hono/factory";
import { remembered, valuesOf } from "../domain/secret.ts";
import type { Environment } from "../environment.ts";
import { Problem } from "../protocol/problem.ts";

/** Chromium caches a preflight no longer than this, in seconds. */
const PREFLIGHT_S = 7200;
/** Most characters of an origin that a refusal repeats. */
const MOST_SHOWN = 100;

const originsOf = remembered((text: string): ReadonlySet<string> => {
  const origins = new Set(valuesOf(text));
  if (origins.size === 1 && origins.has("*")) return origins;
  for (const origin of origins) {
    // Browsers write origins in lower case, without path and default port. A star within an origin has no meaning.
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
 * Whether a publishable key may be used from the request's origin: a listed one, the worker's own, or none, as from a server.
 * Browsers state the origin truthfully. Other clients can state any.
 *
 * @throws {Problem} 500 naming the variable, if an entry is no origin.
 */
export function allowsOrigin(request: HonoRequest, env: Environment): boolean {
  const origin = request.header("origin");
  return isListed(origin, env) || origin === undefined || origin === new URL(request.url).origin;
}

/** The refusal of a request whose origin is not allowed. */
export function foreignOrigin(request: HonoRequest): Problem {
  const origin = request.header("origin")?.slice(0, MOST_SHOWN);
  return new Problem(403, `the origin ${origin} may not call this worker from a page: add it to AFTERCLICK_ALLOWED_ORIGINS`);
}

/** The request's origin if it is named in the list or is the worker's own. Callers without a browser may state any other one. */
export function namedOrigin(request: HonoRequest, env: Environment): string | undefined {
  const origin = request.header("origin") ?? "";
  const isNamed = originsOf(env.AFTERCLICK_ALLOWED_ORIGINS ?? "").has(origin) || origin === new URL(request.url).origin;
  return isNamed ? origin : undefined;
}

interface Shared {
  readonly method: "GET" | "POST";
  readonly sends: string;
  readonly reads: readonly string[];
}

/** CORS for listed origins: preflights and readable responses. Other origins get no CORS header. */
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

/** CORS for conditional reads. */
export const crossOriginRead = crossOriginOf({ method: "GET", sends: "If-None-Match", reads: ["ETag", "Date"] });
