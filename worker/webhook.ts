import { Problem, unauthorised } from "./problem.ts";

const TOLERANCE_MS = 300_000;
/** Enough for a rotation of secrets; each costs a pass over the body. */
const MAX_SIGNATURES = 8;

/**
 * Verifies a Standard Webhooks 1.0.0 signature over the raw bytes of the body.
 *
 * @param secret `whsec_` and base64.
 * @returns the webhook-id, which stays the same when a message is sent again.
 * @throws {Problem} 401 for every cause but a secret that is none, which is a 500.
 */
export async function verifyWebhook(secret: string, headers: Headers, body: ArrayBuffer, now: number): Promise<string> {
  const id = headers.get("webhook-id") ?? "";
  const timestamp = headers.get("webhook-timestamp") ?? "";
  // Printable ASCII, so that the id fits the metadata of an event.
  if (!/^[!-~]{1,128}$/.test(id) || !/^\d{1,12}$/.test(timestamp)) throw unauthorised();
  if (Math.abs(now - Number(timestamp) * 1000) > TOLERANCE_MS) throw unauthorised();

  const key = await importSecret(secret);
  const prefix = new TextEncoder().encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(prefix.length + body.byteLength);
  signed.set(prefix);
  signed.set(new Uint8Array(body), prefix.length);
  for (const candidate of (headers.get("webhook-signature") ?? "").split(" ").slice(0, MAX_SIGNATURES)) {
    const signature = candidate.startsWith("v1,") ? bytesOf(candidate.slice(3)) : undefined;
    if (signature && (await crypto.subtle.verify("HMAC", key, signature, signed))) return id;
  }
  throw unauthorised();
}

async function importSecret(secret: string): Promise<CryptoKey> {
  const bytes = secret.startsWith("whsec_") ? bytesOf(secret.slice("whsec_".length)) : undefined;
  if (!bytes?.length) throw new Problem(500, "AFTERCLICK_WEBHOOK_SECRET is not whsec_ followed by base64");
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
