// Refusals as values of one class, and their form on the wire.

import type { Context } from "hono";

const TITLES = {
  400: "Malformed request",
  401: "Not authorised",
  403: "Not allowed",
  404: "Not found",
  405: "Another method",
  409: "Conflict",
  413: "Too large",
  422: "Not acceptable as given",
  429: "Too many requests",
  500: "Internal error",
  503: "Nothing was stored",
} as const;

export type ProblemStatus = keyof typeof TITLES;

/** An error in one field of a request. */
export interface FieldError {
  readonly path: string;
  readonly message: string;
}

/** Default of the header `retry-after`, in seconds. */
const RETRY_AFTER_S: Partial<Record<ProblemStatus, number>> = { 429: 60, 503: 5 };

/** An error that becomes an RFC 9457 response. */
export class Problem extends Error {
  override readonly name: string = "Problem";
  readonly status: ProblemStatus;
  readonly errors: readonly FieldError[] | undefined;
  /** Value of the header `retry-after`, in seconds. */
  readonly retryAfter: number | undefined;

  constructor(status: ProblemStatus, detail: string, errors?: readonly FieldError[], retryAfter = RETRY_AFTER_S[status]) {
    super(detail);
    this.status = status;
    this.errors = errors;
    this.retryAfter = retryAfter;
  }
}

/** Adds the place in the request to a refusal. Other errors stay as they are. */
export function located(error: unknown, place: string): unknown {
  return error instanceof Problem ? new Problem(error.status, `${place}: ${error.message}`) : error;
}

/** What `read` returns. Its refusal names the place. */
export function placed<T>(place: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw located(error, place);
  }
}

/** @param detail what the caller can see itself. It never says how near a key or a signature was to a stored one. */
export const unauthorised = (detail: string): Problem => new Problem(401, detail);

export const unknownModel = (): Problem => new Problem(404, "there is no such model: PUT /v1/models/NAME creates it");

function from(error: unknown): Problem {
  if (error instanceof Problem) return error;
  // Logs name and stack only, because a message may hold data of a caller.
  const [, ...frames] = error instanceof Error ? (error.stack ?? "").split("\n    at ") : [];
  console.error("unexpected", error instanceof Error ? error.name : typeof error, frames.slice(0, 5));
  return new Problem(500, "something unexpected happened; the request may be sent again");
}

/**
 * Answers any error as application/problem+json.
 * @internal It names Hono's types, which the declarations of the typed client do without.
 */
export function problemResponse(error: unknown, c: Context): Response {
  const { status, message: detail, errors, retryAfter } = from(error);
  return c.body(JSON.stringify({ type: "about:blank", title: TITLES[status], status, detail, ...(errors && { errors }) }), status, {
    "content-type": "application/problem+json",
    "cache-control": "no-store",
    ...(status === 401 && { "www-authenticate": "Bearer" }),
    ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
  });
}
