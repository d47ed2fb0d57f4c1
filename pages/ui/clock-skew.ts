import { duration } from "./notation.ts";

/** Differences up to this are not worth a word. A request may take some of it. */
const TOLERATED_MS = 120_000;

/**
 * A sentence about a device whose clock differs from the worker's; empty if it does not.
 * @param aheadMs this device's time minus the worker's.
 */
export function clockSkew(aheadMs: number): string {
  if (Math.abs(aheadMs) <= TOLERATED_MS) return "";
  const way = aheadMs > 0 ? "ahead of" : "behind";
  return `This device's clock is ${duration(Math.abs(aheadMs))} ${way} the worker's. This page does not rely on it.`;
}
