import { sha256 } from "@noble/hashes/sha2.js";
import { encodeBase64Url } from "hono/utils/encode";

// Each line of an exported log ends with a hash of itself and of the line before: none can be altered, left out or put elsewhere
// without all receipts after it being other ones. Whoever keeps the last one can tell any other log from this.

const BYTES = 16;
const FIELD = /^(\{.*),"receipt":"([\w-]{22})"\}$/;

const encoder = new TextEncoder();

/** The line as it is exported, and its receipt; `before` is that of the line before, "" for the first. */
export function receipted(line: object, before: string): { readonly text: string; readonly receipt: string } {
  const json = JSON.stringify(line);
  const receipt = receiptOf(json, before);
  return { text: `${json.slice(0, -1)},"receipt":"${receipt}"}`, receipt };
}

/** The receipt of an exported line, and whether it follows from the line and the receipt before; undefined if it has none. */
export function receiptIn(text: string, before: string): { readonly receipt: string; readonly follows: boolean } | undefined {
  const [, json, receipt] = FIELD.exec(text) ?? [];
  return json === undefined ? undefined : { receipt, follows: receiptOf(`${json}}`, before) === receipt };
}

function receiptOf(json: string, before: string): string {
  const hash = sha256(encoder.encode(`${before}\n${json}`)).slice(0, BYTES);
  return encodeBase64Url(hash.buffer).replaceAll("=", "");
}
