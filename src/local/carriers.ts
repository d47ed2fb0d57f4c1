import type { Carrier } from "./outbox.ts";

/** A request with this many items stays well below 64 kB, the limit for requests in flight when a page is unloaded. */
const MOST = 50;
const JSON_TYPE = { "content-type": "application/json" };

/** Sends impressions to a worker. A beacon cannot carry a key, so a keepalive request is sent when the page is unloaded. */
export function workerCarrier(address: string, key: string): Carrier {
  const request = (items: readonly unknown[]) => {
    return {
      url: address,
      init: { method: "POST", headers: { ...JSON_TYPE, authorization: `Bearer ${key}` }, body: JSON.stringify(items) },
    };
  };
  const beacon = (items: readonly unknown[]) => void fetch(address, { ...request(items).init, keepalive: true }).catch(() => {});
  return { most: MOST, request, beacon };
}

/** Sends conversions to the shop's own address, with its cookies. */
export function shopCarrier(address: string): Carrier {
  return {
    most: MOST,
    request: (items) => ({ url: address, init: { method: "POST", headers: JSON_TYPE, body: JSON.stringify(items) } }),
    beacon: (items) => void navigator.sendBeacon(address, new Blob([JSON.stringify(items)], { type: JSON_TYPE["content-type"] })),
  };
}
