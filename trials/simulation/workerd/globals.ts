// The globals of workerd, under the clock and the randomness of a schedule.

import { hash, timingSafeEqual } from "node:crypto";

/** The environment of the worker's code. */
export interface Surroundings {
  /** Clock, in milliseconds since 1970. */
  readonly now: () => number;
  /** Random number, uniform in [0, 1). */
  readonly random: () => number;
  readonly wait: (ms: number) => Promise<void>;
}

type Bytes = ArrayBuffer | ArrayBufferView;

interface Key {
  readonly type: "secret";
  readonly secret: Uint8Array;
}

let current: Surroundings = { now: () => 0, random: () => 0, wait: async () => {} };

/**
 * Replaces clock, randomness, timers and cryptography of this thread with the given environment. Nothing runs
 * on other threads, so the same calls take the same course. Adds functions that only workerd has.
 */
export function surroundWith(surroundings: Surroundings): void {
  current = surroundings;
  // Replaced only once, because V8 discards compiled code when globals change.
  if (Date === SimulatedDate) return;
  Math.random = () => current.random();
  for (const [name, value] of Object.entries({ Date: SimulatedDate, setTimeout: later, scheduler, crypto: cryptography })) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
}

class SimulatedDate extends Date {
  // biome-ignore lint/suspicious/noExplicitAny: as many overloads as Date has.
  constructor(...args: any[]) {
    super(...((args.length === 0 ? [current.now()] : args) as [number]));
  }

  static override now(): number {
    return current.now();
  }
}

const scheduler = { wait: (ms: number): Promise<void> => current.wait(ms) };

function later(callback: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): void {
  void current.wait(ms).then(() => callback(...args));
}

function view(bytes: Bytes): Uint8Array {
  return bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function bufferOf({ buffer, byteOffset, byteLength }: Buffer): ArrayBuffer {
  return (buffer as ArrayBuffer).slice(byteOffset, byteOffset + byteLength);
}

const isSame = (a: Bytes, b: Bytes): boolean => a.byteLength === b.byteLength && timingSafeEqual(view(a), view(b));
const sha256 = (...parts: readonly Uint8Array[]): ArrayBuffer => bufferOf(hash("sha256", Buffer.concat(parts), "buffer"));

/** HMAC by RFC 2104. This is faster than a key object per message. */
function hmac({ secret }: Key, data: Bytes): ArrayBuffer {
  const block = new Uint8Array(64);
  block.set(secret.length > 64 ? new Uint8Array(sha256(secret)) : secret);
  const inner = sha256(
    block.map((byte) => byte ^ 0x36),
    view(data),
  );
  return sha256(
    block.map((byte) => byte ^ 0x5c),
    new Uint8Array(inner),
  );
}

/** Synchronous SHA-256 and HMAC-SHA256. The worker needs no other cryptography. */
const subtle = {
  timingSafeEqual: isSame,
  digest: async (_: "SHA-256", data: Bytes): Promise<ArrayBuffer> => sha256(view(data)),
  importKey: async (_: "raw", secret: Bytes): Promise<Key> => ({ type: "secret", secret: view(secret).slice() }),
  sign: async (_: "HMAC", key: Key, data: Bytes): Promise<ArrayBuffer> => hmac(key, data),
  verify: async (_: "HMAC", key: Key, signature: Bytes, data: Bytes): Promise<boolean> => isSame(signature, hmac(key, data)),
};

function getRandomValues<T extends Uint8Array>(array: T): T {
  for (let i = 0; i < array.length; i++) array[i] = Math.floor(current.random() * 256);
  return array;
}

const cryptography = { getRandomValues, randomUUID: () => uuidOf(getRandomValues(new Uint8Array(16))), subtle };

function uuidOf(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
}
