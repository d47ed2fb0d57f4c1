import { type ConversionEvent, delayGpUcb, delayLinTs, type Goals, gpUcb, Recommender } from "afterclick";
import { goalOutcomes } from "afterclick/research";
import { expect, it } from "vitest";

// A reward of 0 says nothing, or takes the event of its id back. Each event: its id, its reward and its time.

type Row = readonly [events: string, outcome: { readonly reward: number; readonly delay: number } | undefined];
const TABLE: readonly Row[] = [
  ["no 0 30", undefined],
  ["no 0 30, no 0 30, other 0 40", undefined],
  ["no 0 30, buy 1 48", { reward: 1, delay: 48 }],
  ["buy 1 48, no 0 60", { reward: 1, delay: 48 }],
  ["buy 0 30, buy 1 48", { reward: 1, delay: 48 }],
  ["buy 0 48, buy 1 48", { reward: 1, delay: 48 }],
  ["buy 1 48, buy 0 60", undefined],
  ["buy 1 48, buy 0.5 50, buy 0 60", undefined],
  ["buy 1 48, buy 0 60, buy 0.5 70", { reward: 0.5, delay: 48 }],
  ["first 0.5 40, buy 1 48, buy 0 60", { reward: 0.5, delay: 40 }],
  ["first 1 40, buy 0.5 48, first 0 60", { reward: 0.5, delay: 40 }],
  ["buy 1 48, back null 50, buy 0 60", undefined],
  ["buy -0.5 48, no 0 60", { reward: -0.5, delay: 48 }],
  ["buy -0.5 48, buy 0 60", undefined],
];

/** All orders of a few events. */
const orders = <T>(of: readonly T[]): T[][] =>
  of.length < 2 ? [[...of]] : of.flatMap((each, i) => orders(of.filter((_, place) => place !== i)).map((rest) => [each, ...rest]));

const parsed = (events: string) =>
  events.split(", ").map((text) => {
    const [eventId, reward, at] = text.split(" ");
    return { goal: "order", eventId, reward: reward === "null" ? null : Number(reward), at: Number(at) };
  });

it.each(TABLE)("%s", async (events, outcome) => {
  for (const order of orders(parsed(events))) {
    expect(goalOutcomes(order, { shownAt: 0 })).toEqual(outcome ? { order: outcome } : {});
    const recommender = await Recommender.create({
      policy: delayLinTs({ dimension: 1 }),
      window: { ms: 100 },
      reward: { min: -1, max: 1 },
    });
    recommender.register({ impressionId: "x", features: [1], now: 0 });
    for (const event of order) recommender.convert({ impressionId: "x", ...event });
    const said = order.some(({ reward }) => reward);
    expect(recommender.impression("x")).toMatchObject({ status: outcome ? "converted" : said ? "retracted" : "pending" });
    expect(recommender.impression("x")?.reward).toBe(outcome?.reward ?? (said ? 0 : undefined));
  }
});

it("amounts of 0 add nothing, and take back those of their id", () => {
  const goals: Goals = { order: { weight: 1, value: { currency: "EUR" } } };
  const of = (events: string) => goalOutcomes(parsed(events), { shownAt: 0, goals });
  expect(of("a 20 10, b 0 20, c 5 30")).toEqual({ order: { reward: 25, delay: 10 } });
  expect(of("a 20 10, c 5 30, a 0 40")).toEqual({ order: { reward: 5, delay: 10 } });
  expect(of("a 0 5, a 20 10")).toEqual({ order: { reward: 20, delay: 10 } });
  expect(of("a 0 5")).toEqual({});
});

it("a 0 that restates takes back all rewards of its goal", async () => {
  const recommender = await Recommender.create({ policy: delayLinTs({ dimension: 1 }), window: { ms: 100 } });
  recommender.register({ impressionId: "x", features: [1], now: 0 });
  const event = (eventId: string, reward: number, at: number, more: Partial<ConversionEvent> = {}) =>
    recommender.convert({ impressionId: "x", eventId, reward, at, ...more }).status;
  expect([event("a", 1, 10), event("b", 0.5, 20), event("all", 0, 30, { restates: true })]).toEqual(["applied", "applied", "applied"]);
  expect(recommender.impression("x")).toMatchObject({ status: "retracted", reward: 0 });
  expect(event("all", 0, 30, { restates: true })).toBe("duplicate");
  expect((await Recommender.restore(recommender.snapshot(), { policies: [delayLinTs] })).impression("x")).toMatchObject({ reward: 0 });
});

it.each([
  ["of a policy that waits for every reward", gpUcb({ dimension: 1 }), { ms: 100 }, "converted"],
  ["of a Gaussian process without a window", delayGpUcb({ dimension: 1 }), "none", "converted"],
  ["of a Gaussian process with a window", delayGpUcb({ dimension: 1 }), { ms: 100 }, "pending"],
] as const)("a 0 %s", async (_, policy, window, status) => {
  const recommender = await Recommender.create({ policy, window });
  recommender.register({ impressionId: "x", features: [1], now: 0 });
  expect(recommender.convert({ impressionId: "x", reward: -0, at: 1 }).status).toBe("applied");
  expect(recommender.impression("x")?.status).toBe(status);
});
