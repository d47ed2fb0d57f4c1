import { afterEach, describe, expect, it, vi } from "vitest";
import { moment } from "../../../pages/ui/notation.ts";

describe("a moment", () => {
  afterEach(() => void vi.useRealTimers());

  it("of another year has its year, also on the same day of the year", () => {
    vi.useFakeTimers({ now: new Date(2026, 10, 21, 23), toFake: ["Date"] });
    const at = (year: number, month: number, day: number) => moment(new Date(year, month, day, 9, 5).getTime());
    expect([at(2025, 10, 21), at(2025, 11, 31), at(2026, 0, 1), at(2026, 10, 21)]).toEqual([
      "21 Nov 2025 09:05",
      "31 Dec 2025 09:05",
      "1 Jan 09:05",
      "09:05",
    ]);
  });
});
