import { expect, it } from "vitest";
import { bestsellers } from "../../../experiments/shop/bestsellers.ts";
import { DAY_MS } from "../../../experiments/shop/shop.ts";
import { stream } from "../../../src/simulation/stream.ts";

const NOTHING = new Float64Array(0);

it("shows the product with the most sales of the last week", () => {
  const shop = bestsellers(3, 0, stream("bestsellers"));
  const sell = (id: string, index: number, at: number) => {
    shop.show(id, { index, features: NOTHING, now: at });
    shop.convert(id, at);
  };
  sell("1", 0, 0);
  sell("2", 0, 1);
  sell("3", 2, 6 * DAY_MS);
  expect(shop.choose(NOTHING, 6 * DAY_MS, 4)).toBe(0);
  // The first two are older than a week now.
  expect(shop.choose(NOTHING, 7 * DAY_MS + 1, 5)).toBe(2);
});

it("takes any product while nothing is sold, and a share epsilon at random", () => {
  const counts = (epsilon: number, sales: number): number[] => {
    const shop = bestsellers(2, epsilon, stream("bestsellers", epsilon, sales));
    for (let i = 0; i < sales; i++) {
      shop.show(`${i}`, { index: 1, features: NOTHING, now: 0 });
      shop.convert(`${i}`, 0);
    }
    const chosen = [0, 0];
    for (let round = 1; round <= 2000; round++) chosen[shop.choose(NOTHING, 1, round)]++;
    return chosen;
  };
  expect(Math.abs(counts(0, 0)[0] - 1000)).toBeLessThan(100);
  expect(counts(0, 1)).toEqual([0, 2000]);
  expect(Math.abs(counts(0.2, 1)[0] - 200)).toBeLessThan(60);
});
