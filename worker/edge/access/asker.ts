import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import type { Context } from "hono";
import { encodeBase64Url } from "hono/utils/encode";
import { secret } from "../../environment.ts";
import { isByPage, type Keyed } from "./api-keys.ts";

const MINUTE_MS = 60_000;
const NAME_BYTES = 9;
const encoder = new TextEncoder();

/** Groups of an IPv6 address that name a network. Its owner chooses the others. */
const NETWORK_GROUPS = 4;
const GROUPS = 8;

/** Where a request comes from: an IPv4 address, or the /64 of an IPv6 address. Undefined if the platform does not say it. */
export function askerOf({ req }: Pick<Context, "req">): string | undefined {
  const address = req.header("cf-connecting-ip");
  if (!address?.includes(":")) return address;
  // IPv4 in the form of IPv6.
  if (address.includes(".")) return address.slice(address.lastIndexOf(":") + 1);
  const [before, after] = address.split("::").map((part) => part.split(":").filter(Boolean));
  const left = after ? GROUPS - before.length - after.length : 0;
  const groups = [...before, ...Array.from({ length: left }, () => "0"), ...(after ?? [])].slice(0, NETWORK_GROUPS);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(":")}::/64`;
}

/**
 * Names a page's address to learners, which count by it and keep it for a minute. In another minute the address has another name, and no
 * name tells the address. Undefined for a backend.
 */
export function askerName(c: Context<Keyed>): string | undefined {
  const asker = isByPage(c) ? askerOf(c) : undefined;
  if (asker === undefined) return undefined;
  const text = `asker ${Math.floor(Date.now() / MINUTE_MS)} ${asker}`;
  const hash = hmac(sha256, encoder.encode(secret(c.env, "AFTERCLICK_TOKEN_KEY")), encoder.encode(text));
  return encodeBase64Url(hash.slice(0, NAME_BYTES).buffer as ArrayBuffer);
}
