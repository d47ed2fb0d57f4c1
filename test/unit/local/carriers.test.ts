import { afterEach, expect, it, vi } from "vitest";
import { shopCarrier, workerCarrier } from "../../../src/local/carriers.ts";

afterEach(() => vi.unstubAllGlobals());

const items = [{ id: "1" }, { id: "2" }];
const toWorker = workerCarrier("https://worker.example/impressions", "pk_key");
const toShop = shopCarrier("/conversions");

it("brings impressions to a worker under the key, as JSON", () => {
  expect(toWorker.request(items)).toEqual({
    url: "https://worker.example/impressions",
    init: {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer pk_key" },
      body: '[{"id":"1"},{"id":"2"}]',
    },
  });
});

it("brings conversions to the shop without any key, as JSON", () => {
  expect(toShop.request(items)).toEqual({
    url: "/conversions",
    init: { method: "POST", headers: { "content-type": "application/json" }, body: '[{"id":"1"},{"id":"2"}]' },
  });
});

it.each([toWorker, toShop])("brings at most fifty together", ({ most }) => {
  expect(most).toBe(50);
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
