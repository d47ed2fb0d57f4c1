import { expect, it } from "vitest";
import { listed } from "../conformance/stated.ts";
import { fates } from "../support/crafted-fates.ts";

it("each of 10,000 crafted snapshots is refused, or decides, in a second of processor time", async () => {
  const all = await fates({ per: Math.ceil(10_000 / listed.length) });
  expect(all.length).toBeGreaterThanOrEqual(10_000);
  expect(all.filter(({ cpuMs }) => cpuMs > 1000)).toEqual([]);
  expect(all.filter(({ fate }) => !["refused", "decided", "not computable"].includes(fate))).toEqual([]);
});
