// Calls a worker for the commands: keys, repetition after failures, and errors in words that name a remedy.

import { setTimeout as sleep } from "node:timers/promises";

const ATTEMPTS = 8;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;
const TIMEOUT_MS = 30_000;

/** An error answer of the worker. The message holds the worker's own detail. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;

  constructor(call: string, status: number, detail: string) {
    super(`${call} answered ${status}: ${detail}`);
    this.status = status;
  }
}

export class UnreachableError extends Error {
  override readonly name = "UnreachableError";
}

export interface Call {
  readonly method?: "GET" | "PUT" | "PATCH" | "POST" | "DELETE";
  readonly key?: string;
  readonly json?: unknown;
  /** A signed body, sent instead of `json`. */
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Most attempts, default 8. */
  readonly attempts?: number;
}

/** The address of a worker, as people write it. */
export const shownUrl = ({ href }: URL): string => href.replace(/\/$/, "");

/** The address of a path of the worker. A worker that is mounted has a path of its own before it. */
export function urlOf(base: URL, path: string): URL {
  return new URL(base.pathname.replace(/\/$/, "") + path, base);
}

/**
 * Calls a worker. Sends the same request again after a failed connection, a 429 or a 503.
 *
 * @returns the answer's body, null if it has none. `resent`: whether the worker may have taken an earlier attempt whose answer was lost.
 * @throws {ApiError} for any other error answer, and for one that is no JSON. @throws {UnreachableError} if no attempt was answered.
 */
export function call<Body>(base: URL, path: string, options: Call = {}): Promise<{ body: Body; resent: boolean }> {
  const read = async (response: Response) => {
    if (response.status === 204) return null as Body;
    const text = await response.text();
    try {
      return JSON.parse(text) as Body;
    } catch {
      throw new ApiError(`${options.method ?? "GET"} ${path}`, response.status, `expected JSON, got ${text.slice(0, 80)}`);
    }
  };
  return answered(base, path, options, read, () => AbortSignal.timeout(TIMEOUT_MS));
}

/** Calls a worker like `call`, and returns the bytes of the answer's body, without a time limit. They throw an `UnreachableError` too. */
export async function open(base: URL, path: string, options: Call = {}): Promise<AsyncIterable<Uint8Array>> {
  const { body } = await answered(base, path, options, async (response) => response.body as ReadableStream<Uint8Array>);
  return received(base, body);
}

async function* received(base: URL, body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw new UnreachableError(`the connection to ${shownUrl(base)} broke: ${reasonOf(error as Error)}; run the command again`);
  }
}

async function answered<Body>(
  base: URL,
  path: string,
  options: Call,
  read: (response: Response) => Promise<Body>,
  limit?: () => AbortSignal,
): Promise<{ body: Body; resent: boolean }> {
  const { method = "GET", attempts = ATTEMPTS } = options;
  const name = `${method} ${path}`;
  const request = {
    method,
    headers: headersOf(options),
    body: options.body ?? (options.json && JSON.stringify(options.json)),
  } as RequestInit;
  let resent = false;
  for (let attempt = 1; ; attempt++) {
    let pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS);
    try {
      const response = await fetch(urlOf(base, path), { ...request, redirect: "manual", signal: limit?.() });
      if (response.ok) return { body: await read(response), resent };
      const refusal = new ApiError(name, response.status, await detailOf(response));
      if ((response.status !== 429 && response.status !== 503) || attempt >= attempts) throw refusal;
      pauseMs = Math.max(pauseMs, Math.min(1000 * Number(response.headers.get("retry-after")) || 0, LONGEST_PAUSE_MS));
    } catch (error) {
      if (error instanceof ApiError) throw error;
      if (attempt >= attempts) throw new UnreachableError(`no worker answers at ${shownUrl(base)}: ${reasonOf(error as Error)}`);
      resent = true;
    }
    await sleep(pauseMs);
  }
}

function headersOf({ key, json, headers }: Call): Record<string, string> {
  return {
    ...(json !== undefined && { "content-type": "application/json" }),
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
    ...headers,
  };
}

async function detailOf(response: Response): Promise<string> {
  const text = await response.text();
  const leadsTo = response.headers.get("location");
  // A redirection turns a POST into a GET, and may lead the key to a stranger.
  if (leadsTo) return `a redirection to ${leadsTo}; give the worker's own address`;
  try {
    const problem = JSON.parse(text) as { title?: string; detail?: string };
    return problem.detail ?? problem.title ?? text;
  } catch {
    return text.slice(0, 200);
  }
}

/** The reason of a failed `fetch`, which is in the error's cause. */
function reasonOf(error: Error): string {
  const cause = error.cause as NodeJS.ErrnoException | undefined;
  return cause?.code ?? cause?.message ?? error.message;
}
