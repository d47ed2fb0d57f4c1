import { expect, it } from "vitest";
import { ratioEstimate } from "../../../src/evaluation/estimate/estimate.ts";

it.each([10, 100, 400])("finds the ends of an interval over %i terms in at most 50 passes", (n) => {
  const value = Float64Array.from({ length: n }, (_, i) => (i % 7 === 0 ? 1 + (i % 3) : 0));
  const terms = { value, least: new Float64Array(n), most: new Float64Array(n).fill(3), share: new Float64Array(n).fill(1) };
  // So few terms take one logarithm a pass.
  let passes = 0;
  const log = (x: number): number => {
    passes++;
    return Math.log(x);
  };
  const { value: ratio, low, high } = ratioEstimate({ log } as never, terms);
  expect(low).toBeLessThan(ratio);
  expect(high).toBeGreaterThan(ratio);
  expect(passes).toBeLessThanOrEqual(50);
});
