import { delayLinTs, evaluate, evaluateLists, type Goals, type LoggedDecision, otfLinTs } from "afterclick";
import { describe, expect, it } from "vitest";
import { estimateIn, oneHot } from "../../support/logs/logged-decisions.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const WINDOW = { ms: 4 * DAY };

/** Times and delays cover their laws evenly, so that an unbiased estimate is right up to a small error. */
const even = (i: number, step: number): number => (i * step) % 1;
const GOLDEN = 0.6180339887498949;

/** Purchases at 9 %, with delays of two days on average, beside clicks at 60 %, which come in a minute. */
function clicksAndPurchases(n: number): LoggedDecision[] {
  return Array.from({ length: n }, (_, i) => {
    const shownAt = (i * 10 * DAY) / n;
    const click = { at: shownAt + 60_000, reward: 1, goal: "click" };
    const purchase = { at: shownAt + 60_000 + even(9 * Math.floor(i / 100) + (i % 100), GOLDEN) * 3.9 * DAY, reward: 1, goal: "purchase" };
    return {
      shownAt,
      count: 2,
      index: i % 2,
      probability: 0.5,
      conversions: [...(i % 10 < 6 ? [click] : []), ...(i % 100 < 9 ? [purchase] : [])],
    };
  });
}

describe("goals of an evaluation", () => {
  const log = clicksAndPurchases(10_000);
  const policy = (): number[] => [0.5, 0.5];
  const request = { log, policy, asOf: 10 * DAY, window: WINDOW };

  it.each<[string, Goals]>([
    ["weight 0", { click: { weight: 0 }, purchase: { weight: 1 } }],
    ["weight 0 before a purchase", { click: { weight: 0 }, purchase: { weight: 1, after: "click" } }],
  ])("have delays of their own: purchases beside clicks of %s", async (_, goals) => {
    const { logged, ips, snips, doublyRobust, immature } = await evaluate({ ...request, goals });
    for (const { value, low, high } of [logged, ips, snips, doublyRobust].map(estimateIn)) {
      expect(Math.abs(value / 0.09 - 1)).toBeLessThan(0.02);
      expect(low < 0.09 && 0.09 < high).toBe(true);
    }
    expect(immature.decisions).toBeGreaterThan(0.5);
  });

  it("add up by their weights, each with its own window", async () => {
    const goals = { click: { weight: 0.1, window: { ms: HOUR } }, purchase: { weight: 2 } };
    const { logged } = await evaluate({ ...request, goals });
    expect(Math.abs(estimateIn(logged).value / (0.1 * 0.6 + 2 * 0.09) - 1)).toBeLessThan(0.02);
    const short = await evaluate({ ...request, goals: { ...goals, purchase: { weight: 2, window: { ms: 1.95 * DAY } } } });
    expect(Math.abs(estimateIn(short.logged).value / (0.1 * 0.6 + 2 * 0.045) - 1)).toBeLessThan(0.03);
  });

  it("that nobody declared have delays of their own too, and their rewards add up", async () => {
    const { logged } = await evaluate({ ...request, reward: { min: 0, max: 2 } });
    expect(Math.abs(estimateIn(logged).value / 0.69 - 1)).toBeLessThan(0.02);
  });

  it("have a known delay that is not learnt", async () => {
    const at = (shownAt: number) => ({ at: shownAt + DAY, reward: 1, goal: "kept" });
    const kept = log.map(({ conversions: _, ...decision }, i) => ({ ...decision, conversions: i % 4 === 0 ? [at(decision.shownAt)] : [] }));
    const { logged, decisions } = await evaluate({ ...request, log: kept, goals: { kept: { weight: 1, delay: { ms: DAY } } } });
    expect(estimateIn(logged).value).toBeCloseTo(0.25, 3);
    expect(decisions.tooYoung).toBe(999);
  });

  it("count the amounts of a goal with a value, up to its greatest one, less refunds", async () => {
    const shop = Array.from({ length: 400 }, (_, shownAt): LoggedDecision => {
      const order = [
        { at: shownAt, reward: 30, goal: "order" },
        { at: shownAt + 1, reward: 20, goal: "order" },
        { at: shownAt + 2, reward: -10, goal: "order" },
      ];
      return { shownAt, count: 1, index: 0, probability: 1, conversions: shownAt % 4 === 0 ? order : [] };
    });
    const value = async (max?: number) => {
      const goals = { order: { weight: 0.5, value: { currency: "EUR", ...(max && { max }) } } };
      return estimateIn((await evaluate({ log: shop, policy: () => [1], asOf: 500, window: { ms: 50 }, goals })).ips).value;
    };
    expect(await value()).toBeCloseTo(0.25 * 20, 12);
    expect(await value(30)).toBeCloseTo(0.25 * 15, 12);
  });

  it("of a purchase whose click nobody saw: the click counts, as policies count it", async () => {
    const one = [{ shownAt: 0, count: 1, index: 0, probability: 1, conversions: [{ at: 5, reward: 1, goal: "purchase" }] }];
    const seen = { log: Array.from({ length: 50 }, () => one[0]), policy: () => [1], asOf: 100, window: { ms: 50 }, split: 0 };
    const goals = { click: { weight: 0.25 }, purchase: { weight: 1, after: "click" } };
    expect(estimateIn((await evaluate({ ...seen, goals })).ips).value).toBeCloseTo(1.25, 12);
  });

  it("are what the policy learns: clicks of weight 0 teach it nothing", async () => {
    // The first action has the purchases, the second one the clicks.
    const points = Float64Array.from([...oneHot(0), ...oneHot(1)]);
    const two = Array.from({ length: 2000 }, (_, i): LoggedDecision => {
      const [shownAt, index] = [i, i % 2];
      const goal = index === 0 ? "purchase" : "click";
      const converts = index === 0 ? i % 10 === 0 : i % 10 < 9;
      return { shownAt, count: 2, points, index, probability: 0.5, conversions: converts ? [{ at: shownAt + 1, reward: 1, goal }] : [] };
    });
    const goals = { click: { weight: 0 }, purchase: { weight: 1 } };
    for (const descriptor of [delayLinTs({ dimension: 3 }), otfLinTs({ dimension: 3, exploration: 0.1 })]) {
      const { ips } = await evaluate({ log: two, policy: descriptor, asOf: 3000, window: { ms: 500 }, goals });
      expect(Math.abs(estimateIn(ips).value - 0.2)).toBeLessThan(0.03);
    }
  });

  it("hold for lists as well", async () => {
    const lists = log.map(({ shownAt, index, conversions }) => ({
      shownAt,
      count: 2,
      items: [{ index, probability: 0.5, conversions }],
    }));
    const goals = { click: { weight: 0 }, purchase: { weight: 1 } };
    const listPolicy = { policy: () => [0.5, 0.5], examination: [1] };
    const { logged, itemPosition } = await evaluateLists({ log: lists, ...listPolicy, asOf: 10 * DAY, window: WINDOW, goals });
    for (const { value } of [logged, itemPosition].map(estimateIn)) expect(Math.abs(value / 0.09 - 1)).toBeLessThan(0.02);
  });

  it("have rewards in the range, which is that of one conversion before its weight", async () => {
    const goals = { purchase: { weight: 2 } };
    const seen = (reward: number) => ({ shownAt: 0, count: 1, conversions: [{ at: 1, reward, goal: "purchase" }] });
    const asked = { asOf: 10, window: WINDOW, goals, split: 0 };
    const ofDecisions = (reward: number, range?: { min: number; max: number }) =>
      evaluate({ ...asked, log: [{ ...seen(reward), index: 0, probability: 1 }], policy: () => [1], reward: range });
    const ofLists = (reward: number) => {
      const list = { ...seen(reward), items: [{ ...seen(reward), index: 0, probability: 1 }] };
      return evaluateLists({ ...asked, log: [list], policy: () => [1], examination: [1] });
    };
    await expect(ofDecisions(50)).rejects.toThrow("log[0].conversions[0].reward: expected a number between 0 and 1, got 50");
    await expect(ofDecisions(-1)).rejects.toThrow("log[0].conversions[0].reward: expected a number between 0 and 1, got -1");
    await expect(ofLists(50)).rejects.toThrow("log[0].items[0].conversions[0].reward: expected a number between 0 and 1, got 50");
    for (const reward of [-1, 50]) await ofDecisions(reward, { min: -1, max: 50 });
  });

  it("are refused by name if they are not declared, or cannot be", async () => {
    const goals = { purchase: { weight: 1 } };
    await expect(evaluate({ ...request, goals })).rejects.toThrow('log[0].conversions[0].goal: expected one of purchase, got "click"');
    await expect(evaluate({ ...request, goals: { click: { weight: 0 } } })).rejects.toThrow(
      "goals: expected a goal with another weight than 0",
    );
    const rounds = { click: { weight: 0 }, purchase: { weight: 1, window: { rounds: 3 } } };
    await expect(evaluate({ ...request, window: "none", goals: rounds })).rejects.toThrow(
      "goals: expected no windows or delays of their own",
    );
    const huge = log.slice(0, 1).map((each) => ({ ...each, conversions: [{ at: 1, reward: 1e13, goal: "order" }] }));
    const orders = { order: { weight: 1, value: { currency: "EUR" } } };
    await expect(evaluate({ ...request, log: huge, goals: orders })).rejects.toThrow(
      "log[0].conversions[0].reward: expected a number between",
    );
  });
});
