import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { decodePublication, type Publication } from "../../worker/domain/publication.ts";
import { type CallOptions, call } from "./client.ts";

/** After it an isolate looks for something newer. */
export const FRESH_MS = 10_000;

/** The version that an isolate decides by, once it has looked for a newer one. The clock goes on meanwhile. */
export async function versionAt(isolate: CallOptions["isolate"], model: string, bindings: CallOptions["env"] = {}): Promise<number> {
  vi.setSystemTime(Date.now() + FRESH_MS);
  const ask = () => call("POST", `/v1/models/${model}/recommendations`, {}, { isolate, env: bindings });
  await ask();
  const { status, body } = await ask();
  expect(status).toBe(201);
  return body.modelVersion;
}

/** What KV has of a model. */
export async function bytesIn(model: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array((await env.EVENTS.get(`model/${model}`, "arrayBuffer")) as ArrayBuffer);
}

export async function publicationIn(model: string): Promise<Publication> {
  return (await decodePublication(await bytesIn(model))) as Publication;
}

/** Where the state begins in the bytes of a publication, and what stands before it. */
export function headerOf(bytes: Uint8Array<ArrayBuffer>): { readonly end: number; readonly content: Record<string, unknown> } {
  const end = 36 + new DataView(bytes.buffer).getUint32(32);
  return { end, content: JSON.parse(new TextDecoder().decode(bytes.subarray(36, end))) };
}

/** A publication with other fields in its header, as whole as the first. */
export async function forged(bytes: Uint8Array<ArrayBuffer>, fields: object): Promise<Uint8Array<ArrayBuffer>> {
  const { end, content } = headerOf(bytes);
  const text = new TextEncoder().encode(JSON.stringify({ ...content, ...fields }));
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, text.length);
  const rest = Uint8Array.of(...length, ...text, ...bytes.subarray(end));
  return Uint8Array.of(...new Uint8Array(await crypto.subtle.digest("SHA-256", rest)), ...rest);
}
