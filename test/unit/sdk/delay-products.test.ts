import { DelayEstimate } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { type Stream, stream } from "../../../src/simulation/stream.ts";

// Products whose delays differ, and a policy that moves traffic from one to another.

const WINDOW = 1000;
const RATE = 0.2;
const NOW = 3000;
const MEANS: Readonly<Record<string, number>> = { quick: 30, slow: 400 };

interface Shown {
  readonly shownAt: number;
  readonly product: string;
  /** Within the window. */
  readonly at?: number;
}

/** An impression per time unit, of the product that `of` names. */
function shop(random: Stream, of: (shownAt: number) => string, from = 0): Shown[] {
  return Array.from({ length: NOW - from }, (_, i) => {
    const shownAt = from + i;
    const product = of(shownAt);
    if (random() >= RATE) return { shownAt, product };
    let delay = WINDOW;
    while (delay >= WINDOW) delay = -Math.log(1 - random()) * (MEANS[product] ?? 100);
    return { shownAt, product, at: shownAt + delay };
  });
}

function estimateOf(shop: readonly Shown[], named: boolean): DelayEstimate {
  const estimate = new DelayEstimate({ window: WINDOW });
  for (const { shownAt, product, at = NOW + 1 } of shop) {
    estimate.show(shownAt, 1, named ? product : undefined);
    if (at <= NOW) estimate.convert({ shownAt, at, arrivedAt: NOW, ...(named && { product }) });
  }
  estimate.advance(NOW);
  return estimate;
}

/** Conversions that come after the clock, and within a time of their impressions. */
const coming = (shop: readonly Shown[], within: number): number =>
  shop.filter(({ shownAt, at = 0 }) => at > NOW && at - shownAt <= within).length;

/** P(delay < x) of a product. */
const below = (product: string, x: number): number => (1 - Math.exp(-x / MEANS[product])) / (1 - Math.exp(-WINDOW / MEANS[product]));

const holds = ({ low, high }: { readonly low: number; readonly high: number }, value: number): number =>
  Number(low <= value && value <= high);

/** In 60 runs: how often intervals hold, and conversions to come beside those that do come. */
function played(name: string, named: boolean, of: (shownAt: number) => string) {
  const sums = { rate: 0, toCome: 0, differ: 0, expected: 0, came: 0 };
  for (let run = 0; run < 60; run++) {
    const log = shop(stream("products", name, run), of);
    const estimate = estimateOf(log, named);
    const due = log.reduce((sum, { product }) => sum + RATE * below(product, estimate.followed), 0) / log.length;
    const toCome = estimate.toComeInterval(NOW);
    const came = coming(log, estimate.followed);
    sums.rate += holds(estimate.rateInterval(), due);
    sums.toCome += holds(toCome, came);
    sums.differ += Number(estimate.productsDiffer);
    sums.expected += toCome.expected;
    sums.came += came;
  }
  return sums;
}

describe("a delay estimate of products", () => {
  it("knows the conversions to come after traffic has moved to a slow product, which one law for all does not", () => {
    const moved = (shownAt: number): string => (shownAt < 2570 ? "quick" : "slow");
    const [named, pooled] = [played("moved", true, moved), played("moved", false, moved)];
    expect(named.differ).toBe(60);
    expect(Math.abs(named.expected / named.came - 1)).toBeLessThan(0.15);
    expect(Math.min(named.rate, named.toCome)).toBeGreaterThan(53);
    expect(pooled.expected / pooled.came).toBeLessThan(0.5);
    expect(pooled.toCome).toBeLessThan(10);
  });

  it("knows each product's law where both have been followed for the window", () => {
    const half = (shownAt: number): string => (shownAt % 10 < (shownAt < 2000 ? 8 : 1) ? "quick" : "slow");
    const named = played("half", true, half);
    expect(Math.abs(named.expected / named.came - 1)).toBeLessThan(0.1);
    expect(Math.min(named.rate, named.toCome)).toBeGreaterThan(53);
    const estimate = estimateOf(shop(stream("products", "laws"), half), true);
    expect(estimate.followed).toBe(WINDOW);
    for (const product of ["quick", "slow"]) {
      for (const delay of [20, 60, 200]) expect(Math.abs(estimate.below(delay, product) - below(product, delay))).toBeLessThan(0.12);
    }
    const { delays, probability, low, high } = estimate.distribution();
    delays.forEach((end, bin) => {
      expect(low[bin]).toBeLessThanOrEqual(probability[bin]);
      expect(high[bin]).toBeGreaterThanOrEqual(probability[bin]);
      if (bin > 0) expect(probability[bin]).toBeGreaterThanOrEqual(probability[bin - 1]);
      if (end >= WINDOW) expect(probability[bin]).toBe(1);
    });
    expect(estimate.below(60)).toBeCloseTo(estimate.distribution().probability[delays.findIndex((end) => end > 60)], 1);
  });

  it("is hardly less certain than one law where products are alike", () => {
    for (const products of [4, 40]) {
      let differ = 0;
      const wider: number[] = [];
      for (let run = 0; run < 24; run++) {
        const log = shop(stream("alike", products, run), (shownAt) => `product ${(shownAt * 7) % products}`);
        const [own, one] = [true, false].map((named) => estimateOf(log, named));
        differ += Number(own.productsDiffer);
        const width = (estimate: DelayEstimate): number => estimate.toComeInterval(NOW).high - estimate.toComeInterval(NOW).low;
        wider.push(width(own) / width(one));
        expect(own.rate() / one.rate()).toBeCloseTo(1, 1);
        expect(one.productsDiffer).toBe(false);
      }
      expect(differ).toBeLessThan(5);
      expect(wider.sort((a, b) => a - b)[12]).toBeLessThan(1.1);
    }
  });

  it("is the same with one product as without a name", () => {
    const log = shop(stream("one"), () => "quick");
    const [one, none] = [true, false].map((named) => estimateOf(log, named));
    expect(one.distribution()).toEqual(none.distribution());
    expect(one.rateInterval()).toEqual(none.rateInterval());
    expect(one.toComeInterval(NOW)).toEqual(none.toComeInterval(NOW));
    expect(JSON.stringify(one).length).toBeLessThan(JSON.stringify(none).length + 10);
  });

  it("states numbers for a product that is new or has no conversions", () => {
    const estimate = estimateOf(
      shop(stream("new"), () => "quick"),
      true,
    );
    const before = estimate.rate();
    estimate.show(NOW, 500, "new");
    estimate.convert({ shownAt: NOW - 1, at: NOW, product: "never shown" });
    const { expected, low, high } = estimate.toComeInterval(NOW);
    // About as many of the new one as of the others.
    expect(expected / (500 * before)).toBeGreaterThan(0.8);
    expect(expected / (500 * before)).toBeLessThan(1.3);
    expect(low).toBeLessThan(0.5 * expected);
    expect(high).toBeGreaterThan(2 * expected);
    expect(high).toBeLessThan(500);
    expect(estimate.below(20, "new")).toBeGreaterThan(0);
    expect(estimate.below(20, "unheard of")).toBe(estimate.below(20));
  });

  it("goes on from JSON as if never saved, and does not depend on the order of products", () => {
    const log = shop(stream("order"), (shownAt) => ["quick", "slow", "third"][shownAt % 3]);
    const halves = [log.slice(0, 1500), log.slice(1500)];
    const whole = new DelayEstimate({ window: 1024 });
    let restored = new DelayEstimate({ window: 1024 });
    const reversed = new DelayEstimate({ window: 1024 });
    const count = (estimate: DelayEstimate, part: readonly Shown[]): void => {
      for (const { shownAt, product } of part) estimate.show(shownAt, 1, product);
      for (const { shownAt, product, at = NOW + 1 } of part) if (at <= NOW) estimate.convert({ shownAt, at, product, arrivedAt: NOW });
    };
    for (const half of halves) {
      count(whole, half);
      restored = DelayEstimate.from(JSON.parse(JSON.stringify(restored)));
      count(restored, half);
    }
    for (const half of halves.toReversed()) count(reversed, half.toReversed());
    for (const estimate of [whole, restored, reversed]) estimate.advance(NOW);
    expect(restored.toJSON()).toEqual(whole.toJSON());
    expect(restored.distribution()).toEqual(whole.distribution());
    expect(reversed.rateInterval()).toEqual(whole.rateInterval());
    expect(reversed.toComeInterval(NOW)).toEqual(whole.toComeInterval(NOW));
  });

  it("refuses a product that is no text, and is as before", () => {
    const estimate = estimateOf(
      shop(stream("bad"), () => "quick", 2900),
      true,
    );
    const before = estimate.toJSON();
    expect(() => estimate.show(NOW, 1, 5 as never)).toThrow(/product/);
    expect(() => estimate.convert({ shownAt: NOW, at: NOW, product: null as never })).toThrow(/product/);
    expect(estimate.toJSON()).toEqual(before);
    expect(() => DelayEstimate.from({ ...before, products: [3 as never] })).toThrow(/product/);
  });
});

describe("conversions to come", () => {
  it("lie in their interval, of few conversions and many, and the interval is no wider than that", () => {
    for (const from of [0, 1500, 2600]) {
      let held = 0;
      for (let run = 0; run < 60; run++) {
        const log = shop(stream("to come", from, run), () => "slow", from);
        const estimate = estimateOf(log, false);
        const { low, high } = estimate.toComeInterval(NOW);
        held += holds({ low, high }, coming(log, estimate.followed));
      }
      expect(held).toBeGreaterThan(52);
    }
  });

  it("are known to be few if nothing has converted, and none once all windows have passed", () => {
    const estimate = new DelayEstimate({ window: WINDOW });
    estimate.show(0, 1000);
    estimate.show(5000, 10);
    estimate.advance(5000);
    const { rate, low, high } = estimate.rateInterval();
    expect([rate, low]).toEqual([0, 0]);
    // scipy.stats.beta.ppf(0.975, 0.5, 1000.5)
    expect(high).toBeCloseTo(0.00251, 4);
    expect(estimate.toComeInterval(5000).expected).toBe(0);
    expect(estimate.toComeInterval(5000).high).toBe(1);
    expect(estimate.toComeInterval(9000)).toEqual({ expected: 0, low: 0, high: 0 });
  });
});
