import { afterEach, expect, it, vi } from "vitest";
import { shopCarrier, workerCarrier } from "../../../src/local/carriers.ts";

afterEach(() => vi.unstubAllGlobals());

const items = [{ id: "1" }, { id: "2" }];
const toWorker = workerCarrier("https://worker.example/impressions", "pk_key");
const toShop = shopCarrier("/conversions");

it.each([
  ["impressions to a worker under the key", toWorker, "https://worker.example/impressions", { authorization: "Bearer pk_key" }],
  ["conversions to the shop without any key", toShop, "/conversions", {}],
] as const)("brings %s, as JSON, at most fifty together", (_, carrier, url, key) => {
  const headers = { "content-type": "application/json", ...key };
  expect(carrier.request(items)).toEqual({ url, init: { method: "POST", headers, body: '[{"id":"1"},{"id":"2"}]' } });
  expect(carrier.most).toBe(50);
});

it("lets the request to the worker outlive its page, whatever becomes of it", async () => {
  const fetched = vi.fn(() => Promise.reject(new TypeError("offline")));
  vi.stubGlobal("fetch", fetched);
  expect(toWorker.beacon(items)).toBeUndefined();
  const { url, init } = toWorker.request(items);
  expect(fetched.mock.calls).toEqual([[url, { ...init, keepalive: true }]]);
});

it("gives the shop's part to a beacon, as JSON", async () => {
  const sendBeacon = vi.fn((_: string, __: Blob) => true);
  vi.stubGlobal("navigator", { sendBeacon });
  expect(toShop.beacon(items)).toBeUndefined();
  const [[address, blob]] = sendBeacon.mock.calls;
  expect([address, blob.type, await blob.text()]).toEqual(["/conversions", "application/json", '[{"id":"1"},{"id":"2"}]']);
});
