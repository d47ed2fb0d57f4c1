import { runDurableObjectAlarm } from "cloudflare:test";
import { afterEach, beforeEach, expect, vi } from "vitest";
import { HOUR_MS, learnerOf } from "./client.ts";

export const MINUTE_MS = 60_000;
export const DAY_MS = 24 * HOUR_MS;
/** Of the models that `createModel` makes, with a window of an hour: a quarter of it is a bucket. */
export const QUARTER_MS = 15 * MINUTE_MS;

// By hand, as the worker's own rules are what is tested with them: a bucket of 15 minutes, a window of 60 and a grace of 5.

/** Start of the bucket of what was shown at a time. */
export const bucketOf = (shownAt: number): number => Math.floor(shownAt / QUARTER_MS) * QUARTER_MS;

/** When that bucket closes. */
export const closing = (shownAt: number): number => bucketOf(shownAt) + (15 + 60 + 5) * MINUTE_MS;

/** When its journal is audited. */
export const auditing = (shownAt: number): number => closing(shownAt) + 24 * 60 * MINUTE_MS;

/** When it is forgotten, if it is kept for so long after it closes. */
export const forgetting = (shownAt: number, keptMs: number): number => closing(shownAt) + keptMs;

/** In 2037: alarms ring by the real clock, so here they ring by hand alone. Local KV takes no expiration of after 2038. */
export const START = Date.UTC(2037, 0, 1);

/** Each test begins at the same time, on a clock that goes only when it is told. */
export function useClock(): void {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: START }));
  afterEach(() => void vi.useRealTimers());
}

export function tick(ms = 1): void {
  vi.setSystemTime(Date.now() + ms);
}

/** Lets the alarm of a model ring at a time. */
export async function ring(model: string, now: number): Promise<void> {
  vi.setSystemTime(now);
  expect(await runDurableObjectAlarm(learnerOf(model))).toBe(true);
}
