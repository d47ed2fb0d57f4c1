import { expect, it } from "vitest";
import { bestsellers } from "../../../experiments/rivals/bestsellers.ts";
import { Regression, squareCb } from "../../../experiments/rivals/square-cb.ts";
import { DAY_MS } from "../../../experiments/shop/shop.ts";
import { stream } from "../../../src/simulation/stream.ts";

// Rivals of the default model follow their definitions.

const NOTHING = new Float64Array(0);

it("bestsellers show the product with the most sales of the last week", () => {
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

it("bestsellers take any product while nothing is sold, and a share epsilon at random", () => {
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

it("SquareCB follows ridge regression", () => {
  const random = stream("square-cb");
  const regression = new Regression(4);
  const [gram, moment] = [Array.from({ length: 16 }, (_, i) => (i % 5 === 0 ? 0.1 : 0)), new Float64Array(4)];
  for (let n = 0; n < 2000; n++) {
    const x = Float64Array.from({ length: 4 }, () => (random() < 0.5 ? 0 : random.normal()));
    regression.append(x);
    const converts = random() < 0.2 + 0.1 * x[0];
    if (converts) regression.reward(x, 1);
    for (let i = 0; i < 4; i++) {
      for (let j = 0; j < 4; j++) gram[4 * i + j] += x[i] * x[j];
      if (converts) moment[i] += x[i];
    }
  }
  const unit = Float64Array.from({ length: 16 }, (_, i) => Number(i % 5 === 0));
  const coefficients = regression.predict(unit);
  // The normal equations hold, up to what the last impressions have moved.
  for (let i = 0; i < 4; i++) {
    const product = coefficients.reduce((sum, each, j) => sum + gram[4 * i + j] * each, 0);
    expect(Math.abs(product - moment[i]) / moment.reduce((sum, each) => sum + Math.abs(each), 0)).toBeLessThan(0.01);
  }
});

it("SquareCB chooses by inverse gap weighting", () => {
  const learner = squareCb(2, 1000, stream("square-cb draws"));
  const points = Float64Array.of(1, 0, 0, 1);
  learner.choose(points, 0, 1);
  // The first product always converts, the second never: after many impressions their rates are nearly 1 and 0.
  for (let i = 0; i < 500; i++) {
    learner.show(`${i}`, { index: i % 2, features: points.subarray(2 * (i % 2), 2 * (i % 2) + 2), now: 0 });
    if (i % 2 === 0) learner.convert(`${i}`, 0);
  }
  const share = (round: number): number =>
    Array.from({ length: 20_000 }, () => learner.choose(points, 0, round)).filter((each) => each === 1).length / 20_000;
  // 1 / (2 + 1,000 sqrt(round)) at a gap of 1; at round 1 / 10,000, where gamma is 10, it is 1 / 12.
  expect(share(1e-4)).toBeGreaterThan(0.07);
  expect(share(1e-4)).toBeLessThan(0.1);
  expect(share(1)).toBeLessThan(0.003);
});
