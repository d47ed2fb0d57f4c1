import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import type { Catalogue } from "../../../worker/domain/catalogue/catalogue.ts";
import { type CatalogueRecord, decodeRecord, recorded } from "../../../worker/domain/catalogue/catalogue-record.ts";
import { decodePublication, type Publication } from "../../../worker/domain/model/publication.ts";
import { type CallOptions, call } from "./client.ts";

/** Time after which an isolate looks for a newer version. */
export const FRESH_MS = 10_000;

/** The version that an isolate uses after it has looked for a newer one. The clock moves meanwhile. */
export async function versionAt(isolate: CallOptions["isolate"], model: string, bindings: CallOptions["env"] = {}): Promise<number> {
  vi.setSystemTime(Date.now() + FRESH_MS);
  const ask = () => call("POST", `/v1/models/${model}/recommendations`, {}, { isolate, env: bindings });
  await ask();
  const { status, body } = await ask();
  expect(status).toBe(201);
  return body.modelVersion;
}

/** The model's publication in KV. */
export async function bytesIn(model: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array((await env.EVENTS.get(`model/${model}`, "arrayBuffer")) as ArrayBuffer);
}

export async function publicationIn(model: string): Promise<Publication> {
  return (await decodePublication(await bytesIn(model))) as Publication;
}

/** The model's catalogue in KV. */
export async function catalogueIn(model: string): Promise<Catalogue> {
  const bytes = new Uint8Array((await env.EVENTS.get(`catalogue/${model}`, "arrayBuffer")) as ArrayBuffer);
  return recorded((await decodeRecord(bytes)) as CatalogueRecord, undefined) as Catalogue;
}

/** Position of the state in the bytes of a publication, and the bytes before it. */
export function headerOf(bytes: Uint8Array<ArrayBuffer>): { readonly end: number; readonly content: Record<string, unknown> } {
  const end = 36 + new DataView(bytes.buffer).getUint32(32);
  return { end, content: JSON.parse(new TextDecoder().decode(bytes.subarray(36, end))) };
}

/** The publication with other fields in its header and a correct checksum. */
export async function forged(bytes: Uint8Array<ArrayBuffer>, fields: object): Promise<Uint8Array<ArrayBuffer>> {
  const { end, content } = headerOf(bytes);
  const text = new TextEncoder().encode(JSON.stringify({ ...content, ...fields }));
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, text.length);
  const rest = await joined([length, text, bytes.subarray(end)]);
  return joined([await crypto.subtle.digest("SHA-256", rest), rest]);
}

async function joined(parts: ConstructorParameters<typeof Blob>[0] & object): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await new Blob([...parts]).arrayBuffer());
}
