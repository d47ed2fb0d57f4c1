import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { DelayedPosterior } from "../../../src/model/pending/delayed-posterior.ts";
import type { Posterior } from "../../../src/model/posterior.ts";
import { Pending } from "../../../src/pending.ts";

// Impressions outside the window free their memory, however long the run.

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
const MEGABYTE = 2 ** 20;

/** Bytes of the heap that `owner` still holds after `fill`. */
function retained<Owner>(owner: Owner, fill: (owner: Owner) => void): number {
  collect();
  const before = process.memoryUsage().heapUsed;
  fill(owner);
  collect();
  const after = process.memoryUsage().heapUsed;
  // Keeps the owner alive until here.
  expect(owner).toBeDefined();
  return after - before;
}

/** A policy that learns nothing and always has the same width. */
const ignorant = { dimension: 4, append: () => 0, deviation: () => 1, moments: undefined } as unknown as Posterior;

it.each(["exact", "buffered"] as const)("%s widths of closed windows are not kept", (norms) => {
  const features = Float64Array.of(1, 2, 3, 4);
  const state = new DelayedPosterior(ignorant, { rounds: 10 }, { norms, measure: (deviation) => deviation, buffer: "before" });
  const bytes = retained(state, () => {
    for (let round = 1; round <= 1_000_000; round++) state.append(features, { round });
  });
  expect(bytes).toBeLessThan(6 * MEGABYTE);
});

it("impressions past their grace are not kept", () => {
  const pending = new Pending({ rounds: 10, grace: 10 }, 0);
  const bytes = retained(pending, () => {
    for (let round = 1; round <= 100_000; round++) {
      pending.advance({ round });
      pending.add(`impression ${round}`, { features: Float64Array.of(round), slot: 0, round });
    }
  });
  expect(bytes).toBeLessThan(6 * MEGABYTE);
});
