import { describe, expect, it } from "vitest";
import { oddsInterval } from "../../../src/evaluation/estimate/odds-interval.ts";

describe("the interval of odds", () => {
  /** Probability that it holds the odds of `n` independent events, summed over all numbers of events of the own kind. */
  function held(n: number, odds: number): number {
    const p = odds / (1 + odds);
    let log = n * Math.log(1 - p);
    let sum = 0;
    for (let own = 0; own <= n; own++) {
      const { low, high } = oddsInterval({ own, other: n - own });
      if (low <= odds && odds <= high) sum += Math.exp(log);
      log += Math.log(((n - own) / (own + 1)) * (p / (1 - p)));
    }
    return sum;
  }

  it.each([20, 50, 300])("holds them in about 95 %% of samples of %d events, and in few less at any odds", (n) => {
    const all = Array.from({ length: 100 }, (_, i) => held(n, 0.03 + i / 50));
    const mean = all.reduce((sum, each) => sum + each, 0) / all.length;
    expect(Math.min(...all)).toBeGreaterThan(0.92);
    expect(mean).toBeGreaterThan(0.95);
    expect(mean).toBeLessThan(0.975);
  });

  it("has ends that never meet, and is that of the other kind turned over", () => {
    for (const [own, other] of [
      [0.5, 20],
      [1, 19],
      [0.25, 30],
      [1e6, 3],
      [1e6, 1e6],
    ]) {
      const { low, high } = oddsInterval({ own, other });
      const turned = oddsInterval({ own: other, other: own });
      expect(low).toBeLessThanOrEqual(own / other);
      expect(high).toBeGreaterThan(own / other);
      expect(high).toBeGreaterThan(low);
      expect(1 / turned.high).toBeCloseTo(low, 9);
      expect((1 / turned.low - high) / own).toBeCloseTo(0, 9);
    }
    expect(oddsInterval({ own: 0, other: 20 }).low).toBe(0);
    expect(oddsInterval({ own: 20, other: 0 }).high).toBe(Number.POSITIVE_INFINITY);
    expect(oddsInterval({ own: 0, other: 0 })).toEqual({ low: 0, high: Number.POSITIVE_INFINITY });
  });
});
