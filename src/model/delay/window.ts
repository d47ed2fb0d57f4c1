import { finiteNumber, onlyKeys, outOfRange, positiveNumber, record, wholeNumber, wrongType } from "../../values/argument.ts";

/**
 * How long after its impression a conversion still counts: rounds m, milliseconds, or for ever.
 *
 * Impressions are remembered for `grace` longer, in the same unit. A conversion that happened within the window still counts if it
 * is delivered during the grace. One that happened after the window is then known to be late. Default: the length of the window.
 */
export type Window = { readonly rounds: number; readonly grace?: number } | { readonly ms: number; readonly grace?: number } | "none";

/** When something happened. */
export interface Moment {
  readonly round: number;
  /** Milliseconds since 1970; absent unless the window is in ms. */
  readonly now?: number;
}

/** Whether a window is in ms, and not in rounds or without end. */
export function isInMs(window: Window): window is Extract<Window, { readonly ms: number }> {
  return window !== "none" && "ms" in window;
}

/** The time of `moment` in the unit of the window: ms, or rounds. */
export function timeOf(window: Window, moment: Moment): number {
  return isInMs(window) ? (moment.now ?? 0) : moment.round;
}

/** A time in ms since 1970. @throws {TypeError | RangeError} naming it. */
export function parseNow(now: unknown): number {
  return finiteNumber("now", now, 0, Number.MAX_SAFE_INTEGER);
}

/** The moment of a round. A window in ms needs a time. @throws {TypeError | RangeError} naming the time. */
export function momentOf(window: Window, round: number, now: unknown): Moment {
  return now === undefined && !isInMs(window) ? { round } : { round, now: parseNow(now) };
}

/** Length of a window in its unit. */
export function spanOf(window: Window): number {
  if (window === "none") return Number.MAX_VALUE;
  return isInMs(window) ? window.ms : window.rounds;
}

/** A microsecond. Ages are counted in parts of the window, and would be infinite in parts of a far shorter one. */
const LEAST_MS = 0.001;

/** @throws {TypeError | RangeError} naming the argument. */
export function parseWindow(value: unknown): Window {
  if (value === "none") return value;
  if (value === null || typeof value !== "object") throw wrongType("window", '{ rounds }, { ms } or "none"', value);
  const window = record("window", value);
  onlyKeys("window", window, ["rounds", "ms", "grace"]);
  if ("rounds" in window === "ms" in window) throw new RangeError("window: expected either rounds or ms");
  const grace = window.grace === undefined ? {} : { grace: finiteNumber("window.grace", window.grace, 0) };
  if ("rounds" in window) return { rounds: wholeNumber("window.rounds", window.rounds, 1), ...grace };
  const ms = positiveNumber("window.ms", window.ms);
  if (ms < LEAST_MS) throw outOfRange("window.ms", `at least ${LEAST_MS}`, ms);
  return { ms, ...grace };
}
