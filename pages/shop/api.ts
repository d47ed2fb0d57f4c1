import { contextOf, SHOP_MODEL } from "../../src/simulation/assortment.ts";
import { call } from "../ui/call.ts";

/** The evidence for a product and a visitor so far. */
export interface ProductEvidence {
  readonly id: string;
  /** The chance that the visitor buys the product, as the model believes. */
  readonly belief: { readonly mean: number };
  /** Impressions whose window has closed, and how many of them were bought. */
  readonly closed: { readonly impressions: number; readonly converted: number };
}

/** The model's counts and estimates now. */
export interface Knowledge {
  readonly counts: { readonly impressions: number; readonly pending: number; readonly converted: number; readonly expired: number };
  readonly estimates: readonly ProductEvidence[];
  readonly impressions: readonly { readonly impressionId: string; readonly status: "pending" | "converted" | "expired" }[];
}

function post<Body>(path: string, json: unknown, headers: Record<string, string> = {}): Promise<Body> {
  return call(path, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(json) });
}

/** Asks for recommendations with the publishable key alone, as any shop's page would. */
export function recommend(key: string, profile: string, limit: number) {
  const path = `/v1/models/${SHOP_MODEL}/recommendations`;
  const headers = { authorization: `Bearer ${key}` };
  return post<{ windowEndsAt: number; actions: readonly { readonly impressionId: string; readonly id: string }[] }>(
    path,
    { context: contextOf(profile), limit },
    headers,
  );
}

/** A purchase or a return of a product, and how long ago it happened, in ms. The clocks of page and worker may differ. */
export interface Happened {
  readonly impressionId: string;
  readonly agoMs: number;
}

/** Sends purchases or returns to the shop's backend, which reports them with a signed webhook. */
export function report(what: "purchases" | "returns", happened: readonly Happened[]) {
  return post<{ conversions: readonly { readonly impressionId: string; readonly status: string }[] }>(`/demo/${what}`, { happened });
}

/** Reads counts and estimates through the shop's backend, which holds the secret key. */
export function readKnowledge(profile: string, impressionIds: readonly string[]) {
  const query = new URLSearchParams([["profile", profile], ...impressionIds.map((id) => ["impression", id])]);
  return call<Knowledge>(`/demo/knowledge?${query}`);
}

/** Deletes what the model has learnt. */
export function forget() {
  return post<unknown>("/demo/reset", {});
}
