import { finiteNumber, outOfRange } from "../../argument.ts";

/** Clocks may differ by this much, in ms. */
export const CLOCK_TOLERANCE_MS = 300_000;

/** The time of a conversion in ms. @throws {TypeError | RangeError} if it lies before its impression by more than clocks may differ. */
export function conversionTime(name: string, at: unknown, shownAt: number): number {
  const time = finiteNumber(name, at);
  if (time >= shownAt - CLOCK_TOLERANCE_MS) return time;
  throw outOfRange(name, `at least ${shownAt - CLOCK_TOLERANCE_MS}, five minutes before its impression`, at);
}
