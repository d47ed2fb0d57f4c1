import { NO_KEYS, type RequestKeys } from "../domain/ids/join-key.ts";
import { KeyHasher } from "../domain/ids/key-hasher.ts";
import { type Environment, secret } from "../environment.ts";

/** The join keys of a request as hashes. The secret is needed only where there are keys. */
export function hashedKeys(env: Environment, model: string, keys: readonly string[], byPage: boolean): RequestKeys {
  return keys.length > 0 ? KeyHasher.create(secret(env, "AFTERCLICK_JOIN_KEY")).hashAll(model, keys, byPage) : NO_KEYS;
}
