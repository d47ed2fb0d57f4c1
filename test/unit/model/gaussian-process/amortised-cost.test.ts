import { expect, it, vi } from "vitest";
import { CoreProcess } from "../../../../src/core/core-process.ts";
import { Ledger } from "../../../../src/ledger/ledger.ts";
import { GaussianProcess } from "../../../../src/model/gaussian-process/gaussian-process.ts";
import { parseGaussianProcess } from "../../../../src/model/gaussian-process/gaussian-process-settings.ts";
import { freshCore } from "../../../support/core.ts";

// Maintenance runs now and then, not with every impression. The tests count work instead of time.

/** Number of rows at each merge, while `places` are appended in turn in a domain of so many points. */
function merges(points: number, places: readonly number[]): number[] {
  const { core } = freshCore();
  const domain = { points: Array.from({ length: points }, (_, i) => [i]) };
  const process = new GaussianProcess(core, parseGaussianProcess({ domain }));
  const refactored = vi.spyOn(CoreProcess.prototype, "refactor");
  try {
    return places.flatMap((place, rows) => {
      const before = refactored.mock.calls.length;
      process.append(Float64Array.of(place));
      return refactored.mock.calls.length > before ? [rows] : [];
    });
  } finally {
    refactored.mockRestore();
  }
}

it("a process in a domain merges no rows while each point has its own", () => {
  expect(merges(300, [...Array(300).keys()])).toEqual([]);
});

it("a process in a domain keeps repeated points apart up to 256 rows, and merges them then", () => {
  expect(
    merges(
      3,
      Array.from({ length: 300 }, (_, i) => i % 3),
    ),
  ).toEqual([256]);
});

it("a process in a domain merges its rows when they come to twice its points", () => {
  expect(
    merges(
      150,
      Array.from({ length: 310 }, (_, i) => i % 150),
    ),
  ).toEqual([300]);
});

it.each([10, 10_000])("impressions are let go of at the cost of a few steps each, where %d are remembered", (rounds) => {
  const ledger = new Ledger({ rounds, grace: 0 }, 0);
  const set = vi.spyOn(Map.prototype, "set");
  let steps = 0;
  try {
    for (let round = 1; round <= 20_000; round++) {
      ledger.advance({ round });
      ledger.register(`${round}`, { features: Float64Array.of(round), slot: 0, round });
      steps += set.mock.calls.length;
      set.mockClear();
      expect(steps).toBeLessThanOrEqual(3 * round);
    }
  } finally {
    set.mockRestore();
  }
});
