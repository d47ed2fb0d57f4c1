import { encodeBase64Url } from "hono/utils/encode";
import { firstIdAt } from "./token.ts";

/** Hash of a join key such as an order number. Only the hash is stored. The same key has another hash in another model. */
export async function hashOfKey(model: string, key: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${model}\0${key}`));
  return encodeBase64Url(digest.slice(0, 16)).replaceAll("=", "");
}

/** The name under which a keyed event waits for its impression. */
export function waitingFor(hash: string, at: number): string {
  return `${firstIdAt(at)}-${hash}`;
}

export function hashesOfKeys(model: string, keys: readonly string[]): Promise<string[]> {
  return Promise.all(keys.map((key) => hashOfKey(model, key)));
}
