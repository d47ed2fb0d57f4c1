import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { decodeBase64Url, encodeBase64Url } from "hono/utils/encode";
import { Problem } from "../protocol/problem.ts";
import { remembered, valuesOf } from "./secret.ts";

/** What an impression id says, so that a conversion can be checked without a look-up. */
export interface Impression {
  /** UUIDv7; its time is when the impression was shown. */
  readonly id: string;
  readonly model: string;
  readonly action: string;
  /** Chance of this action at this place, where the policy knows it. */
  readonly probability?: number;
  /** Version of the model that decided. */
  readonly modelVersion: number;
  /** Milliseconds since 1970. */
  readonly windowEndsAt: number;
}

/** An impression as far as its token tells: the action as a hash. */
export interface TokenContent extends Omit<Impression, "action"> {
  readonly actionHash: number;
}

/** Clocks may differ by this much before a time counts as lying in the future, in ms. */
export const CLOCK_TOLERANCE_MS = 300_000;

const VERSION = 1;
const MAC_BYTES = 16;
/** Version, key id, UUID, window end, action hash, probability, model version; then the model's name and the MAC. */
const FIXED_BYTES = 1 + 2 + 16 + 6 + 4 + 4 + 6;
const TWO_TO_32 = 2 ** 32;
/** Ids are public: against a shorter key, one id would be enough to try all keys at home. */
const LEAST_KEY_LENGTH = 16;
/** Actions whose hashes are kept; a catalogue has at most a thousand. */
const MOST_ACTIONS = 4096;

const DASH = 0x2d;
const LETTERS = 0x40;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

interface SigningKey {
  /** 16 bits of the key's hash, in every id: tells which key to try. Two keys may have the same. */
  readonly id: number;
  /** Has taken the key in: signing begins with a copy. In this thread, since a call of the platform's costs ten times as much. */
  readonly hmac: ReturnType<typeof hmac.create>;
  /** What it is copied into, again and again, as buffers are dear to make. */
  readonly running: ReturnType<typeof hmac.create>;
}

/** Signs and verifies impression tokens: base64url of the fields above and a 128-bit truncated HMAC-SHA256. */
export class TokenSigner {
  readonly #keys: readonly SigningKey[];

  private constructor(keys: readonly SigningKey[]) {
    this.#keys = keys;
  }

  /**
   * @param secret keys separated by whitespace: the first signs, all verify.
   * @throws {Problem} 500 if there is none, or one has fewer than 16 characters.
   */
  static readonly create: (secret: string) => TokenSigner = remembered((secret) => {
    const keys = valuesOf(secret);
    if (keys.length === 0 || keys.some(({ length }) => length < LEAST_KEY_LENGTH)) {
      throw new Problem(500, `AFTERCLICK_TOKEN_KEY: expected values of ${LEAST_KEY_LENGTH} or more characters`);
    }
    return new TokenSigner(keys.map(signingKey));
  });

  sign(impression: Impression): string {
    const [key] = this.#keys;
    const name = utf8(impression.model);
    const bytes = new Uint8Array(FIXED_BYTES + name.length + MAC_BYTES);
    bytes[0] = VERSION;
    setUint16(bytes, 1, key.id);
    setUuid(bytes, 3, impression.id);
    setUint48(bytes, 19, impression.windowEndsAt);
    setUint32(bytes, 25, hash32(impression.action));
    setUint32(bytes, 29, bitsOf(impression.probability ?? Number.NaN));
    setUint48(bytes, 33, impression.modelVersion);
    bytes.set(name, FIXED_BYTES);
    const end = bytes.length - MAC_BYTES;
    bytes.set(macOf(key, bytes.subarray(0, end)), end);
    return textOf(bytes);
  }

  /** What the token says; undefined if it is not exactly one of ours, or its time lies in the future. */
  verify(token: string, now: number): TokenContent | undefined {
    const bytes = decode(token);
    if (!bytes || bytes.length <= FIXED_BYTES + MAC_BYTES || !this.#isOurs(bytes)) return undefined;
    const view = new DataView(bytes.buffer);
    const probability = view.getFloat32(29);
    const content = {
      id: uuidOf(bytes.subarray(3, 19)),
      windowEndsAt: getUint48(view, 19),
      actionHash: view.getUint32(25),
      ...(!Number.isNaN(probability) && { probability }),
      modelVersion: getUint48(view, 33),
      model: decoder.decode(bytes.subarray(FIXED_BYTES, bytes.length - MAC_BYTES)),
    };
    return shownAtOf(content.id) > now + CLOCK_TOLERANCE_MS ? undefined : content;
  }

  #isOurs(bytes: Uint8Array<ArrayBuffer>): boolean {
    if (bytes[0] !== VERSION) return false;
    const [signed, mac] = [bytes.subarray(0, -MAC_BYTES), bytes.subarray(-MAC_BYTES)];
    let match = false;
    for (const key of this.#keys) {
      if (key.id === bytes[1] * 256 + bytes[2]) match = crypto.subtle.timingSafeEqual(mac, macOf(key, signed)) || match;
    }
    return match;
  }
}

function signingKey(secret: string): SigningKey {
  const bytes = encoder.encode(secret);
  return { id: first32(secret) >>> 16, hmac: hmac.create(sha256, bytes), running: hmac.create(sha256, bytes) };
}

function macOf({ hmac, running }: SigningKey, bytes: Uint8Array): Uint8Array {
  return hmac._cloneInto(running).update(bytes).digest().subarray(0, MAC_BYTES);
}

function first32(text: string): number {
  return new DataView(sha256(encoder.encode(text)).buffer).getUint32(0);
}

/** Names of models: a text's bytes are dearer to make than to keep. */
const utf8: (text: string) => Uint8Array = remembered((text) => encoder.encode(text));

/** The first 32 bits of the text's SHA-256. */
export const hash32: (text: string) => number = remembered(first32, MOST_ACTIONS);

/** A UUIDv7 of a time and ten bytes, random or derived. */
export function uuidAt(shownAt: number, random: Uint8Array): string {
  const bytes = new Uint8Array(16);
  setUint48(bytes, 0, shownAt);
  bytes.set(random.subarray(0, 10), 6);
  bytes[6] = 0x70 | (bytes[6] & 0x0f);
  bytes[8] = 0x80 | (bytes[8] & 0x3f);
  return uuidOf(bytes);
}

/** The time inside a UUIDv7, in ms since 1970. */
export function shownAtOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

/** Sorts before every UUIDv7 of that time or later, and after every earlier one. */
export function firstIdAt(shownAt: number): string {
  const hex = Math.max(0, shownAt).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}

function textOf(bytes: Uint8Array<ArrayBuffer>): string {
  return encodeBase64Url(bytes.buffer).replaceAll("=", "");
}

function decode(token: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const bytes = decodeBase64Url(token);
    // One text per token: padding, the other alphabet, or stray bits at the end are refused.
    return textOf(bytes) === token ? bytes : undefined;
  } catch {
    return undefined;
  }
}

function setUuid(bytes: Uint8Array, offset: number, id: string): void {
  for (let i = 0, digits = 0; i < id.length; i++) {
    const code = id.charCodeAt(i);
    if (code === DASH) continue;
    // A letter's last five bits count from 1.
    const digit = code < LETTERS ? code & 0xf : (code & 0x1f) + 9;
    bytes[offset + (digits >> 1)] |= digits & 1 ? digit : digit << 4;
    digits++;
  }
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

function uuidOf(bytes: Uint8Array): string {
  let hex = "";
  for (const byte of bytes) hex += HEX[byte];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

// Big-endian, byte by byte: a view of so short an array would take longer to make than to use.

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

/** The bits of a number in 32-bit floating point. */
function bitsOf(value: number): number {
  float[0] = value;
  return bits[0];
}

function getUint48(view: DataView, offset: number): number {
  return view.getUint16(offset) * TWO_TO_32 + view.getUint32(offset + 2);
}
