import { expect, it } from "vitest";
import { compassSearch } from "../../../../src/model/gaussian-process/compass-search.ts";
import { freshCore } from "../../../support/core.ts";

const { core } = freshCore();
const search = { start: [0, 0], grid: [[-1, 1], [-1, 1]], bounds: [8, 5], leastStep: 0.01 }; // biome-ignore format: one line

it.each(["first", "next"] as const)("finds the maximum of a smooth function, and goes on with the %s coordinate", (afterStep) => {
  const found = compassSearch(core, { ...search, afterStep, value: ([x, y]) => -((x - 3) ** 2) - (y + 2) ** 2 - (x - 3) * (y + 2) });
  expect(found[0]).toBeCloseTo(3, 1);
  expect(found[1]).toBeCloseTo(-2, 1);
});

it("stays within its bounds, and ends for a function that rises with each call", () => {
  let calls = 0;
  const found = compassSearch(core, { ...search, afterStep: "next", value: () => ++calls });
  expect(Math.abs(found[0])).toBeLessThanOrEqual(8);
  expect(Math.abs(found[1])).toBeLessThanOrEqual(5);
  expect(calls).toBe(300);
});
