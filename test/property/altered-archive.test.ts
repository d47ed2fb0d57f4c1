import { expect, it } from "vitest";
import type { Fate } from "../support/archive/mutant-worker.ts";
import { fatesBy } from "../support/crafted/crafted-fates.ts";

it("reads 3,000 altered files, or refuses them by name, without much time and memory", async () => {
  const all = await fatesBy<Fate>(new URL("../support/archive/mutant-worker.ts", import.meta.url), { seeds: 3000 });
  expect(all.filter(({ fate }) => fate !== "whole" && fate !== "refused")).toEqual([]);
  // A busy machine takes a hundredth of this.
  expect(all.filter(({ ms, bytes }) => ms > 10_000 || bytes > 64 * 2 ** 20)).toEqual([]);
  expect(all.filter(({ fate }) => fate === "refused").length).toBeGreaterThan(1500);
  expect(all.filter(({ fate }) => fate === "whole").length).toBeGreaterThan(300);
});
