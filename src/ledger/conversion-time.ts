import { finiteNumber, outOfRange } from "../values/argument.ts";

/** Clocks may differ by this much, in ms. */
export const CLOCK_TOLERANCE_MS = 300_000;

/** @throws {TypeError | RangeError} if the time of a conversion, in ms, lies before its impression by more than clocks may differ. */
export function checkConversionTime(name: string, at: unknown, shownAt: number): void {
  if (finiteNumber(name, at) < shownAt - CLOCK_TOLERANCE_MS) throw outOfRange(name, "at most 5 minutes before the impression", at);
}
