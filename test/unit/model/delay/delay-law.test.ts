import { DelayEstimate } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { type Stream, stream } from "../../../../src/simulation/stream.ts";

// The law of delays beside plain proportions, a likelihood that is maximized from lists, and simulated shops with a known truth.

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

interface Conversion {
  readonly shownAt: number;
  readonly delay: number;
}

/** An estimate as of `now`. Nothing that comes later, or after the window, is known to it. */
function estimateOf(shown: readonly number[], conversions: readonly Conversion[], now: number, window = WEEK): DelayEstimate {
  const estimate = new DelayEstimate({ window });
  for (const time of shown) estimate.show(time);
  for (const { shownAt, delay } of conversions) {
    if (shownAt + delay <= now) estimate.convert({ shownAt, at: shownAt + delay, arrivedAt: null });
  }
  estimate.advance(now);
  return estimate;
}

/** Bursts of impressions, each of which converts. */
const burst = (shownAt: number, delays: readonly number[]): Conversion[] => delays.map((delay) => ({ shownAt, delay }));

/** The band at the end of the bin of a delay. */
function bandAt(estimate: DelayEstimate, delay: number, within?: number): readonly number[] {
  const { delays, probability, low, high } = estimate.distribution(within);
  const bin = delays.findIndex((end) => end >= delay);
  return [probability[bin], low[bin], high[bin]];
}

/** Forty impressions, of which five converted after an hour, and five after two days. */
function twoDays(now: number): DelayEstimate {
  const shown = Array.from({ length: 40 }, (_, i) => 1000 * i);
  const conversions = shown.slice(0, 10).map((shownAt, i) => ({ shownAt, delay: i < 5 ? HOUR : 48 * HOUR }));
  return estimateOf(shown, conversions, now);
}

describe("the law of delays", () => {
  it("is as of the clock, not of the latest conversion", () => {
    const estimate = twoDays(6 * DAY);
    expect(estimate.quantile(0.95) / HOUR).toBeCloseTo(52.5, 9);
    expect(estimate.quantile(0.5) / HOUR).toBeLessThan(1.2);
    expect(estimate.below(DAY)).toBeCloseTo(0.5, 9);
    const [half, low, high] = bandAt(estimate, DAY, estimate.followed);
    expect([half, low, high].map((each) => Number(each.toFixed(2)))).toEqual([0.5, 0.22, 0.78]);
  });

  it("counts a conversion in a bin that was followed in part only", () => {
    // The bin from 47.25 to 52.5 hours has not passed.
    const estimate = twoDays(48 * HOUR + 100_000);
    expect(estimate.quantile(0.95) / HOUR).toBeGreaterThan(47);
    expect(estimate.below(DAY)).toBeLessThan(0.55);
    expect(bandAt(estimate, DAY, estimate.followed)[1]).toBeLessThan(0.3);
  });

  it("is that of the conversions within the longest time that was followed, and the window's band then goes down to 0", () => {
    const estimate = twoDays(47 * HOUR);
    expect(estimate.followed / HOUR).toBeGreaterThan(40);
    expect(estimate.followed / HOUR).toBeLessThan(54);
    expect(estimate.below(2 * HOUR)).toBe(1);
    expect(bandAt(estimate, DAY)).toEqual([1, 0, 1]);
    const [, low] = bandAt(estimate, DAY, estimate.followed);
    expect(low).toBeGreaterThan(0.5);
    expect(estimate.closed).toBe(0);
    estimate.advance(9 * DAY);
    expect(estimate.followed).toBe(WEEK);
    expect(estimate.closed).toBe(5);
    expect(bandAt(estimate, DAY)[1]).toBeGreaterThan(0.6);
  });

  it("has Jeffreys' interval for a proportion if all was followed, one-sided for none and for all", () => {
    // scipy.stats.beta.ppf([0.025, 0.975], x + 0.5, n - x + 0.5)
    for (const [early, count, low, high] of [
      [0, 5, 0, 0.3793771],
      [5, 5, 0.6206229, 1],
      [3, 10, 0.0926946, 0.6058183],
      [20, 50, 0.2729524, 0.5382564],
    ]) {
      const delays = Array.from({ length: count }, (_, i) => (i < early ? 2 * HOUR : 4 * DAY));
      const estimate = estimateOf([0], burst(0, delays), 30 * DAY);
      const band = bandAt(estimate, DAY);
      [early / count, low, high].forEach((each, i) => {
        expect(band[i]).toBeCloseTo(each, 6);
      });
    }
  });

  it("never has a band of width 0 within the delays that converted, however few they are", () => {
    for (const delays of [[HOUR], [HOUR, HOUR, 2 * HOUR], [DAY, DAY + 1, DAY + 2, DAY + 3]]) {
      const { low, high, delays: ends } = estimateOf([0], burst(0, delays), 30 * DAY).distribution();
      ends.forEach((end, bin) => {
        if (end < WEEK) expect(high[bin] - low[bin]).toBeGreaterThan(0.2);
      });
    }
  });

  it("has a band that says how few were followed for long delays", () => {
    // 200 conversions of today after a minute, and 3 of last week that came at once.
    const shown = [0, 8 * DAY];
    const conversions = [...burst(0, [1, 2, 3]), ...burst(8 * DAY, new Array(200).fill(60_000))];
    const estimate = estimateOf(shown, conversions, 8 * DAY + 2 * HOUR);
    expect(estimate.closed).toBe(3);
    expect(estimate.followed / HOUR).toBeLessThan(3);
    const [probability, low] = bandAt(estimate, HOUR);
    expect([probability, low]).toEqual([1, 0]);
    expect(bandAt(estimate, HOUR, estimate.followed)[1]).toBeGreaterThan(0.85);
  });

  it("does not depend on the order in which a log is imported", () => {
    const random = stream("import");
    const shown = Array.from({ length: 300 }, () => Math.floor(random() * 60 * DAY));
    const conversions = shown.slice(0, 60).map((shownAt) => ({ shownAt, delay: Math.floor(random() * WEEK) }));
    const [one, other] = [(times: number[]) => times.sort((a, b) => a - b), (times: number[]) => times.reverse()].map((order) =>
      estimateOf(order([...shown]), conversions, 80 * DAY),
    );
    expect(other.distribution()).toEqual(one.distribution());
    expect(one.followed).toBe(WEEK);
    expect(one.below(DAY)).toBeCloseTo(conversions.filter(({ delay }) => delay < 0.9375 * DAY).length / 60, 1);
  });

  it.each(["a young shop", "an old shop"])("maximizes the likelihood of %s", (name) => {
    const random = stream("likelihood", name);
    const [now, from] = [30 * DAY, name === "a young shop" ? 27 * DAY : 0];
    const shown = Array.from({ length: 4000 }, () => from + Math.floor(random() * (now - from))).sort((a, b) => a - b);
    const conversions = shown.flatMap((shownAt) =>
      random() < 0.3 ? [{ shownAt, delay: Math.min(Math.floor(-Math.log(1 - random()) * DAY), WEEK) }] : [],
    );
    const estimate = estimateOf(shown, conversions, now);
    const seen = conversions.filter(({ shownAt, delay }) => shownAt + delay <= now && delay <= estimate.followed);
    const law = likeliest(seen, now, estimate.followed);
    for (const delay of [HOUR, 6 * HOUR, DAY, 2 * DAY]) {
      const [probability] = bandAt(estimate, delay, estimate.followed);
      const { delays } = estimate.distribution();
      const end = delays.find((each) => each >= delay) as number;
      expect(Math.abs(probability - law(end))).toBeLessThan(0.015);
    }
  });

  it("holds the truth in 93 to 98 % of simulated shops of 5 to 60 conversions", () => {
    const [stated, held] = coverage(stream("shops"), 400);
    expect(stated).toBeGreaterThan(1000);
    expect(held / stated).toBeGreaterThan(0.93);
    expect(held / stated).toBeLessThan(0.98);
  });
});

/** F that maximizes the likelihood of delays, each known to be at most the age of its impression: by self-consistency, from lists. */
function likeliest(seen: readonly Conversion[], now: number, longest: number): (delay: number) => number {
  const delays = Array.from(new Set(seen.map(({ delay }) => delay))).sort((a, b) => a - b);
  const place = (limit: number): number => delays.filter((delay) => delay <= limit).length;
  const bounds = seen.map(({ shownAt }) => place(Math.min(now - shownAt, longest)));
  const count = delays.map((delay) => seen.filter((each) => each.delay === delay).length);
  let mass = delays.map(() => 1 / delays.length);
  for (let round = 0; round < 300; round++) {
    let sum = 0;
    const sums = [0, ...mass.map((each) => (sum += each))];
    const weights = new Array<number>(delays.length + 1).fill(0);
    for (const bound of bounds) weights[bound] += 1 / sums[bound];
    let visible = 0;
    const exposure = new Array<number>(delays.length);
    for (let i = delays.length - 1; i >= 0; i--) exposure[i] = visible += weights[i + 1];
    mass = mass.map((_, i) => count[i] / exposure[i]);
    const all = mass.reduce((a, b) => a + b, 0);
    mass = mass.map((each) => each / all);
  }
  return (delay) => mass.slice(0, delays.filter((each) => each < delay).length).reduce((a, b) => a + b, 0);
}

/** How many bands are stated, and how many hold the truth. */
function coverage(random: Stream, shops: number): readonly [number, number] {
  let [stated, held] = [0, 0];
  for (let shop = 0; shop < shops; shop++) {
    const [now, mean, span] = [100 * DAY, [20_000, 2 * HOUR, DAY][shop % 3], [1.2, 3, 9][Math.floor(shop / 3) % 3] * WEEK];
    const shown = Array.from({ length: 50 + 550 * random() }, () => now - Math.floor(random() * span)).sort((a, b) => a - b);
    const law = (delay: number): number => 1 - Math.exp(-delay / mean);
    const conversions = shown.flatMap((shownAt) =>
      random() < 0.1 ? [{ shownAt, delay: Math.floor(-Math.log(1 - random()) * mean) }] : [],
    );
    const estimate = estimateOf(shown, conversions, now);
    if (estimate.followed < WEEK || estimate.closed < 5) continue;
    const { delays, low, high } = estimate.distribution();
    for (const share of [0.3, 0.5, 0.7, 0.85]) {
      const bin = delays.findIndex((end) => law(end) >= share);
      const truth = law(delays[bin]) / law(WEEK);
      stated++;
      if (low[bin] <= truth && truth <= high[bin]) held++;
    }
  }
  return [stated, held];
}
