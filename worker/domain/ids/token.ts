// Impression ids: what they hold, and the signature without which none is believed.

import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { CLOCK_TOLERANCE_MS } from "afterclick/research";
import { decodeBase64Url } from "hono/utils/encode";
import { base64Url } from "./base64url.ts";
import { keyValuesOf, remembered } from "./secret.ts";
import { setUuid, shownAtOf, uuidOf } from "./uuid.ts";

export { CLOCK_TOLERANCE_MS };

/** Content of an impression token. A conversion is checked against it without a look-up. */
export interface Impression {
  /** UUIDv7; its time is when the impression was shown. */
  readonly id: string;
  readonly model: string;
  readonly action: string;
  /** Propensity of the action at its place. Absent if the policy does not know it. */
  readonly probability?: number;
  /** Start of the model that decided, in ms since 1970. A namesake that is created after its deletion has another one. */
  readonly generation: number;
  /** Version of the model that decided. */
  readonly modelVersion: number;
  /** Exponent of the sampling in force, see `sampling.ts`. */
  readonly sampling: number;
  /** Milliseconds since 1970. */
  readonly windowEndsAt: number;
  /** The shard that has the impression. Absent: 0. */
  readonly shard?: number;
}

/** An impression as its token states it: the action is a hash. */
export interface TokenContent extends Omit<Impression, "action"> {
  readonly actionHash: number;
}

const VERSION = 2;
/** Version of a token that states a shard other than 0. */
const SHARDED_VERSION = 3;
const MAC_BYTES = 16;
/** Size of an HMAC before it is truncated. */
const HASH_BYTES = 32;
/**
 * Size of version, key id, UUID, window end, action hash, probability, model version, generation and sampling. The shard follows if it is
 * not 0, then the model's name and the MAC.
 */
const FIXED_BYTES = 1 + 2 + 16 + 6 + 4 + 4 + 6 + 6 + 1;
const TWO_TO_32 = 2 ** 32;
/** Most cached action hashes: those of a whole catalogue. */
const MOST_HASHES = 10_000;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

interface SigningKey {
  /** 16 bits of the key's hash, which every token states. Two keys may have the same id. */
  readonly id: number;
  /** HMAC state after the key. Signing starts from a copy. A call of Web Crypto would cost ten times as much. */
  readonly hmac: ReturnType<typeof hmac.create>;
  /** Buffer for the copy, reused because allocation is slow. */
  readonly running: ReturnType<typeof hmac.create>;
}

/** Signs and verifies impression tokens: base64url of the fields above and of a 128-bit truncated HMAC-SHA256. */
export class TokenSigner {
  readonly #keys: readonly SigningKey[];
  /** Workspace for one token, reused because allocation is slow. */
  #bytes = new Uint8Array(0);

  private constructor(keys: readonly SigningKey[]) {
    this.#keys = keys;
  }

  /**
   * @param secret keys separated by whitespace. The first one signs, all verify.
   * @throws {Problem} 500 if there is none, or one has fewer than 16 characters.
   */
  static readonly create: (secret: string) => TokenSigner = remembered((secret) => {
    return new TokenSigner(keyValuesOf("AFTERCLICK_TOKEN_KEY", secret).map(signingKey));
  });

  sign(impression: Impression): string {
    const [key] = this.#keys;
    const { shard = 0 } = impression;
    const name = utf8(impression.model);
    const nameAt = FIXED_BYTES + (shard > 0 ? 1 : 0);
    const end = nameAt + name.length;
    if (this.#bytes.length < end + HASH_BYTES) this.#bytes = new Uint8Array(end + HASH_BYTES);
    const bytes = this.#bytes;
    bytes[0] = shard > 0 ? SHARDED_VERSION : VERSION;
    setUint16(bytes, 1, key.id);
    setUuid(bytes, 3, impression.id);
    setUint48(bytes, 19, impression.windowEndsAt);
    setUint32(bytes, 25, hash32(impression.action));
    setUint32(bytes, 29, bitsOf(impression.probability ?? Number.NaN));
    setUint48(bytes, 33, impression.modelVersion);
    setUint48(bytes, 39, impression.generation);
    bytes[45] = impression.sampling;
    if (shard > 0) bytes[FIXED_BYTES] = shard;
    bytes.set(name, nameAt);
    hmacOf(key, bytes.subarray(0, end)).digestInto(bytes.subarray(end));
    return base64Url(bytes, end + MAC_BYTES);
  }

  /** A name for a text. Only this worker can compute it, so nobody chooses the ids that follow from it. */
  nameOf(text: string): string {
    return base64Url(hmacOf(this.#keys[0], encoder.encode(text)).digest());
  }

  /** Content of the token; undefined if the token is forged or its time lies in the future. */
  verify(token: string, now: number): TokenContent | undefined {
    const bytes = decode(token);
    if (!bytes || bytes.length <= FIXED_BYTES + MAC_BYTES || !this.#isOurs(bytes)) return undefined;
    const view = new DataView(bytes.buffer);
    const isSharded = bytes[0] === SHARDED_VERSION;
    const probability = view.getFloat32(29);
    const content = {
      id: uuidOf(bytes.subarray(3, 19)),
      windowEndsAt: getUint48(view, 19),
      actionHash: view.getUint32(25),
      ...(!Number.isNaN(probability) && { probability }),
      modelVersion: getUint48(view, 33),
      generation: getUint48(view, 39),
      sampling: bytes[45],
      ...(isSharded && { shard: bytes[FIXED_BYTES] }),
      model: decoder.decode(bytes.subarray(FIXED_BYTES + (isSharded ? 1 : 0), bytes.length - MAC_BYTES)),
    };
    return shownAtOf(content.id) > now + CLOCK_TOLERANCE_MS ? undefined : content;
  }

  #isOurs(bytes: Uint8Array<ArrayBuffer>): boolean {
    if (bytes[0] !== VERSION && bytes[0] !== SHARDED_VERSION) return false;
    const [signed, mac] = [bytes.subarray(0, -MAC_BYTES), bytes.subarray(-MAC_BYTES)];
    let match = false;
    for (const key of this.#keys) {
      if (key.id === bytes[1] * 256 + bytes[2])
        match = crypto.subtle.timingSafeEqual(mac, hmacOf(key, signed).digest().subarray(0, MAC_BYTES)) || match;
    }
    return match;
  }
}

function signingKey(secret: string): SigningKey {
  const bytes = encoder.encode(secret);
  return { id: first32(secret) >>> 16, hmac: hmac.create(sha256, bytes), running: hmac.create(sha256, bytes) };
}

function hmacOf({ hmac, running }: SigningKey, bytes: Uint8Array) {
  return hmac._cloneInto(running).update(bytes);
}

function first32(text: string): number {
  return new DataView(sha256(encoder.encode(text)).buffer).getUint32(0);
}

/** Cached UTF-8 of model names. */
const utf8: (text: string) => Uint8Array = remembered((text) => encoder.encode(text));

/** The first 32 bits of the text's SHA-256. */
export const hash32: (text: string) => number = remembered(first32, MOST_HASHES);

function decode(token: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const bytes = decodeBase64Url(token);
    // A token has exactly one text: padding, the other base64 alphabet and stray bits at the end are refused.
    return base64Url(bytes) === token ? bytes : undefined;
  } catch {
    return undefined;
  }
}

// Big-endian integers, written byte by byte: creating a DataView takes longer than writing so few bytes.

function setUint16(bytes: Uint8Array, offset: number, value: number): void {
  bytes[offset] = value >>> 8;
  bytes[offset + 1] = value;
}

function setUint32(bytes: Uint8Array, offset: number, value: number): void {
  setUint16(bytes, offset, value >>> 16);
  setUint16(bytes, offset + 2, value);
}

function setUint48(bytes: Uint8Array, offset: number, value: number): void {
  setUint16(bytes, offset, Math.floor(value / TWO_TO_32));
  setUint32(bytes, offset + 2, value % TWO_TO_32);
}

const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);

/** Bits of a number as a 32-bit float. */
function bitsOf(value: number): number {
  float[0] = value;
  return bits[0];
}

function getUint48(view: DataView, offset: number): number {
  return view.getUint16(offset) * TWO_TO_32 + view.getUint32(offset + 2);
}
