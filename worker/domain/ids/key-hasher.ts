import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { encodeBase64Url } from "hono/utils/encode";
import { plainId } from "../../protocol/plain-id.ts";
import type { KeyGiver, KeyHashes, RequestKeys } from "./join-key.ts";
import { keyValuesOf, remembered } from "./secret.ts";

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
    return new KeyHasher(keyValuesOf("AFTERCLICK_JOIN_KEY", secret));
  });

  /** Hashes a key under each secret, in the form in which ids match. One key has different hashes in different models. */
  hash(model: string, key: string, giver: KeyGiver): KeyHashes {
    const message = encoder.encode(`${giver}\0${model}\0${plainId(key)}`);
    return this.#secrets.map((secret) => {
      const bytes = hmac(sha256, secret, message).slice(0, HASH_BYTES);
      return encodeBase64Url(bytes.buffer as ArrayBuffer).replaceAll("=", "");
    });
  }

  /** Only the keys of a page need the hashes of both givers. */
  hashAll(model: string, keys: readonly string[], byPage: boolean): RequestKeys {
    const by = (giver: KeyGiver) => keys.map((key) => this.hash(model, key, giver));
    return { backend: by("backend"), page: byPage ? by("page") : [] };
  }
}
