// Signatures of senders: HMACs of the raw body. Which header has one is the concern of each sender.

import { decodeBase64 } from "hono/utils/encode";
import { remembered } from "../../domain/ids/secret.ts";
import { unauthorised } from "../../protocol/problem.ts";

export type Digest = "sha1" | "sha256" | "sha512";
export type Encoding = "hex" | "base64";

const HASHES = { sha1: "SHA-1", sha256: "SHA-256", sha512: "SHA-512" } as const;
const encoder = new TextEncoder();

const keyOf = remembered((text: string) => {
  const [digest, secret] = text.split(" ");
  return crypto.subtle.importKey("raw", encoder.encode(secret), { name: "HMAC", hash: HASHES[digest as Digest] }, false, ["sign"]);
});

/** Whether one of the signatures is the HMAC of the content by one of the secrets, in constant time. Secrets have no spaces. */
export async function isSigned(
  content: BufferSource,
  signatures: readonly Uint8Array[],
  secrets: readonly string[],
  digest: Digest = "sha256",
): Promise<boolean> {
  let signed = false;
  for (const secret of secrets) {
    const expected = await crypto.subtle.sign("HMAC", await keyOf(`${digest} ${secret}`), content);
    for (const signature of signatures) {
      if (signature.length === expected.byteLength && crypto.subtle.timingSafeEqual(signature, expected)) signed = true;
    }
  }
  return signed;
}

/**
 * Checks the base64 of a body's HMAC-SHA256 in a header.
 *
 * @param variable names the secrets in a refusal. @throws {Problem} 401
 */
export async function checkSigned(
  name: string,
  variable: string,
  secrets: readonly string[],
  { headers, body }: { readonly headers: Headers; readonly body: () => Promise<ArrayBuffer> },
): Promise<void> {
  const signature = bytesOf(headers.get(name) ?? "", "base64");
  if (signature.length !== 32) throw unauthorised(`${name}: expected the base64 of 32 bytes`);
  if (await isSigned(await body(), [signature], secrets)) return;
  throw unauthorised(`${name}: no value of ${variable} made it from the raw body`);
}

/** Bytes of a signature or a secret. None if it is malformed. */
export function bytesOf(signature: string, encoding: Encoding): Uint8Array<ArrayBuffer> {
  if (encoding === "hex") {
    return Uint8Array.from(/^([0-9a-f]{2})+$/i.test(signature) ? (signature.match(/../g) ?? []) : [], (digits) =>
      Number.parseInt(digits, 16),
    );
  }
  try {
    return decodeBase64(signature);
  } catch {
    return new Uint8Array();
  }
}

/** The prefix, then the content. */
export function joined(prefix: string, content: Uint8Array): Uint8Array<ArrayBuffer> {
  const start = encoder.encode(prefix);
  const bytes = new Uint8Array(start.length + content.length);
  bytes.set(start);
  bytes.set(content, start.length);
  return bytes;
}
