import { readFile } from "node:fs/promises";
import { delayLinTs, delayLinUcb, encoder, type Goals, gpUcbSdf, otfLinTs, policies, Recommender, squaredExponential } from "afterclick";
import { goalOutcomes } from "afterclick/research";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { betaInterval } from "../../../src/model/beta.ts";
import { stream } from "../../support/scenario.ts";

const HOUR = 3_600_000;
const window = { ms: 100 * HOUR };
const FUNNEL: Goals = { click: { weight: 0.1, window: { ms: HOUR } }, purchase: { weight: 1, after: "click" } };
const policy = delayLinTs({ dimension: 2, shrinkage: "fixed" });

/** An event of one of some impressions, which are shown an hour apart from hour 1 on. */
interface Event {
  readonly of: number;
  readonly goal: string;
  /** Minutes after the impression. */
  readonly after: number;
  readonly reward: number | null;
  readonly eventId: string;
}

const features = [
  [1, 0],
  [0, 1],
  [0.5, 0.5],
];

async function shown(goals: Goals | undefined, count: number, own = policy): Promise<Recommender> {
  const recommender = await Recommender.create({ policy: own, window, goals });
  for (let i = 0; i < count; i++) recommender.register({ impressionId: `${i}`, features: features[i % 3], now: (1 + i) * HOUR });
  return recommender;
}

const told = (recommender: Recommender, { of, goal, after, reward, eventId }: Event) =>
  recommender.convert({ impressionId: `${of}`, goal, reward, eventId, at: (1 + of) * HOUR + after * 60_000 });

describe("each goal", () => {
  it("matures by a law of its own: clicks change nothing for purchases", async () => {
    const both = await shown({ click: { weight: 0.25 }, purchase: { weight: 1 } }, 60);
    const alone = await shown(undefined, 60);
    for (let of = 0; of < 60; of += 2) {
      told(both, { of, goal: "click", after: 0, reward: 1, eventId: "c" });
      if (of % 3 > 0) continue;
      const purchase = { of, goal: "purchase", after: 60 * (1 + (of % 24)), reward: 1, eventId: "p" };
      told(both, purchase);
      told(alone, purchase);
    }
    const [factors] = both.policy.factors([[1, 0]]);
    expect(factors.map(({ goal }) => goal)).toEqual(["click", "purchase"]);
    const [own] = alone.policy.interval([[1, 0]]);
    expect(factors[1]).toEqual({ goal: "purchase", ...own });
    expect(both.policy.predict([[1, 0]]).mean[0]).toBeCloseTo(0.25 * factors[0].mean + own.mean, 12);
  });

  it("without a value needs no regression, and decisions are those of the others alone", async () => {
    const both = await shown({ click: { weight: 0 }, purchase: { weight: 1 } }, 30);
    const alone = await shown(undefined, 30);
    told(both, { of: 3, goal: "click", after: 0, reward: 1, eventId: "c" });
    for (const each of [both, alone]) told(each, { of: 3, goal: "purchase", after: 90, reward: 1, eventId: "p" });
    expect(both.digest()).toBe(alone.digest());
    const candidates = features.map((each) => ({ features: each }));
    const [a, b] = [both, alone].map(({ policy }) => policy.choose({ candidates, round: 31, now: 40 * HOUR, draws: 64 }));
    expect(a).toEqual(b);
  });

  it("has a window of its own", async () => {
    const recommender = await shown(FUNNEL, 1);
    expect(told(recommender, { of: 0, goal: "click", after: 61, reward: 1, eventId: "c" }).status).toBe("late");
    expect(told(recommender, { of: 0, goal: "purchase", after: 61, reward: 1, eventId: "p" }).status).toBe("applied");
  });

  it("counts by its weight for policies that learn the total", async () => {
    for (const own of [otfLinTs({ dimension: 2 }), gpUcbSdf({ dimension: 2, kernel: squaredExponential({ lengthscale: 1 }) })]) {
      const weighed = await shown({ click: { weight: 0.5 }, purchase: { weight: 2 } }, 3, own);
      const alone = await shown(undefined, 3, own);
      told(weighed, { of: 0, goal: "click", after: 1, reward: 1, eventId: "c" });
      told(weighed, { of: 0, goal: "purchase", after: 2, reward: 0.25, eventId: "p" });
      told(alone, { of: 0, goal: "any", after: 1, reward: 1, eventId: "a" });
      expect(weighed.impression("0")?.reward).toBe(1);
      expect(weighed.policy.predict(features)).toEqual(alone.policy.predict(features));
      expect(() => weighed.policy.factors(features)).toThrow(expect.objectContaining({ code: "no-goals" }));
    }
  });
});

describe("goals with names that every object has", () => {
  const NAMES = ["__proto__", "constructor", "toString"];
  const goalsNamed = ([first, second, third]: readonly string[]): Goals =>
    Object.fromEntries([
      [first, { weight: 0.25 }],
      [second, { weight: 1, after: first }],
      [third, { weight: 2, value: { currency: "EUR" } }],
    ]);
  const events = ([first, second, third]: readonly string[]): Event[] => [
    { of: 0, goal: first, after: 1, reward: 1, eventId: "a" },
    { of: 0, goal: second, after: 5, reward: 1, eventId: "b" },
    { of: 1, goal: third, after: 2, reward: 30, eventId: "c" },
    { of: 2, goal: second, after: 3, reward: 1, eventId: "d" },
  ];

  it.each([NAMES, NAMES.toReversed()].map((names) => [names]))("%j learn as others do", async (names) => {
    const [odd, plain] = [await shown(goalsNamed(names), 12), await shown(goalsNamed(["a", "b", "c"]), 12)];
    for (const [i, each] of events(["a", "b", "c"]).entries()) {
      expect(told(odd, events(names)[i])).toEqual(told(plain, each));
      expect(odd.impression(`${each.of}`)?.reward).toBe(plain.impression(`${each.of}`)?.reward);
    }
    const factors = (recommender: Recommender) =>
      recommender.policy.factors(features).map((each) => each.map(({ goal: _, after: __, ...rest }) => rest));
    expect(factors(odd)).toEqual(factors(plain));
    expect(odd.policy.predict(features)).toEqual(plain.policy.predict(features));
    const copy = await Recommender.restore(odd.snapshot(), { policies });
    expect(copy.digest()).toBe(odd.digest());
    expect(copy.impression("0")?.reward).toBe(1.25);
  });

  it.each(NAMES)("%s counts without declared goals, and is retracted", async (goal) => {
    const recommender = await shown(undefined, 2);
    expect(told(recommender, { of: 0, goal, after: 1, reward: 1, eventId: "a" }).status).toBe("applied");
    expect(recommender.impression("0")).toMatchObject({ status: "converted", reward: 1 });
    told(recommender, { of: 0, goal, after: 2, reward: null, eventId: "a" });
    expect(recommender.impression("0")).toMatchObject({ status: "retracted", reward: 0 });
    expect(Object.entries(goalOutcomes([{ goal, eventId: "a", at: 5, reward: 1 }], { shownAt: 2 }))).toEqual([
      [goal, { reward: 1, delay: 3 }],
    ]);
  });
});

describe("a funnel", () => {
  it("multiplies the shares of its stages", async () => {
    const goals: Goals = { click: { weight: 0 }, cart: { weight: 0, after: "click" }, order: { weight: 2, after: "cart" } };
    const recommender = await Recommender.create({
      policy: delayLinTs({ dimension: 1, shrinkage: "fixed", ridge: 1e-6 }),
      window: { ms: HOUR },
      goals,
    });
    for (let i = 0; i < 600; i++) {
      const now = (1 + i) * HOUR;
      recommender.register({ impressionId: `${i}`, features: [1], now });
      const reached = ["click", "cart", "order"].filter((_, stage) => i % [2, 6, 12][stage] === 0);
      for (const goal of reached) recommender.convert({ impressionId: `${i}`, goal, reward: 1, at: now });
    }
    recommender.register({ impressionId: "last", features: [0], now: 1000 * HOUR });
    const [factors] = recommender.policy.factors([[1]]);
    expect(factors.map(({ goal, after, mean }) => [goal, after, Math.round(mean * 1e4) / 1e4])).toEqual([
      ["click", undefined, 0.5],
      ["cart", "click", 0.3333],
      ["order", "cart", 0.5],
    ]);
    const { mean, variance } = recommender.policy.predict([[1]]);
    expect(mean[0]).toBeCloseTo(2 / 12, 5);
    // The share of impressions that order is known as well as if nobody had counted clicks and carts.
    const [{ average, low, high }] = recommender.policy.interval([[1]]);
    const [least, most] = betaInterval(50.5, 550.5);
    expect([average, low, high].map((each) => each / 2)).toEqual([1 / 12, least, most].map((each) => expect.closeTo(each, 3)));
    expect(factors.map((each) => each.average)).toEqual([1 / 2, 1 / 3, 1 / 2].map((each) => expect.closeTo(each, 3)));
    // The deviation of a product of shares of 600, 300 and 100 trials, to first order.
    const relative = Math.sqrt(0.5 / 300 + 2 / 3 / 100 + 0.5 / 50);
    expect(Math.sqrt(variance[0]) / mean[0]).toBeGreaterThan(0.8 * relative);
    expect(Math.sqrt(variance[0]) / mean[0]).toBeLessThan(1.6 * relative);
  });

  it("takes a purchase without its click as a click that nobody saw", async () => {
    const [unseen, seen] = [await shown(FUNNEL, 12), await shown(FUNNEL, 12)];
    const purchase = { of: 2, goal: "purchase", after: 30, reward: 1, eventId: "p" };
    for (const each of [unseen, seen]) expect(told(each, purchase).status).toBe("applied");
    told(seen, { of: 2, goal: "click", after: 30, reward: 1, eventId: "c" });
    expect(unseen.policy.factors(features)).toEqual(seen.policy.factors(features));
    const share = seen.policy.factors([[0.5, 0.5]])[0];
    expect(share[0].mean).toBeGreaterThan(0);
    expect(share[1].mean).toBeGreaterThan(0.5);
  });

  it("takes a click that is reported after the purchase, and forgets both when they are retracted", async () => {
    const recommender = await shown(FUNNEL, 12);
    const before = recommender.policy.factors(features);
    told(recommender, { of: 2, goal: "purchase", after: 30, reward: 1, eventId: "p" });
    told(recommender, { of: 2, goal: "click", after: 10, reward: 1, eventId: "c" });
    expect(recommender.policy.factors(features)).not.toEqual(before);
    told(recommender, { of: 2, goal: "click", after: 40, reward: null, eventId: "c" });
    told(recommender, { of: 2, goal: "purchase", after: 40, reward: null, eventId: "p" });
    recommender.policy.refactor();
    recommender.policy.factors(features).forEach((each, point) => {
      each.forEach(({ mean }, goal) => {
        expect(mean).toBeCloseTo(before[point][goal].mean, 9);
      });
    });
  });

  it.each(["ms", "rounds"] as const)("goes on from a snapshot and decides by a publication with the same bits, in %s", async (unit) => {
    for (const own of [delayLinTs({ dimension: 2 }), delayLinUcb({ dimension: 2 }), delayLinTs({ dimension: 2, rewards: "bernoulli" })]) {
      const goals: Goals = { click: { weight: 0.1 }, purchase: { weight: 1, after: "click" } };
      const recommender = await Recommender.create({ policy: own, window: unit === "ms" ? { ms: 50 } : { rounds: 50 }, goals, seed: 3 });
      const play = (each: Recommender, from: number, to: number): string[] =>
        Array.from({ length: to - from }, (_, i) => {
          const now = from + i + 1;
          const { action } = each.recommend({ candidates: features.map((one) => ({ features: one })), now });
          if (now % 3 === 0) each.convert({ impressionId: action.impressionId, goal: "click", reward: 1, at: now });
          if (now % 5 === 0) each.convert({ impressionId: action.impressionId, goal: "purchase", reward: 1, at: now + 1 });
          return `${action.id} ${action.score}`;
        });
      play(recommender, 0, 60);
      const copy = await Recommender.restore(recommender.snapshot(), { policies });
      const published = await Recommender.restore(recommender.publication(), { policies });
      const request = { candidates: features.map((one) => ({ features: one })), round: 61, now: 61, draws: 32, limit: 2 };
      const decided = recommender.policy.choose(request);
      expect(published.policy.choose(request)).toEqual(decided);
      expect(copy.policy.choose(request)).toEqual(decided);
      expect(copy.policy.factors(features)).toEqual(recommender.policy.factors(features));
      expect(play(copy, 60, 90)).toEqual(play(recommender, 60, 90));
      expect(copy.digest()).toBe(recommender.digest());
    }
  });

  it("states the probability with which its draws rank a candidate", async () => {
    const recommender = await shown(FUNNEL, 12);
    told(recommender, { of: 0, goal: "click", after: 1, reward: 1, eventId: "c" });
    const candidates = features.map((each) => ({ features: each }));
    const chances = recommender.policy.chances({ candidates, round: 13, now: 13 * HOUR, draws: 200 });
    expect(chances.reduce((sum, each) => sum + each, 0)).toBeCloseTo(1, 12);
    const shares = [0, 0, 0];
    for (let i = 0; i < 400; i++) {
      const [{ index }] = recommender.policy.choose({ candidates, round: 13, now: 13 * HOUR, draws: 200, decision: `${i}` });
      shares[index] += 1 / 400;
    }
    for (const [i, chance] of chances.entries()) expect(Math.abs(shares[i] - chance)).toBeLessThan(0.1);
  });
});

it("a known delay needs no conversions to be known", async () => {
  const goals: Goals = { week: { weight: 1, delay: { ms: 10 * HOUR } } };
  const recommender = await Recommender.create({
    policy: delayLinTs({ dimension: 1, shrinkage: "fixed", ridge: 1e-6 }),
    window: { ms: 100 * HOUR },
    goals,
  });
  for (let i = 0; i < 320; i++) {
    recommender.register({ impressionId: `${i}`, features: [1], now: (1 + i) * HOUR });
    const revealed = i - 10;
    if (revealed >= 0 && revealed % 4 === 0)
      recommender.convert({ impressionId: `${revealed}`, goal: "week", reward: 1, at: (1 + i) * HOUR });
  }
  // Of 320 impressions 310 are old enough, and a quarter of these were rewarded.
  expect(recommender.policy.predict([[1]]).mean[0]).toBeCloseTo(0.25, 2);
});

describe("amounts", () => {
  const goals: Goals = { purchase: { weight: 1, value: { currency: "EUR" } } };
  const line = (of: number, reward: number | null, eventId: string, after = 1): Event => ({ of, goal: "purchase", after, reward, eventId });

  it("add up by event, refunds too, in any order and with repetitions", async () => {
    const lines = [
      line(0, 20, "a"),
      line(0, 35.5, "b"),
      line(0, 4.25, "c"),
      line(0, -5.5, "r1", 3),
      line(0, -10, "r2", 5),
      line(0, -4.25, "r3", 9),
    ];
    const others = [line(1, 60, "a"), line(2, 12, "a", 2), line(2, 14, "a", 4), line(4, 80, "a"), line(4, null, "back", 7)];
    const events = [...lines, ...others, ...lines];
    const inOrder = await shown(goals, 9);
    for (const each of events) told(inOrder, each);
    inOrder.policy.refactor();
    expect(inOrder.impression("0")?.reward).toBe(40);
    expect(inOrder.impression("2")?.reward).toBe(14);
    expect(inOrder.impression("4")).toMatchObject({ reward: 0, status: "retracted" });
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(events, { minLength: events.length }), async (order) => {
        const recommender = await shown(goals, 9);
        for (const each of order) told(recommender, each);
        recommender.policy.refactor();
        expect(recommender.impression("0")?.reward).toBe(40);
        expect(recommender.digest()).toBe(inOrder.digest());
        const [own, other] = [recommender, inOrder].map(({ policy }) => policy.predict(features));
        own.mean.forEach((mean, i) => {
          expect(mean).toBeCloseTo(other.mean[i], 9);
        });
      }),
      { numRuns: 60 },
    );
  });

  it("are restated by an event that says so, and taken back up to a retraction", async () => {
    const recommender = await shown(goals, 3);
    const restated = { impressionId: "0", goal: "purchase", reward: 12, eventId: "b", at: HOUR + 3 * 60_000, restates: true };
    for (const each of [line(0, 20, "a", 1), line(0, 5, "c", 2), line(0, 1, "d", 4)]) told(recommender, each);
    recommender.convert(restated);
    expect(recommender.impression("0")).toMatchObject({ reward: 13, status: "converted" });
    expect(recommender.convert(restated)).toEqual({ status: "duplicate" });
    told(recommender, line(0, null, "back", 5));
    expect(recommender.impression("0")).toMatchObject({ reward: 0, status: "retracted" });
  });

  it("that differ in restating alone are a conflict, with one result in any order and after a restore", async () => {
    const event = (reward: number | null, eventId: string, after: number, restates = false) =>
      ({ impressionId: "0", goal: "purchase", reward, eventId, at: HOUR + after * 60_000, restates }) as const;
    const events = [event(20, "a", 1), event(5, "c", 2), event(12, "b", 3), event(12, "b", 3, true), event(1, "d", 4)];
    const inOrder = await shown(goals, 3);
    for (const each of events) inOrder.convert(each);
    expect(inOrder.impression("0")?.reward).toBe(13);
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(events, { minLength: events.length }), async (order) => {
        const recommender = await shown(goals, 3);
        const statuses = order.map((each) => recommender.convert(each).status);
        expect(statuses.toSorted()).toEqual(["applied", "applied", "applied", "applied", "conflict"]);
        for (const each of order) expect(recommender.convert(each)).toEqual({ status: "duplicate" });
        expect(recommender.impression("0")).toEqual(inOrder.impression("0"));
        const restored = await Recommender.restore(recommender.snapshot(), { policies });
        expect(restored.impression("0")).toEqual(inOrder.impression("0"));
      }),
      { numRuns: 60 },
    );
  });

  it("are restated alone: a retraction and a goal without a value replace earlier rewards anyway", async () => {
    for (const [own, reward] of [
      [goals, null],
      [{ purchase: { weight: 1 } }, 1],
      [undefined, 1],
    ] as const) {
      const recommender = await shown(own, 3);
      const event = { impressionId: "0", goal: "purchase", reward, eventId: "a", at: HOUR };
      expect(recommender.convert({ ...event, restates: true })).toEqual({ status: "applied" });
      expect(recommender.convert(event)).toEqual({ status: "duplicate" });
      const restored = await Recommender.restore(recommender.snapshot(), { policies });
      expect(restored.impression("0")).toEqual(recommender.impression("0"));
    }
  });

  it("of refunds wait for their order, and those larger than it leave nothing", async () => {
    const recommender = await shown(goals, 3);
    const before = recommender.digest();
    told(recommender, line(0, -5, "refund", 2));
    expect(recommender.digest()).toBe(before);
    expect(recommender.impression("0")).toMatchObject({ status: "pending" });
    told(recommender, line(0, 25, "order", 1));
    expect(recommender.impression("0")).toMatchObject({ status: "converted", reward: 20 });
    told(recommender, line(0, -30, "refund too large", 3));
    expect(recommender.impression("0")).toMatchObject({ status: "converted", reward: 0 });
  });

  it("are expected of those that convert, and of an action without any as of the others", async () => {
    const policy = delayLinTs({ dimension: 3, shrinkage: "fixed", ridge: 1e-6 });
    const recommender = await Recommender.create({ policy, window: { ms: HOUR }, goals });
    for (let i = 0; i < 300; i++) {
      const now = (1 + i) * HOUR;
      recommender.register({ impressionId: `${i}`, features: [Number(i % 3 === 0), Number(i % 3 === 1), Number(i % 3 === 2)], now });
      if (i % 3 < 2 && i % 4 === 0)
        recommender.convert({ impressionId: `${i}`, goal: "purchase", reward: i % 3 === 0 ? 100 : 10, at: now });
    }
    recommender.register({ impressionId: "last", features: [0, 0, 0], now: 400 * HOUR });
    const factors = recommender.policy.factors([
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ]);
    const means = factors.map((each) => each.map(({ goal, amount, mean }) => [goal, amount ?? false, Math.round(100 * mean) / 100]));
    expect(means).toEqual([
      [
        ["purchase", false, 0.25],
        ["purchase", true, 100],
      ],
      [
        ["purchase", false, 0.25],
        ["purchase", true, 10],
      ],
      [
        ["purchase", false, 0],
        ["purchase", true, 55],
      ],
    ]);
    expect(recommender.policy.predict([[1, 0, 0]]).mean[0]).toBeCloseTo(25, 3);
    // The third action was never bought, so its amount may be anything. It is not negative.
    for (const { low } of recommender.policy.interval([
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ]))
      expect(low).toBeGreaterThanOrEqual(0);
    const copy = await Recommender.restore(recommender.snapshot(), { policies });
    expect(copy.policy.factors([[1, 0, 0]])).toEqual([factors[0]]);
  });

  it.each([
    [undefined, 11],
    [200, 200],
  ])("beyond the greatest one (%s) count as %d, whenever they came", async (max, counted) => {
    const capped: Goals = { purchase: { weight: 1, value: { currency: "EUR", ...(max && { max }) } } };
    const means = await Promise.all(
      [0, 399].map(async (at) => {
        const policy = delayLinTs({ dimension: 1, shrinkage: "fixed", ridge: 1e-6 });
        const recommender = await Recommender.create({ policy, window: { ms: HOUR }, goals: capped });
        for (let i = 0; i < 400; i++) {
          const now = (1 + i) * HOUR;
          recommender.register({ impressionId: `${i}`, features: [1], now });
          recommender.convert({ impressionId: `${i}`, goal: "purchase", reward: i === at ? 1e8 : 10, at: now });
        }
        const [, { mean, clipped, clippedSum }] = recommender.policy.factors([[1]])[0];
        expect(clipped).toBe(1);
        expect(clippedSum).toBe(1e8 - counted);
        return mean;
      }),
    );
    // The eighth of 10 ends at 11.
    expect(means[0]).toBeCloseTo((399 * 10 + counted) / 400, 3);
    expect(means[1]).toBe(means[0]);
  });

  /** The end of an amount's eighth of its octave. */
  function endOf(amount: number): number {
    const octave = 2 ** Math.floor(Math.log2(amount));
    return octave * (1 + (Math.floor((amount / octave - 1) * 8) + 1) / 8);
  }

  /** The bound of these amounts, and what those beyond it count as, by their definitions. */
  function limitsOf(amounts: readonly number[]): { bound: number; cap: number } {
    const { length: n } = amounts;
    const above = n * (0.5 + Math.min(Math.max((n - 10) / 90, 0), 1) * (0.01 - 0.5));
    const quantile = amounts.toSorted((a, b) => b - a)[Math.floor(above)];
    const bound = 2 ** (Math.floor(Math.log2(10 * endOf(quantile))) + 1);
    return { bound, cap: endOf(Math.max(...amounts.filter((each) => each < bound))) };
  }

  async function learnt(amounts: readonly number[]) {
    const policy = delayLinTs({ dimension: 1, shrinkage: "fixed", ridge: 1e-6 });
    const recommender = await Recommender.create({
      policy,
      window: { ms: HOUR },
      goals: { purchase: { weight: 1, value: { currency: "EUR" } } },
    });
    amounts.forEach((reward, i) => {
      recommender.register({ impressionId: `${i}`, features: [1], now: (1 + i) * HOUR });
      recommender.convert({ impressionId: `${i}`, goal: "purchase", reward, at: (1 + i) * HOUR });
    });
    return recommender.policy.factors([[1]])[0][1];
  }

  it("one order of 10^8 among four is clipped, whenever it came", async () => {
    const orders = [
      [1e8, 40, 60, 50],
      [40, 1e8, 60, 50],
      [60, 50, 40, 1e8],
    ];
    const [first, ...others] = await Promise.all(orders.map(learnt));
    // The lower median is 50, whose eighth ends at 52. Ten times that is 520, and the bound 1024. The eighth of 60 ends at 64.
    expect(first.mean).toBeCloseTo((150 + 64) / 4, 3);
    expect(first).toMatchObject({ clipped: 1, clippedSum: 1e8 - 64 });
    for (const other of others) expect(other).toEqual(first);
    expect(await learnt([1e8])).toMatchObject({ clipped: 0, clippedSum: 0 });
    expect(await learnt([1e8, 50])).toMatchObject({ clipped: 1, clippedSum: 1e8 - 52 });
  });

  /** The chance of the second of two products, with orders of about 30 and 24, and of `large` instead of one of the second: a mean of 8 seeds. */
  async function chanceWith(orders: number, large?: number): Promise<number> {
    const { encode } = encoder({ dimension: 16, interactions: "all" });
    const candidates = ["a", "b"].map((id) => ({ id, features: encode({ action: { id } }) }));
    let chances = 0;
    for (let seed = 1; seed <= 8; seed++) {
      const random = stream(seed);
      const goals = { purchase: { weight: 1, value: { currency: "EUR" } } };
      const recommender = await Recommender.create({ policy: delayLinTs({ dimension: 16 }), window: { ms: HOUR }, goals, seed });
      for (let i = 0; i < 8 * orders; i++) {
        const now = (1 + i) * HOUR;
        recommender.register({ impressionId: `${i}`, features: candidates[i % 2].features, now });
        if (i % 8 > 1) continue;
        const reward = large && i === 8 * Math.floor(orders / 2) + 1 ? large : Math.round(100 * (i % 2 ? 24 : 30) * (0.5 + random())) / 100;
        recommender.convert({ impressionId: `${i}`, goal: "purchase", reward, at: now });
      }
      chances += recommender.policy.chances({ candidates, round: 8 * orders + 1, now: (8 * orders + 2) * HOUR, draws: 500 })[1];
    }
    return chances / 8;
  }

  it.each([10, 20, 60])("one order beyond the bound does not decide: %d orders of each of two products", async (orders) => {
    const without = await chanceWith(orders);
    const [beyond, ...others] = await Promise.all([1000, 1e12].map((large) => chanceWith(orders, large)));
    expect(beyond - without).toBeLessThan(0.15);
    for (const other of others) expect(other).toBe(beyond);
    if (orders === 20) {
      const within = await chanceWith(orders, 500);
      const percent = (chance: number) => `${Math.round(100 * chance)} %`;
      const stated = /is shown to (\d+ %)[\s\S]*?these are (\d+ %)[\s\S]*?these are (\d+ %)/.exec(await readFile("docs/api.md", "utf8"));
      expect(stated?.slice(1)).toEqual([without, beyond, within].map(percent));
    }
  });

  it("of any number are clipped by the definition, in any order", async () => {
    const amounts = fc.array(fc.oneof(fc.integer({ min: 10, max: 200 }), fc.integer({ min: 1000, max: 10 ** 12 })), {
      minLength: 1,
      maxLength: 130,
    });
    for (const some of fc.sample(amounts, { seed: 37, numRuns: 25 })) {
      const { bound, cap } = limitsOf(some);
      const counted = some.map((each) => (each >= bound ? cap : each));
      const { mean, clipped, clippedSum } = await learnt(some);
      const expected = counted.reduce((sum, each) => sum + each, 0) / some.length;
      expect(Math.abs(mean / expected - 1)).toBeLessThan(1e-5);
      expect(clipped).toBe(some.filter((each) => each >= bound).length);
      expect(clippedSum).toBe(some.reduce((sum, each, i) => sum + each - counted[i], 0));
      expect(await learnt(some.toReversed())).toEqual(await learnt(some));
    }
  });

  it("in another currency are refused, as are currencies where there are no amounts", async () => {
    const recommender = await shown(goals, 3);
    const convert = (goal: string, currency: string, each: Recommender) =>
      each.convert({ impressionId: "0", goal, reward: 1, currency, at: 2 * HOUR });
    expect(() => convert("purchase", "USD", recommender)).toThrow('currency: expected EUR, as declared, got "USD"');
    expect(convert("purchase", "EUR", recommender).status).toBe("applied");
    const plain = await shown(FUNNEL, 3);
    expect(() => convert("purchase", "EUR", plain)).toThrow("currency: expected none, as the goal has no value");
    expect(() => told(recommender, line(0, 1e13, "e"))).toThrow("reward: expected a number between -1000000000000 and 1000000000000");
  });
});

describe("refuses", () => {
  const create = (goals: unknown, rest = {}) => Recommender.create({ policy, window, goals: goals as Goals, ...rest });
  it.each([
    [{}, "goals: expected 1 to 64 goals"],
    [{ a: { weight: 0 } }, "goals: expected a goal with another weight than 0"],
    [{ a: { weight: Number.NaN } }, "goals.a.weight: expected a finite number, got NaN"],
    [{ a: {} }, "goals.a.weight: expected a number, got undefined"],
    [{ a: { weight: 1, after: "b" } }, 'goals.a.after: expected one of a, got "b"'],
    [{ a: { weight: 1, after: "a" } }, 'goals.a.after: expected a goal that does not come after this one, got "a"'],
    [{ a: { weight: 1, after: "b" }, b: { weight: 1, after: "a" } }, "goals.a.after: expected a goal that does not come after this one"],
    [{ a: { weight: 1, window: { ms: 101 * HOUR } } }, `goals.a.window: expected at most the recommender's window, ${100 * HOUR} ms`],
    [{ a: { weight: 1, window: { rounds: 5 } } }, "goals.a.window: expected ms, as the recommender's window"],
    [{ a: { weight: 1, delay: { ms: 101 * HOUR } } }, "goals.a.delay.ms: expected at most the goal's window"],
    [{ a: { weight: 1, delay: { ms: 0 } } }, "goals.a.delay.ms: expected a positive number, got 0"],
    [{ a: { weight: 1, value: { currency: "Euro" } } }, 'goals.a.value.currency: expected three capital letters such as EUR, got "Euro"'],
    [{ a: { weight: 1, value: {} } }, "goals.a.value.currency: expected a code such as EUR, got undefined"],
    [{ a: { weight: 1, value: { currency: "EUR", max: 0 } } }, "goals.a.value.max: expected a positive number, got 0"],
    [{ a: { weight: 1, wieght: 1 } }, "goals.a.wieght: expected no such option; known are weight, window, after, delay, value"],
  ])("%j", async (goals, message) => {
    await expect(create(goals)).rejects.toThrow(message);
  });

  it("a half-life with a goal after another", async () => {
    const forgetful = delayLinTs({ dimension: 2, forgetting: { halfLife: 100 } });
    await expect(create(FUNNEL, { policy: forgetful })).rejects.toThrow('forgetting: expected "changes" or null with a goal after another');
  });

  it("a conversion of an unknown goal, and an outcome without goals, and changes nothing", async () => {
    const recommender = await shown(FUNNEL, 2);
    const before = recommender.digest();
    const ofCart: Event = { of: 0, goal: "cart", after: 1, reward: 1, eventId: "e" };
    expect(() => told(recommender, ofCart)).toThrow('goal: expected one of click, purchase, got "cart"');
    const impression = recommender.policy.append({ features: [1, 0], round: 3, now: 3 * HOUR });
    const appended = recommender.digest();
    expect(() => recommender.policy.observe({ impression, reward: 1 })).toThrow("goals.before: expected an object, got undefined");
    const goals = { before: {}, after: { click: { reward: 1, delay: Number.NaN } } };
    expect(() => recommender.policy.observe({ impression, reward: 1, goals })).toThrow("goals.after.click.delay: expected a finite number");
    expect(recommender.digest()).toBe(appended);
    expect(appended).not.toBe(before);
  });
});
