import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers/promises";
import { vi } from "vitest";

/**
 * Ends every pause of a command at once, and moves a simulated clock on by it.
 * @returns the durations of the pauses in ms. They are noted until `endPauses`.
 */
export function notedPauses(): number[] {
  vi.useFakeTimers({ now: Date.parse("2026-11-21T12:00:00Z"), toFake: ["Date", "performance"] });
  const noted: number[] = [];
  vi.spyOn(timers, "setTimeout").mockImplementation((async (ms: number) => {
    noted.push(ms);
    vi.advanceTimersByTime(ms);
  }) as never);
  syncBuiltinESMExports();
  return noted;
}

/** Brings back the clock of the machine and real pauses. */
export function endPauses(): void {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  vi.useRealTimers();
}
