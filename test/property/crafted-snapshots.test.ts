import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { listed } from "../conformance/stated.ts";
import { fates } from "../support/crafted/crafted-fates.ts";
import type { Fate } from "../support/crafted/crafted-worker.ts";

// Snapshots that another program has changed, with a correct checksum. `restore` and `merge` refuse them, or they can decide and learn, and
// what they store at once and later can be restored. Neither takes much memory. `test/speed` has more of them, and their time.

const CRAFTED = new URL("../fixtures/crafted/", import.meta.url);
const MOST_BYTES = 64 * 2 ** 20;
function expectModest(all: readonly Fate[]): void {
  expect(all.filter(({ bytes }) => bytes > MOST_BYTES)).toEqual([]);
}

it.each([
  ["over all policies", { per: Math.ceil(1000 / listed.length) }],
  ["that merge, alone or with another", { merged: 125 }],
])("1,000 crafted snapshots %s are refused, or decide, in 64 MB each", async (_, task) => {
  const all = await fates(task);
  expect(all.length).toBeGreaterThanOrEqual(1000);
  expectModest(all);
  const share = (wanted: string): number => all.filter(({ fate }) => fate === wanted).length / all.length;
  expect(all.filter(({ fate }) => !["refused", "decided", "not computable"].includes(fate))).toEqual([]);
  // The changes are neither all noticed nor all harmless.
  expect(share("refused")).toBeGreaterThan(0.4);
  expect(share("decided")).toBeGreaterThan(0.2);
  expect(share("not computable")).toBeLessThan(0.01);
});

describe("a file", () => {
  const names = readdirSync(CRAFTED).sort();
  let all: readonly Fate[];
  beforeAll(async () => {
    all = await fates({ files: names.map((name) => fileURLToPath(new URL(name, CRAFTED))) });
  });

  it.each(names.map((name, i) => [name, i] as const))("%s is refused, or decides, in 64 MB", (name, i) => {
    expectModest([all[i]]);
    expect(all[i].fate).toBe(name.includes("decides") ? "decided" : "refused");
  });
});
