// Says who calls: the secret key, the publishable key, or nobody. Keys are compared in constant time.

import type { Context, MiddlewareHandler } from "hono";
import { createMiddleware } from "hono/factory";
import { remembered, valuesOf } from "../../domain/ids/secret.ts";
import { type Environment, secret } from "../../environment.ts";
import { Problem, unauthorised } from "../../protocol/problem.ts";
import { allowsOrigin, foreignOrigin } from "./origin.ts";

const KEY_NAMES = ["AFTERCLICK_SECRET_KEY", "AFTERCLICK_PUBLISHABLE_KEY"] as const;
export type KeyName = (typeof KEY_NAMES)[number];

/** Context of a route with a key: the request's key, and the variable that holds it. */
export interface Keyed {
  readonly Bindings: Environment;
  readonly Variables: { key: string; keyName: KeyName };
}

interface Keyring extends Readonly<Record<KeyName, readonly ArrayBuffer[]>> {
  /** Digests of the keys that were accepted, by key. */
  readonly passed: Map<string, ArrayBuffer>;
}

const HASHED = /^sha256:([0-9a-f]{64})$/i;
/** A bearer token. */
const TOKEN = /^[\w.~+/-]+=*$/;
/** Fewer characters could be found by trying. */
const LEAST_CHARACTERS = 16;

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
 *
 * @throws {Problem} 401 if the header has no key of this worker, 403 if its key may not do this.
 */
function apiKeys(...names: readonly KeyName[]): MiddlewareHandler<Keyed> {
  return createMiddleware<Keyed>(async (c, next) => {
    await identify(c, tokenOf(c.req.header("authorization")), names);
    await next();
  });
}

/** For a route that takes the secret key. */
export const secretKey = apiKeys("AFTERCLICK_SECRET_KEY");

/** For a route that takes a publishable key too. */
export const anyKey = apiKeys("AFTERCLICK_PUBLISHABLE_KEY", "AFTERCLICK_SECRET_KEY");

/**
 * Accepts a request whose body has a publishable key as `key`, because `sendBeacon` sends no headers. Follows the validation of the body.
 *
 * @throws {Problem} as `apiKeys`.
 */
export const keyInBody = createMiddleware<Keyed, string, { in: { json: unknown }; out: { json: { readonly key: string } } }>(
  async (c, next) => {
    await identify(c, checkedToken(c.req.valid("json").key), ["AFTERCLICK_PUBLISHABLE_KEY"]);
    await next();
  },
);

/** Notes which key the request has. @throws {Problem} as `apiKeys`. */
async function identify(c: Context<Keyed>, token: string, names: readonly KeyName[]): Promise<void> {
  for (const name of names) secret(c.env, name);
  const { AFTERCLICK_SECRET_KEY = "", AFTERCLICK_PUBLISHABLE_KEY = "" } = c.env;
  const keyring = await keyringOf(`${AFTERCLICK_SECRET_KEY}\0${AFTERCLICK_PUBLISHABLE_KEY}`);
  const given = keyring.passed.get(token) ?? (await sha256(token));
  let match: KeyName | undefined;
  for (const name of KEY_NAMES) {
    for (const known of keyring[name]) {
      if (crypto.subtle.timingSafeEqual(given, known)) match = name;
    }
  }
  if (!match) throw unauthorised(unknownKey(token, names));
  keyring.passed.set(token, given);
  if (!names.includes(match)) throw new Problem(403, WRONG_KIND[match]);
  if (match === "AFTERCLICK_PUBLISHABLE_KEY" && !allowsOrigin(c.req, c.env)) throw foreignOrigin(c.req);
  c.set("key", token);
  c.set("keyName", match);
}

/** The refusal of a key by the variable that holds it. */
const WRONG_KIND: Readonly<Record<KeyName, string>> = {
  AFTERCLICK_PUBLISHABLE_KEY: "this call takes the secret key, got a publishable key: call it from your backend",
  AFTERCLICK_SECRET_KEY: "this call takes a publishable key, got the secret key: no page may have it",
};

/** The key in the header. @throws {Problem} 401 with the form that was expected, and what is wrong with this one. */
function tokenOf(header: string | undefined): string {
  const expected = "expected the header Authorization: Bearer KEY";
  if (!header) throw unauthorised(`${expected}, got none`);
  const bearer = /^bearer(?:\s+(.*))?$/i.exec(header);
  if (!bearer) throw unauthorised(`${expected}, got ${/^basic\s/i.test(header) ? "the scheme Basic" : "a value without the word Bearer"}`);
  const [, token] = bearer;
  if (!token) throw unauthorised(`${expected}, got no key: is the variable empty that should hold it?`);
  return checkedToken(token);
}

function checkedToken(token: string): string {
  if (token.startsWith("sha256:")) throw unauthorised("expected a key, got the hash of one: send the key itself");
  if (!TOKEN.test(token)) throw unauthorised("expected a key, got a text with a space, a quote or another character that no key has");
  return token;
}

/** Why no key fits. It depends on the caller's own text alone, never on the stored keys. */
function unknownKey(token: string, names: readonly KeyName[]): string {
  const isSecret = names.includes("AFTERCLICK_SECRET_KEY");
  const expected = names.length > 1 ? "a publishable or a secret key" : isSecret ? "the secret key" : "a publishable key";
  if (token.startsWith("whsec_")) return `expected ${expected}, got a webhook secret, which signs webhooks and is never sent`;
  const prefixed =
    names.length === 1 && isSecret && token.startsWith("pk_") ? ", got one that begins with pk_, as publishable keys do" : "";
  return `expected ${expected} of this worker${prefixed}; it knows no such key. Compare ${names.join(" and ")}`;
}

/** Whether the request came with a publishable key, as from a page. Follows `anyKey`. */
export function isByPage(c: Context<Keyed>): boolean {
  return c.get("keyName") === "AFTERCLICK_PUBLISHABLE_KEY";
}

/** The first value that is a key and no hash. @throws {Problem} 500 if there is none, or it is malformed. */
export function plainKey(env: Environment, name: KeyName): string {
  const plain = valuesOf(secret(env, name)).find((value) => !HASHED.test(value));
  if (plain === undefined) throw new Problem(500, `${name} holds hashes only: the demonstration shop needs a plain value`);
  return wellFormed(name, plain);
}

/** @throws {Problem} 500 without the value, which may be another secret. */
function wellFormed(name: KeyName, value: string): string {
  if (value.length >= LEAST_CHARACTERS && TOKEN.test(value)) return value;
  throw new Problem(500, `${name}: expected values of 16 or more letters, digits or -._~+/, or sha256: and 64 hex digits`);
}

async function digestsOf(name: KeyName, text: string): Promise<ArrayBuffer[]> {
  const digests = valuesOf(text).map((value) => {
    const hex = HASHED.exec(value)?.[1];
    if (hex) return Uint8Array.from({ length: 32 }, (_, i) => Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16)).buffer;
    return sha256(wellFormed(name, value));
  });
  return Promise.all(digests);
}

function sha256(text: string): Promise<ArrayBuffer> {
  return crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
}
