// Types of `afterclick/client` for TypeScript 5.6. Hono's own types need 5.7.
import type { routes } from "../edge/routes.ts";
import type { ProblemBody } from "../protocol/answers.ts";
import type { ProblemStatus } from "../protocol/problem.ts";
import type { Client, TypedResponse } from "./typed-calls.ts";

type Routes = ReturnType<typeof routes>;

/** A problem, as each route may answer. */
type Refusal = { [Status in ProblemStatus]: TypedResponse<ProblemBody, Status, "json"> }[ProblemStatus];

/** Every route of the worker as a typed call, such as `client.v1.models[":model"].recommendations.$post({ param, json })`. */
export type Afterclick = Client<Routes, Refusal>;

/**
 * A client of a worker, for a shop's server or, with a publishable key, for its pages. Each response's `json()` has the type of its
 * status. Path parameters are sent unchanged: use `encodeURIComponent` if they may hold a slash.
 *
 * @param url address of the worker, such as https://afterclick.example.workers.dev.
 * @param key sent with every request. Conversions need the headers of a webhook instead: pass them as `{ headers }`.
 * @param fetch replaces the platform's, for example with that of a service binding.
 */
export declare function afterclick(url: string, options: { readonly key: string; readonly fetch?: typeof globalThis.fetch }): Afterclick;
