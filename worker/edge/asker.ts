import type { Context } from "hono";

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
