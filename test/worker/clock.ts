import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, vi } from "vitest";
import { bucketAt } from "../../worker/bucket.ts";
import { graceMs } from "../../worker/environment.ts";
import { HOUR_MS, learnerOf } from "./client.ts";

export const MINUTE_MS = 60_000;
export const DAY_MS = 24 * HOUR_MS;
/** Of the models that `createModel` makes. */
export const timing = { windowMs: HOUR_MS, graceMs: graceMs(env) };

/** Each test begins at the start of a bucket, on a clock that goes only when it is told. */
export function useClock(): void {
  // Ahead of the real one, by which alarms ring: here they ring by hand alone.
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: bucketAt(Date.now() + 2 * DAY_MS, HOUR_MS) }));
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
