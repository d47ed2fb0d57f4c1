// Verifies Standard Webhooks before a byte of their body is parsed, and names the remedy of a refusal.

import { encodeBase64 } from "hono/utils/encode";
import { remembered, valuesOf } from "../domain/ids/secret.ts";
import { type Environment, secret as secretOf } from "../environment.ts";
import { Problem, unauthorised } from "../protocol/problem.ts";
import { bytesOf, joined } from "./senders/signature.ts";

const TOLERANCE_MS = 300_000;
/** Most signatures that are compared. A rotation of secrets needs two. */
const MAX_SIGNATURES = 8;
/** Length of `v1,` and the base64 of 32 bytes. */
const SIGNATURE_LENGTH = 47;
/** Keys of other kinds have this minimum too. Standard Webhooks recommends 24. */
const LEAST_SECRET_BYTES = 16;

/** A sender's name has no slash, so the first slash of an event's name ends it. */
const VALUE = /^(?:(?!whsec_)(?<sender>[\w.-]{1,32})=)?whsec_(?<base64>.+)$/;

interface Sender {
  readonly name: string | undefined;
  readonly key: CryptoKey;
}

const HEADERS = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const;

const UNVERIFIED =
  "webhook-signature: no secret of this worker made it. The sender is unknown, or the id, the time or the raw body differs from what was " +
  "signed: webhook-id.webhook-timestamp.body";

const sendersOf = remembered((secret: string) => Promise.all(valuesOf(secret).map(importSender)));
const encoder = new TextEncoder();

/**
 * Verifies a Standard Webhooks 1.0.0 signature over the raw bytes of the body.
 *
 * @param secret values separated by whitespace: `whsec_` and base64, or `sender=` before that. Any of them verifies.
 * @param body reads the raw body. It is not called if the headers alone are wrong.
 * @returns the event's name, which a repeated message has too: `sender/webhook-id`, so that the ids of two senders cannot collide, or
 * the webhook-id alone if the secret has no sender.
 * @throws {Problem} 500 if a secret is malformed, 403 if a sender uses the name of another, 401 for every other cause.
 */
export async function verifyWebhook(secret: string, headers: Headers, body: () => Promise<ArrayBuffer>, now: number): Promise<string> {
  const senders = await sendersOf(secret);
  const id = headers.get("webhook-id") ?? "";
  const timestamp = headers.get("webhook-timestamp") ?? "";
  checkHeaders(headers, id, timestamp, now);

  const texts = (headers.get("webhook-signature") ?? "").split(" ").slice(0, MAX_SIGNATURES);
  const signatures = texts.map((text) => encoder.encode(text)).filter(({ length }) => length === SIGNATURE_LENGTH);
  // Refused before the body is read.
  if (signatures.length === 0) throw unauthorised("webhook-signature: expected v1, and the base64 of 32 bytes, got another form");

  const content = new Uint8Array(await body());
  let verified: Sender | undefined;
  for (const sender of senders) {
    const expected = encoder.encode(await signatureOf(sender, id, timestamp, content));
    for (const signature of signatures) {
      if (crypto.subtle.timingSafeEqual(signature, expected)) verified ??= sender;
    }
  }
  if (!verified) throw unauthorised(UNVERIFIED);
  if (verified.name !== undefined) return `${verified.name}/${id}`;
  // A sender without a name must not use the prefix of a named one.
  if (senders.some(({ name }) => name !== undefined && id.startsWith(`${name}/`))) {
    throw new Problem(403, "webhook-id: begins with the name of another sender: choose an id without a slash");
  }
  return id;
}

/** Checks what can be checked without the body. @throws {Problem} 401 naming the header. */
function checkHeaders(headers: Headers, id: string, timestamp: string, now: number): void {
  const missing = HEADERS.filter((name) => !headers.get(name));
  if (missing.length > 0) {
    const none = missing.length === HEADERS.length ? "none of them" : `no ${missing.join(" and no ")}`;
    const withKey = headers.has("authorization") ? "; this call takes a signature, not an API key" : "";
    throw unauthorised(`expected the headers ${HEADERS.join(", ")} of a signed webhook, got ${none}${withKey}`);
  }
  // The id is printable ASCII, so that it fits the metadata in KV. Each second has one text.
  if (!/^[!-~]{1,128}$/.test(id)) throw unauthorised("webhook-id: expected 1 to 128 printable ASCII characters without a space");
  const at = Number(timestamp) * 1000;
  if (!/^[1-9]\d{0,11}$/.test(timestamp)) {
    throw unauthorised(
      `webhook-timestamp: expected whole seconds since 1970, such as ${seconds(now)}${/^\d{13}$/.test(timestamp) ? ", got milliseconds" : ""}`,
    );
  }
  if (Math.abs(now - at) <= TOLERANCE_MS) return;
  throw unauthorised(
    `webhook-timestamp: expected at most ${TOLERANCE_MS / 1000} seconds between both clocks, got ${timestamp} (${dateOf(at)}) while the ` +
      `worker's clock says ${seconds(now)} (${dateOf(now)}): sign each attempt anew, and set the clock`,
  );
}

const seconds = (ms: number): number => Math.floor(ms / 1000);
const dateOf = (ms: number): string => new Date(ms).toISOString();

/** The headers of a webhook, signed with the first secret. @throws {Problem} 500 if it is malformed. */
export async function signed(env: Environment, id: string, body: string, now: number): Promise<Record<(typeof HEADERS)[number], string>> {
  const sender = await importSender(valuesOf(secretOf(env, "AFTERCLICK_WEBHOOK_SECRET"))[0]);
  const timestamp = String(seconds(now));
  const signature = await signatureOf(sender, id, timestamp, encoder.encode(body));
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
}

async function signatureOf({ key }: Sender, id: string, timestamp: string, body: Uint8Array): Promise<string> {
  const content = joined(`${id}.${timestamp}.`, body);
  return `v1,${encodeBase64(await crypto.subtle.sign("HMAC", key, content))}`;
}

async function importSender(value: string): Promise<Sender> {
  const { sender: name, base64 = "" } = VALUE.exec(value)?.groups ?? {};
  const bytes = bytesOf(base64, "base64");
  if (bytes.length < LEAST_SECRET_BYTES) {
    const expected = `values of whsec_ and the base64 of ${LEAST_SECRET_BYTES} or more bytes, or sender= before that`;
    throw new Problem(500, `AFTERCLICK_WEBHOOK_SECRET: expected ${expected}`);
  }
  return { name, key: await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]) };
}
