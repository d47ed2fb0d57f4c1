import { sha256 } from "@noble/hashes/sha2.js";
import { encodeBase64Url } from "hono/utils/encode";

// A receipt is a hash of a log line and of the receipt before it. A changed, missing or moved line changes all later receipts, so
// the last receipt identifies the whole log.

const BYTES = 16;
const FIELD = /^(\{.*),"receipt":"([\w-]{22})"\}$/;

const encoder = new TextEncoder();

/** A line with its receipt. `before` is the receipt of the previous line, "" for the first line. */
export function receipted(line: object, before: string): { readonly text: string; readonly receipt: string } {
  const json = JSON.stringify(line);
  const receipt = receiptOf(json, before);
  return { text: `${json.slice(0, -1)},"receipt":"${receipt}"}`, receipt };
}

/** The receipt of an exported line, and whether it is right; undefined if the line has none. */
export function receiptIn(text: string, before: string): { readonly receipt: string; readonly follows: boolean } | undefined {
  const [, json, receipt] = FIELD.exec(text) ?? [];
  return json === undefined ? undefined : { receipt, follows: receiptOf(`${json}}`, before) === receipt };
}

function receiptOf(json: string, before: string): string {
  const hash = sha256(encoder.encode(`${before}\n${json}`)).slice(0, BYTES);
  return encodeBase64Url(hash.buffer).replaceAll("=", "");
}
