import { duration } from "./notation.ts";

/** Differences up to this are not worth a word. A request may take some of it. */
const TOLERATED_MS = 120_000;
const MINUTE_MS = 60_000;

/**
 * A sentence about a device whose clock differs from the worker's; empty if it does not.
 * @param aheadMs this device's time minus the worker's.
 */
export function clockSkew(aheadMs: number): string {
  if (Math.abs(aheadMs) <= TOLERATED_MS) return "";
  const way = aheadMs > 0 ? "ahead of" : "behind";
  const minutes = Math.round(Math.abs(aheadMs) / MINUTE_MS);
  return `This device's clock is ${duration(minutes * MINUTE_MS)} ${way} the worker's. This page does not rely on it.`;
}
