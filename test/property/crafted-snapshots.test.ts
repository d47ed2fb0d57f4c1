import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { listed } from "../conformance/stated.ts";
import { fates } from "../support/crafted-fates.ts";
import type { Fate } from "../support/crafted-worker.ts";

// Snapshots that another program has changed, with a correct checksum. `restore` refuses them, or they can decide. Neither takes
// much memory. `test/speed` has more of them, and their time.

const CRAFTED = new URL("../fixtures/crafted/", import.meta.url);
const MOST_BYTES = 64 * 2 ** 20;
function expectModest(all: readonly Fate[]): void {
  expect(all.filter(({ bytes }) => bytes > MOST_BYTES)).toEqual([]);
}

it("2,000 crafted snapshots over all policies are refused, or decide, in 64 MB each", async () => {
  const all = await fates({ per: Math.ceil(2000 / listed.length) });
  expect(all.length).toBeGreaterThanOrEqual(2000);
  expectModest(all);
  const share = (wanted: string): number => all.filter(({ fate }) => fate === wanted).length / all.length;
  expect(all.filter(({ fate }) => !["refused", "decided", "not computable"].includes(fate))).toEqual([]);
  // The changes are neither all noticed nor all harmless.
  expect(share("refused")).toBeGreaterThan(0.4);
  expect(share("decided")).toBeGreaterThan(0.2);
  expect(share("not computable")).toBeLessThan(0.01);
});

it.each(readdirSync(CRAFTED).sort())("%s is refused, or decides, in 64 MB", async (name) => {
  const all = await fates({ file: fileURLToPath(new URL(name, CRAFTED)) });
  expectModest(all);
  expect(all.map(({ fate }) => fate)).toEqual([name.includes("decides") ? "decided" : "refused"]);
});
