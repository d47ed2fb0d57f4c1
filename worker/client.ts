import type { Hono } from "hono";
import { type ApplyGlobalResponse, hc } from "hono/client";
import type { BlankEnv } from "hono/types";
import type { routes } from "./edge/route-types.ts";
import type { ProblemBody } from "./protocol/answers.ts";
import type { ProblemStatus } from "./protocol/problem.ts";

/** The worker's routes with the types of all their responses, and without its bindings: callers lack the platform's types. */
type Routes = ApplyGlobalResponse<Hono<BlankEnv, ReturnType<typeof routes>, "/">, { [Status in ProblemStatus]: { json: ProblemBody } }>;

/** Every route of the worker as a typed call, such as `client.v1.models[":model"].recommendations.$post({ param, json })`. */
export type Afterclick = ReturnType<typeof hc<Routes>>;

/**
 * A client of a worker, for a shop's server or, with a publishable key, for its pages. Each response's `json()` has the type of its
 * status. Path parameters are sent unchanged: use `encodeURIComponent` if they may hold a slash.
 *
 * @param url address of the worker, such as https://afterclick.example.workers.dev.
 * @param key sent with every request. Conversions need the headers of a webhook instead: pass them as `{ headers }`.
 * @param fetch replaces the platform's, for example with that of a service binding.
 */
export function afterclick(url: string, { key, fetch }: { readonly key: string; readonly fetch?: typeof globalThis.fetch }): Afterclick {
  return hc<Routes>(url, { headers: { authorization: `Bearer ${key}` }, fetch });
}
