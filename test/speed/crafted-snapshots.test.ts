import { expect, it } from "vitest";
import { listed } from "../conformance/stated.ts";
import { fates } from "../support/crafted/crafted-fates.ts";

it.each([
  ["", { per: Math.ceil(10_000 / listed.length) }],
  [" that merge", { merged: 1250 }],
])("each of 10,000 crafted snapshots%s is refused, or decides, in a second of processor time", async (_, task) => {
  const all = await fates(task);
  expect(all.length).toBeGreaterThanOrEqual(10_000);
  expect(all.filter(({ cpuMs }) => cpuMs > 1000)).toEqual([]);
  expect(all.filter(({ fate }) => !["refused", "decided", "not computable"].includes(fate))).toEqual([]);
});
