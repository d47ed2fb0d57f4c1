import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { encodeBase64Url } from "hono/utils/encode";
import { Problem } from "../protocol/problem.ts";
import type { KeyGiver, KeyHashes, RequestKeys } from "./join-key.ts";
import { remembered, valuesOf } from "./secret.ts";

/** With a shorter secret, whoever has the database could try all secrets and all order numbers. */
const LEAST_SECRET_LENGTH = 16;
const HASH_BYTES = 16;
const encoder = new TextEncoder();

/** Hashes join keys such as order numbers: a truncated HMAC-SHA256, so that only hashes are stored. */
export class KeyHasher {
  readonly #secrets: readonly Uint8Array[];

  private constructor(secrets: readonly string[]) {
    this.#secrets = secrets.map((secret) => encoder.encode(secret));
  }

  /**
   * @param secret values separated by whitespace. Hashes by the first are stored, the others only find older ones.
   * @throws {Problem} 500 if there is none, or one has fewer than 16 characters.
   */
  static readonly create: (secret: string) => KeyHasher = remembered((secret) => {
    const values = valuesOf(secret);
    if (values.length === 0 || values.some(({ length }) => length < LEAST_SECRET_LENGTH)) {
      throw new Problem(500, `AFTERCLICK_JOIN_KEY: expected values of ${LEAST_SECRET_LENGTH} or more characters`);
    }
    return new KeyHasher(values);
  });

  /** The same key has other hashes in another model. */
  hash(model: string, key: string, giver: KeyGiver): KeyHashes {
    const message = encoder.encode(`${giver}\0${model}\0${key}`);
    return this.#secrets.map((secret) => {
      const bytes = hmac(sha256, secret, message).slice(0, HASH_BYTES);
      return encodeBase64Url(bytes.buffer as ArrayBuffer).replaceAll("=", "");
    });
  }

  hashAll(model: string, keys: readonly string[]): RequestKeys {
    const by = (giver: KeyGiver) => keys.map((key) => this.hash(model, key, giver));
    return { backend: by("backend"), page: by("page") };
  }
}
