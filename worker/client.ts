import { hc } from "hono/client";
import type { App } from "./edge/app.ts";

/** Every route of the worker as a typed call, such as `client.v1.models[":model"].recommendations.$post({ param, json })`. */
export type Afterclick = ReturnType<typeof hc<App>>;

/**
 * A client of a worker, for a shop's server or, with a publishable key, for its pages. Each response's `json()` has the type of its
 * status. Path parameters are sent unchanged: use `encodeURIComponent` if they may hold a slash.
 *
 * @param url address of the worker, such as https://afterclick.example.workers.dev.
 * @param key sent with every request. Conversions need the headers of a webhook instead: pass them as `{ headers }`.
 * @param fetch replaces the platform's, for example with that of a service binding.
 */
export function afterclick(url: string, { key, fetch }: { readonly key: string; readonly fetch?: typeof globalThis.fetch }): Afterclick {
  return hc<App>(url, { headers: { authorization: `Bearer ${key}` }, fetch });
}
