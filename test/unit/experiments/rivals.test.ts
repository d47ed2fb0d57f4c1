import { expect, it } from "vitest";
import { bestsellers } from "../../../experiments/rivals/bestsellers.ts";
import { betaSampling } from "../../../experiments/rivals/beta-sampling.ts";
import { DelayWeights } from "../../../experiments/rivals/delay-weights.ts";
import { greedy, linUcb, regCb } from "../../../experiments/rivals/optimist.ts";
import { Ridge } from "../../../experiments/rivals/ridge.ts";
import { salesPerView } from "../../../experiments/rivals/sales-per-view.ts";
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

it("the ridge with an inverse is the solution of its normal equations, with amounts and refunds", () => {
  const random = stream("ridge");
  const ridge = new Ridge(3, 0.5);
  const [gram, moment] = [Array.from({ length: 9 }, (_, i) => (i % 4 === 0 ? 0.5 : 0)), new Float64Array(3)];
  for (let n = 0; n < 200; n++) {
    const x = Float64Array.from({ length: 3 }, () => random.normal());
    const amount = 10 * random();
    ridge.append(x);
    ridge.reward(x, amount);
    if (n % 4 === 0) ridge.reward(x, -amount);
    for (let i = 0; i < 3; i++) {
      for (let j = 0; j < 3; j++) gram[3 * i + j] += x[i] * x[j];
      if (n % 4 !== 0) moment[i] += amount * x[i];
    }
  }
  const unit = (i: number) => Float64Array.from({ length: 3 }, (_, j) => Number(i === j));
  const coefficients = [0, 1, 2].map((i) => ridge.mean(unit(i)));
  for (let i = 0; i < 3; i++) {
    expect(coefficients.reduce((sum, each, j) => sum + gram[3 * i + j] * each, 0)).toBeCloseTo(moment[i], 8);
  }
  // The deviation of a feature of V is the root of its inverse: x = V e_0 has x' V^-1 x = V_00.
  expect(ridge.deviation(Float64Array.from(gram.slice(0, 3))) ** 2).toBeCloseTo(gram[0], 8);
});

/** Shows product 0 `shown` times, with conversions in the first `sold` of them. */
const taught = (learner: ReturnType<typeof greedy>, shown: number, sold: number) => {
  learner.choose(Float64Array.of(1, 0, 0, 1), 0, 1);
  for (let i = 0; i < shown; i++) {
    learner.show(`${i}`, { index: 0, features: Float64Array.of(1, 0), now: 0 });
    if (i < sold) learner.convert(`${i}`, 0);
  }
  const share = (round: number) =>
    Array.from({ length: 400 }, () => learner.choose(Float64Array.of(1, 0, 0, 1), 0, round)).filter((index) => index === 0).length / 400;
  return share;
};

it("the greedy rule never leaves a product that sells, and with epsilon as often as that says", () => {
  expect(taught(greedy(2, stream("greedy")), 100, 1)(2)).toBe(1);
  expect(Math.abs(taught(greedy(2, stream("greedy"), 0.4), 100, 1)(2) - 0.8)).toBeLessThan(0.08);
  expect(Math.abs(taught(greedy(2, stream("greedy")), 0, 0)(2) - 0.5)).toBeLessThan(0.1);
});

it("LinUCB and RegCB try a product whose bound is greater", () => {
  // Product 0 sells at 0.1 after 1,000 impressions; product 1 is unknown, with a deviation of 1 / sqrt(0.1).
  expect(taught(linUcb(2, stream("ucb"), 0.5), 1000, 100)(2)).toBe(0);
  expect(taught(linUcb(2, stream("ucb"), 0.01), 1000, 100)(2)).toBe(1);
  // sqrt(0.0001 log(2 t) / 0.1) exceeds 0.1 + sqrt(0.0001 log(2 t) / 1,000) from t = 19,000 or so on.
  const regCbAt = taught(regCb(2, stream("regcb"), 0.0001), 1000, 100);
  expect(regCbAt(2)).toBe(1);
  expect(regCbAt(1e6)).toBe(0);
  // Bounds of at most 1 are level.
  expect(Math.abs(taught(regCb(2, stream("regcb"), 1000), 1000, 100)(2) - 0.5)).toBeLessThan(0.1);
});

it("the delay weights follow the law of the delays, which are known of recent impressions only in part", () => {
  const random = stream("weights");
  const weights = new DelayWeights(1, 100);
  const exponential = () => -20 * Math.log(1 - random());
  const waiting: [number, number][] = [];
  for (let now = 0; now < 5000; now++) {
    weights.show(0, now);
    const delay = exponential();
    if (now % 3 === 0 && delay <= 100) waiting.push([now, now + delay]);
  }
  for (const [shownAt, at] of waiting) if (at <= 5000) weights.convert(shownAt, at);
  const law = weights.law(5000);
  for (const bin of [10, 20, 50]) {
    expect(Math.abs(law[bin] - (1 - Math.exp(-bin / 20)) / (1 - Math.exp(-5)))).toBeLessThan(0.05);
  }
  // Of the last 100 impressions about 20 mean delays are missing.
  expect(Math.abs(weights.at(5000)[0] - (5000 - 20))).toBeLessThan(4);
});

it("Beta sampling times the mean order prefers the greater revenue, and a refund takes it back", () => {
  const beta = betaSampling(2, stream("orders"), { isPaid: true });
  const share = () => Array.from({ length: 1000 }, () => beta.choose(NOTHING, 0, 1)).filter((index) => index === 0).length / 1000;
  for (let i = 0; i < 400; i++) {
    beta.show(`${i}`, { index: i % 2, features: NOTHING, now: 0 });
    if (i < 80) beta.convert(`${i}`, 0, i % 2 === 0 ? 100 : 20, 0);
  }
  expect(share()).toBe(1);
  for (let i = 0; i < 80; i += 2) beta.convert(`${i}`, 1, 0, 100);
  expect(share()).toBeLessThan(0.1);
});

it("sales per view of the last week decide, not sales", () => {
  const shop = salesPerView(3, 0, stream("sales per view"));
  for (let i = 0; i < 100; i++) {
    shop.show(`a${i}`, { index: 0, features: NOTHING, now: 0 });
    if (i < 10) shop.convert(`a${i}`, 1);
  }
  for (let i = 0; i < 10; i++) shop.show(`b${i}`, { index: 1, features: NOTHING, now: DAY_MS });
  shop.convert("b0", DAY_MS);
  shop.convert("b1", DAY_MS);
  expect(shop.choose(NOTHING, 2 * DAY_MS, 1)).toBe(1);
  shop.convert("b1", 2 * DAY_MS, 0, 1);
  expect(shop.choose(NOTHING, 2 * DAY_MS, 1)).toBe(1);
  // After a week all are forgotten.
  expect(new Set(Array.from({ length: 50 }, () => shop.choose(NOTHING, 9 * DAY_MS, 1)))).toEqual(new Set([0, 1, 2]));
});
