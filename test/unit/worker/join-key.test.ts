import { expect, it } from "vitest";
import { keyRefusal } from "../../../worker/protocol/join-key.ts";
import { plainId } from "../../../worker/protocol/plain-id.ts";

it.each([
  ...["", " ", "\t\n", "\u00a0\u3000", "\u200b\ufeff", "\u3164", "\u2800"],
  ...["0", "00", "0.0", "-0", "-1", "00000000-0000-0000-0000-000000000000", "{00000000000000000000000000000000}"],
  ...["ffffffff-ffff-ffff-ffff-ffffffffffff", "null", "NULL", " null ", "(null)", '"null"', "undefined", "NaN", "None", "nil"],
  ...["[object Object]", "[object HTMLInputElement]", "true", "False", "n/a", "(not set)", "{{ customer.id }}", "$" + "{id}", "-", "''"],
  ...["guest", "Guest", "GUEST_USER", "guest checkout", "anonymous", "anonymousUser", "anon", "unknown", "gid://shopify/Customer/0"],
  ...["d41d8cd98f00b204e9800998ecf8427e", "da39a3ee5e6b4b0d3255bfef95601890afd80709"],
])("%j is nobody's key", (key) => {
  expect(keyRefusal(key)).toMatch(/^expected a key of one visitor or order, got ".*", which programs write for a visitor without an id/);
});

it.each([
  ...["1", "7", "-12", "visitor", "order 7", "na", "0x1", "cus_0", "guesthouse", "anonymous@shop.example", "Nullah", "true north"],
  ...["order-\u{1f33b}", "gid://shopify/Customer/1", "Ана", "d41d8cd98f00b204e9800998ecf8427f", "00000000-0000-0000-0000-000000000001"],
])("%j is a key", (key) => {
  expect(keyRefusal(key)).toBeUndefined();
});

it("names the length of a key of a megabyte, and half of a surrogate pair", () => {
  expect(keyRefusal("x".repeat(1_000_000))).toBe("expected a key of one visitor or order with at most 256 characters, got 1000000");
  expect(keyRefusal("\ud800")).toContain("well-formed Unicode");
});

it.each([
  ["Cafe\u0301", "Café"],
  [" 7\u200b", "7"],
  ["gid://shopify/Product/123", "123"],
  ["gid://shopify/Cart/c1-7?key=9f", "c1-7"],
  ["gid://shopify/Product/", "gid://shopify/Product/"],
  ["sku 7", "sku 7"],
])("ids match in one form: %j as %j", (id, plain) => {
  expect(plainId(id)).toBe(plain);
});
