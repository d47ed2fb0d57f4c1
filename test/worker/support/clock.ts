import { runDurableObjectAlarm } from "cloudflare:test";
import { afterEach, beforeEach, expect, vi } from "vitest";
import { HOUR_MS, learnerOf } from "./client.ts";

export const MINUTE_MS = 60_000;
export const DAY_MS = 24 * HOUR_MS;
/** Constants of `createModel`'s models: the window is an hour, and a bucket a quarter of it. */
export const QUARTER_MS = 15 * MINUTE_MS;

// Computed by hand, because these tests check the worker's own rules: a bucket of 15 minutes, a window of 60 and a grace of 5.

/** Start of the bucket of an impression. */
export const bucketOf = (shownAt: number): number => Math.floor(shownAt / QUARTER_MS) * QUARTER_MS;

/** Closing time of that bucket. */
export const closing = (shownAt: number): number => bucketOf(shownAt) + (15 + 60 + 5) * MINUTE_MS;

/** Time of the bucket's audit. */
export const auditing = (shownAt: number): number => closing(shownAt) + 24 * 60 * MINUTE_MS;

/** Time at which the bucket is forgotten, for a given retention. */
export const forgetting = (shownAt: number, keptMs: number): number => closing(shownAt) + keptMs;

/** In 2037, so that no real alarm fires. Local KV refuses expirations after 2038. */
export const START = Date.UTC(2037, 0, 1);

/** Starts each test at the same time. The clock moves only on request. */
export function useClock(): void {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: START }));
  afterEach(() => void vi.useRealTimers());
}

export function tick(ms = 1): void {
  vi.setSystemTime(Date.now() + ms);
}

/** Runs the alarm of a model at a time. */
export async function ring(model: string, now: number): Promise<void> {
  vi.setSystemTime(now);
  expect(await runDurableObjectAlarm(learnerOf(model))).toBe(true);
}
