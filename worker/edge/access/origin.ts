// Says whether a browser may call from its origin.

import type { HonoRequest } from "hono";
import { cors } from "hono/cors";
import { createMiddleware } from "hono/factory";
import { remembered, valuesOf } from "../../domain/ids/secret.ts";
import { allowedOrigins, type Environment, malformed } from "../../environment.ts";
import { Problem } from "../../protocol/problem.ts";

/** Chromium caches a preflight no longer than this, in seconds. */
const PREFLIGHT_S = 7200;
/** Most characters of an origin that a refusal repeats. */
const MOST_SHOWN = 100;

/** Pages of the developer's own machine, on any port. */
const LOCAL_ORIGINS: readonly string[] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];
const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])$/;

/** An app or an extension as a browser writes it, such as chrome-extension://abcdefgh or capacitor://localhost. */
const OTHER_SCHEME = /^[a-z][a-z\d+.-]*:\/\/[\w.:-]*$/;

/** Whether a browser may state this origin: in lower case, without path and default port. `null` is that of a sandboxed frame. */
function isOrigin(text: string): boolean {
  const origin = URL.parse(text)?.origin;
  // A star within an origin has no meaning.
  if (/^https?:[^*]+$/.test(text)) return origin === text;
  return text === "null" || (origin === "null" && OTHER_SCHEME.test(text));
}

/** Tells how to correct an entry that is no origin. A text without a dot may be a secret. */
function meant(entry: string): string {
  const origin = entry.includes("*") ? undefined : URL.parse(/^https?:/i.test(entry) ? entry : `https://${entry}`)?.origin;
  return origin?.includes(".") && isOrigin(origin) ? `write ${origin}` : "separate origins by spaces, and name each subdomain";
}

const originsOf = remembered((text: string): ReadonlySet<string> => {
  const origins = new Set(valuesOf(text));
  if (origins.size === 1 && origins.has("*")) return origins;
  const all = Array.from(origins);
  const wrong = all.findIndex((origin) => !LOCAL_ORIGINS.includes(origin) && !isOrigin(origin));
  if (wrong < 0) return origins;
  const place = `entry ${wrong + 1} is no origin: ${meant(all[wrong])}`;
  throw malformed("AFTERCLICK_ALLOWED_ORIGINS", "origins such as https://shop.example, or * alone", place);
});

function isListed(request: HonoRequest, env: Environment, origin = request.header("origin")): boolean {
  const origins = originsOf(allowedOrigins(env));
  if (origin === undefined) return false;
  return origins.has(origin) || origins.has("*") || (isLocal(request) && origins.has(onAnyPort(origin)));
}

/** Whether the worker runs on the developer's own machine. A deployed one has another address, so its entries for any port do nothing. */
export const isLocal = (request: HonoRequest): boolean => LOOPBACK.test(new URL(request.url).hostname);

/** The entry of `LOCAL_ORIGINS` for this origin, if it is one as a browser writes it. */
function onAnyPort(origin: string): string {
  const url = URL.parse(origin);
  return url?.origin === origin ? `${url.protocol}//${url.hostname}:*` : "";
}

/**
 * Whether a publishable key may be used from the request's origin: a listed one, the worker's own, or none, as from a server.
 * Browsers state the origin truthfully. Other clients can state any.
 *
 * @throws {Problem} 500 naming the variable, if an entry is no origin.
 */
export function allowsOrigin(request: HonoRequest, env: Environment): boolean {
  return isListed(request, env) || isOwnOrNone(request);
}

/** Whether a request comes from the worker's own pages, or from no page. */
export function isOwnOrNone(request: HonoRequest): boolean {
  const origin = request.header("origin");
  return origin === undefined || origin === new URL(request.url).origin;
}

/** The refusal of a request whose origin is not allowed. */
export function foreignOrigin(request: HonoRequest, remedy?: string): Problem {
  const origin = request.header("origin") ?? "";
  const entry = origin === "null" ? "null, the origin of sandboxed frames," : "it";
  const listing = isOrigin(origin) ? `add ${entry} to AFTERCLICK_ALLOWED_ORIGINS` : "browsers state no such origin";
  return new Problem(403, `pages of the origin ${origin.slice(0, MOST_SHOWN)} may not make this call: ${remedy ?? listing}`);
}

/** The request's origin if it is named in the list or is the worker's own. Callers without a browser may state any other one. */
export function namedOrigin(request: HonoRequest, env: Environment): string | undefined {
  const origin = request.header("origin");
  if (origin === undefined) return undefined;
  const isNamed = originsOf(allowedOrigins(env)).has(origin) || origin === new URL(request.url).origin;
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
  return createMiddleware<{ Bindings: Environment }>((c, next) => (isListed(c.req, c.env) ? share(c, next) : next()));
};

export const crossOrigin = crossOriginOf({ method: "POST", sends: "Content-Type", reads: [] });

/** CORS for conditional reads. */
export const crossOriginRead = crossOriginOf({ method: "GET", sends: "If-None-Match", reads: ["ETag", "Date"] });
