import { hc } from "hono/client";
import type { App } from "./edge/app.ts";

/** Every route of the worker as a typed call, such as `client.v1.models[":model"].recommendations.$post({ param, json })`. */
export type Afterclick = ReturnType<typeof hc<App>>;

/**
 * A client of a worker, for a shop's server or, with a publishable key, its pages. An answer is a `Response` whose `json()` is typed
 * by its status. Path parameters go as they are: what may hold a slash needs `encodeURIComponent`.
 *
 * @param url where the worker is, such as https://afterclick.example.workers.dev.
 * @param key sent with every request; conversions need a webhook's headers instead, which a call takes as `{ headers }`.
 * @param fetch instead of the platform's, as for a service binding.
 */
export function afterclick(url: string, { key, fetch }: { readonly key: string; readonly fetch?: typeof globalThis.fetch }): Afterclick {
  return hc<App>(url, { headers: { authorization: `Bearer ${key}` }, fetch });
}
