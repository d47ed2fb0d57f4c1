import type { Context, MiddlewareHandler } from "hono";
import { bearerAuth } from "hono/bearer-auth";
import { remembered, valuesOf } from "../domain/secret.ts";
import { type Environment, secret } from "../environment.ts";
import { Problem } from "../protocol/problem.ts";
import { allowsOrigin } from "./origin.ts";

export type KeyName = "AFTERCLICK_SECRET_KEY" | "AFTERCLICK_PUBLISHABLE_KEY";

/** Context of a route behind `apiKeys`: the variable that holds the request's key. */
export interface Keyed {
  readonly Bindings: Environment;
  readonly Variables: { keyName: KeyName };
}

interface Keyring extends Readonly<Record<KeyName, readonly ArrayBuffer[]>> {
  /** Digests of the keys that were accepted, by key. */
  readonly passed: Map<string, ArrayBuffer>;
}

const HASHED = /^sha256:([0-9a-f]{64})$/i;
/** At least 16 characters of a bearer token. */
const PLAIN = /^(?=.{16})[\w.~+/-]+=*$/;

const keyringOf = remembered(async (texts: string): Promise<Keyring> => {
  const [secrets, publishables] = texts.split("\0");
  const secretKeys = await digestsOf("AFTERCLICK_SECRET_KEY", secrets);
  const publishableKeys = await digestsOf("AFTERCLICK_PUBLISHABLE_KEY", publishables);
  if (secretKeys.some((one) => publishableKeys.some((other) => crypto.subtle.timingSafeEqual(one, other)))) {
    throw new Problem(500, "AFTERCLICK_SECRET_KEY and AFTERCLICK_PUBLISHABLE_KEY have a value in common");
  }
  return { AFTERCLICK_SECRET_KEY: secretKeys, AFTERCLICK_PUBLISHABLE_KEY: publishableKeys, passed: new Map() };
});

/**
 * Accepts a request with a key of one of the named variables; with a publishable key only from an allowed origin.
 * All keys are compared, each in constant time.
 */
export function apiKeys(...names: readonly KeyName[]): MiddlewareHandler<Keyed> {
  return bearerAuth<Keyed>({
    async verifyToken(token, c) {
      for (const name of names) secret(c.env, name);
      const { AFTERCLICK_SECRET_KEY = "", AFTERCLICK_PUBLISHABLE_KEY = "" } = c.env;
      const keyring = await keyringOf(`${AFTERCLICK_SECRET_KEY}\0${AFTERCLICK_PUBLISHABLE_KEY}`);
      const given = keyring.passed.get(token) ?? (await sha256(token));
      let match: KeyName | undefined;
      for (const name of names) {
        for (const known of keyring[name]) {
          if (crypto.subtle.timingSafeEqual(given, known)) match = name;
        }
      }
      if (!match || (match === "AFTERCLICK_PUBLISHABLE_KEY" && !allowsOrigin(c.req, c.env))) return false;
      keyring.passed.set(token, given);
      c.set("keyName", match);
      return true;
    },
  });
}

/** Whether the request came with a publishable key, as from a page. Follows `apiKeys`. */
export function isByPage(c: Context<Keyed>): boolean {
  return c.get("keyName") === "AFTERCLICK_PUBLISHABLE_KEY";
}

/** The first value that is a key and no hash. @throws {Problem} 500 if there is none. */
export function plainKey(env: Environment, name: KeyName): string {
  const plain = valuesOf(secret(env, name)).find((value) => !HASHED.test(value));
  if (plain === undefined) throw new Problem(500, `${name} holds hashes only: the demonstration shop needs a plain value`);
  return plain;
}

async function digestsOf(name: KeyName, text: string): Promise<ArrayBuffer[]> {
  const digests = valuesOf(text).map((value) => {
    const hex = HASHED.exec(value)?.[1];
    if (hex) return Uint8Array.from({ length: 32 }, (_, i) => Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16)).buffer;
    if (PLAIN.test(value)) return sha256(value);
    throw new Problem(500, `${name}: expected values of 16 or more letters, digits or -._~+/, or sha256: and 64 hex digits`);
  });
  return Promise.all(digests);
}

function sha256(text: string): Promise<ArrayBuffer> {
  return crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
}
