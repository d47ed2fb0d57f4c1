import type { Carrier } from "./outbox.ts";

/** So many together stay well below the 64 kB that a page may have under way when it goes. */
const MOST = 50;
const JSON_TYPE = { "content-type": "application/json" };

/** Brings impressions to a worker. A beacon cannot bear a key: when the page goes, a request outlives it. */
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

/** Brings conversions to a shop's own address, with its cookies. */
export function shopCarrier(address: string): Carrier {
  return {
    most: MOST,
    request: (items) => ({ url: address, init: { method: "POST", headers: JSON_TYPE, body: JSON.stringify(items) } }),
    beacon: (items) => void navigator.sendBeacon(address, new Blob([JSON.stringify(items)], { type: JSON_TYPE["content-type"] })),
  };
}
