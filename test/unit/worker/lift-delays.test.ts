import { expect, it } from "vitest";
import { stream } from "../../../src/simulation/stream.ts";
import { gridOf } from "../../../worker/domain/figures/delay-grid.ts";
import {
  ANY_GOAL,
  type ArmCounts,
  type GoalLift,
  type LiftCounts,
  liftOf,
  type ReachedCounts,
} from "../../../worker/domain/figures/lift.ts";

// A policy that moves traffic to a product with late conversions, or whose own conversions come sooner: is its lift right, before windows close?

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const windows = { window: { ms: 7 * DAY_MS }, goals: null };
const START = 1_795_262_400_000;
const ARMS = ["holdout", "policy"] as const;
type Arm = (typeof ARMS)[number];

interface World {
  readonly perHour: number;
  /** Share of the product 0 in an arm on a day. The rest is of the product 1. */
  readonly share: (arm: Arm, day: number) => number;
  readonly rates: readonly [number, number];
  /** Median delay of the conversions. */
  readonly median: (arm: Arm, product: number) => number;
}

/** Counts of a worker after some days of a world. A fifth of the lists are the holdout's. */
function countedOf({ perHour, share, rates, median }: World, seed: string): (day: number) => LiftCounts {
  const random = stream("lift", seed);
  const [arms, conversions]: [ArmCounts[], { arm: Arm; step: number; product: number; delay: number }[]] = [[], []];
  for (let step = START; step < START + 21 * DAY_MS; step += HOUR_MS) {
    for (const arm of ARMS) {
      const count = perHour * (arm === "holdout" ? 0.2 : 0.8);
      const own = Math.round(count * share(arm, (step - START) / DAY_MS));
      const groups = [own, count - own];
      groups.forEach((impressions, product) => {
        for (let i = 0; i < impressions; i++) {
          if (random() >= rates[product]) continue;
          let delay = Number.POSITIVE_INFINITY;
          while (delay > windows.window.ms) delay = median(arm, product) * Math.exp(1.5 * random.normal());
          conversions.push({ arm, step, product, delay });
        }
      });
      const sizes = { impressions: count, elapsed: (count * HOUR_MS) / 2, lists: count, squares: count };
      arms.push({ arm, share: "0.2", step, ...sizes, groups: Object.fromEntries(groups.map((each, product) => [product, each])) });
    }
  }
  return (day) => {
    const now = START + day * DAY_MS;
    const grid = gridOf(windows, ANY_GOAL);
    const come = conversions.filter(({ step, delay }) => step + HOUR_MS / 2 + delay <= now);
    const delays = come.map(({ arm, step, product, delay }) => {
      const cohort = Math.floor((step + HOUR_MS / 2) / grid.cohort);
      return { arm, cohort, length: 1, bin: grid.bin(delay), count: 1, delay, groups: { [product]: 1 } };
    });
    const reached = Array.from(Map.groupBy(come, ({ arm, step }) => `${arm} ${step}`).values(), (own): ReachedCounts => {
      const [{ arm, step }] = own;
      const n = own.length;
      return { arm, share: "0.2", step, goal: ANY_GOAL, conversions: n, converted: n, conversionSquares: n, products: n };
    });
    return { arms: arms.filter(({ step }) => step + HOUR_MS <= now), reached, delays: new Map([[ANY_GOAL, delays]]) };
  };
}

const lookAt = (counts: LiftCounts, day: number): GoalLift => liftOf(counts, ANY_GOAL, windows, { alpha: 0.05, now: START + day * DAY_MS });

const learns = (arm: Arm, day: number): number => (arm === "holdout" ? 0.5 : 0.5 + 0.45 * (1 - Math.exp(-day / 3)));
const slow: World = {
  perHour: 200,
  share: learns,
  rates: [0.1, 0.05],
  median: (_, product) => (product === 0 ? 72 : 3) * HOUR_MS,
};

it("finds a better product with late conversions, and says nothing before the windows of enough lists have closed", () => {
  for (const seed of ["a", "b", "c"]) {
    const counts = countedOf(slow, seed);
    for (const day of [2, 4, 6]) {
      const { basis, difference, decided } = lookAt(counts(day), day);
      expect([basis, decided, "tooFew" in difference]).toEqual(["closed windows", false, true]);
    }
    const { basis, difference, decided, withinMs } = lookAt(counts(12), 12);
    expect([basis, decided, withinMs]).toEqual(["all", true, 7 * DAY_MS]);
    if (!("value" in difference)) throw new Error("too few");
    // The policy has shown the better product in 83 of 100 lists by then.
    expect(difference.low).toBeGreaterThan(0);
    expect(difference.low).toBeLessThan(0.0165);
    expect(difference.high).toBeGreaterThan(0.0165);
  }
});

it("compares closed windows if conversions of the policy come sooner", () => {
  const sooner: World = { ...slow, rates: [0.05, 0.05], median: (arm) => (arm === "policy" ? 3 : 24) * HOUR_MS };
  for (const seed of ["a", "b", "c"]) {
    const counts = countedOf(sooner, seed);
    for (const day of [3, 5, 10, 20]) {
      const { basis, decided } = lookAt(counts(day), day);
      expect([basis, decided]).toEqual(["closed windows", false]);
    }
  }
});

it("compares all lists if delays are alike", () => {
  const alike: World = { ...slow, rates: [0.05, 0.05], median: () => 12 * HOUR_MS };
  const looks = ["a", "b", "c", "d"].map((seed) => lookAt(countedOf(alike, seed)(9), 9));
  expect(looks.filter(({ basis }) => basis === "all").length).toBeGreaterThan(2);
  for (const { difference } of looks) if ("value" in difference) expect(Math.abs(difference.value)).toBeLessThan(0.01);
});

it("is narrowest at about a fifth of the rate of both arms, which looks share", () => {
  const alike: World = { ...slow, rates: [0.05, 0.05], median: () => HOUR_MS };
  const counts = countedOf(alike, "a");
  expect([8, 10, 12].map((day) => lookAt(counts(day), day).effect)).toEqual([0.01, 0.01, 0.01]);
  const often = countedOf({ ...alike, rates: [0.5, 0.5] }, "b");
  expect(lookAt(often(8), 8).effect).toBe(0.08);
});
