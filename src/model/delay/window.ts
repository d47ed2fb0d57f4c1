import { finiteNumber, onlyKeys, positiveNumber, record, wholeNumber, wrongType } from "../../argument.ts";

/**
 * How long after its impression a conversion still counts: rounds m, milliseconds, or for ever.
 *
 * For `grace` longer, in the same unit, impressions are remembered: a conversion that happened in time but is delivered
 * later still counts, one that happened too late is known as such. Default: as long as the window itself.
 */
export type Window = { readonly rounds: number; readonly grace?: number } | { readonly ms: number; readonly grace?: number } | "none";

/** When something happened. */
export interface Moment {
  readonly round: number;
  /** Milliseconds since 1970; absent unless the window is in ms. */
  readonly now?: number;
}

/** When it was, in the unit of the window: ms, or rounds. */
export function timeOf(window: Window, moment: Moment): number {
  return typeof window === "object" && "ms" in window ? (moment.now ?? 0) : moment.round;
}

/** @throws {TypeError | RangeError} naming the argument. */
export function parseWindow(value: unknown): Window {
  if (value === "none") return value;
  if (value === null || typeof value !== "object") throw wrongType("window", '{ rounds }, { ms } or "none"', value);
  const window = record("window", value);
  onlyKeys("window", window, ["rounds", "ms", "grace"]);
  if ("rounds" in window === "ms" in window) throw new RangeError("window: expected either rounds or ms");
  const grace = window.grace === undefined ? {} : { grace: finiteNumber("window.grace", window.grace, 0) };
  if ("rounds" in window) return { rounds: wholeNumber("window.rounds", window.rounds, 1), ...grace };
  return { ms: positiveNumber("window.ms", window.ms), ...grace };
}
