import type { ModelOptions } from "../../protocol/model-options.ts";

/** The giver of a join key. A key of a page and the same key of a backend have different hashes. */
export type KeyGiver = "backend" | "page";

export const giverOf = (byPage: boolean): KeyGiver => (byPage ? "page" : "backend");

/** The hashes of one join key, one per value of the secret. The first is stored; the others find what was stored before a rotation. */
export type KeyHashes = readonly string[];

/** The join keys of a request, as if each giver had given them. The model decides which of the two count. */
export type RequestKeys = Readonly<Record<KeyGiver, readonly KeyHashes[]>>;

/** `own`: the join keys of pages meet no conversions of a backend. `shared`: a key is the same whoever gives it. */
export type PageKeys = ModelOptions["pageKeys"];

export const NO_KEYS: RequestKeys = { backend: [], page: [] };

/** The keys that count, of those given by a page or by a backend. */
export function counted<Keys>(keys: Readonly<Record<KeyGiver, Keys>>, byPage: boolean, pageKeys: PageKeys): Keys {
  return keys[byPage && pageKeys === "own" ? "page" : "backend"];
}
