import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { encoder } from "../../../../src/encoding/encoder.ts";
import type { NamedFeatures } from "../../../../src/encoding/terms.ts";
import { Ledger } from "../../../../src/ledger/ledger.ts";
import { DelayedPosterior } from "../../../../src/model/pending/delayed-posterior.ts";
import type { Posterior } from "../../../../src/model/posterior.ts";

// What has passed frees its memory, however long the run: impressions outside the window, and contexts of visitors.

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
  const ledger = new Ledger({ rounds: 10, grace: 10 }, 0);
  const bytes = retained(ledger, () => {
    for (let round = 1; round <= 100_000; round++) {
      ledger.advance({ round });
      ledger.register(`impression ${round}`, { features: Float64Array.of(round), slot: 0, round });
    }
  });
  expect(bytes).toBeLessThan(6 * MEGABYTE);
});

it.each<[string, number, (n: number) => NamedFeatures]>([
  [
    "long texts",
    500,
    (n) => {
      const texts = (feature: number) => Array.from({ length: 60 }, (_, i) => `${n} ${feature} ${i}`.padEnd(256));
      return Object.fromEntries(Array.from({ length: 8 }, (_, feature) => [`feature ${feature + (n % 25)}`, texts(feature)]));
    },
  ],
  ["features that nobody else has", 100_000, (n) => ({ [`feature ${n}`]: true })],
])("an encoder does not keep what visitors name: %s", (_, contexts, contextOf) => {
  const featuresIn = encoder({ dimension: 64, interactions: "all" }).among([{ id: "mug" }]);
  const bytes = retained(featuresIn, () => {
    for (let n = 0; n < contexts; n++) featuresIn(contextOf(n));
  });
  expect(bytes).toBeLessThan(24 * MEGABYTE);
});
