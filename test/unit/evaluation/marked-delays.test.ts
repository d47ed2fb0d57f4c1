import { evaluate, evaluateLists, type LoggedConversion, type LoggedDecision } from "afterclick";
import { type Estimate, type Figure, isTooFew, type LoggedList } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { stream } from "../../support/scenario.ts";

// Delays that differ by product and by kind of event, visitors who come back, and the parts of a log.

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const WINDOW = { ms: 7 * DAY };
const always =
  (action: number) =>
  ({ count }: { readonly count: number }): number[] =>
    Array.from({ length: count }, (_, i) => Number(i === action));

interface World {
  readonly size: number;
  readonly days: number;
  /** Mean delays of the two actions, in ms. Both convert with the rate. */
  readonly means: readonly [number, number];
  readonly rate: number;
}

/** Decisions between two actions, and all conversions that will come. */
function outcomesOf({ size, days, means, rate }: World): LoggedDecision[] {
  const random = stream(3);
  return Array.from({ length: size }, (): LoggedDecision => {
    const [shownAt, index] = [random() * days * DAY, Math.floor(2 * random())];
    const at = shownAt - means[index] * Math.log(1 - random());
    return { shownAt, count: 2, ids: ["quick", "slow"], index, probability: 0.5, conversions: random() < rate ? [{ at, reward: 1 }] : [] };
  });
}

/** The decisions with the conversions that have come by the end. */
function logOf(world: World): LoggedDecision[] {
  return outcomesOf(world).map((decision) => ({
    ...decision,
    conversions: decision.conversions?.filter(({ at }) => at <= world.days * DAY),
  }));
}

function estimateIn(figure: Figure): Estimate {
  if (isTooFew(figure)) throw new Error("expected an estimate");
  return figure;
}

describe("products that differ in their delays", () => {
  const world: World = { size: 16_000, days: 10, means: [3 * HOUR, 4 * DAY], rate: 0.1 };
  const asked = { asOf: 10 * DAY, window: WINDOW };
  /** The estimate that the same decisions have when all windows have closed. */
  const atLast = async (action: number): Promise<number> => {
    const { ips } = await evaluate({ log: outcomesOf(world), policy: always(action), asOf: 100 * DAY, window: WINDOW });
    return estimateIn(ips).value;
  };

  it("are worth what they bring in the end", async () => {
    const log = logOf(world);
    for (const action of [0, 1]) {
      const { ips, snips, doublyRobust } = await evaluate({ log, policy: always(action), ...asked });
      const truth = await atLast(action);
      for (const figure of [ips, snips, doublyRobust].map(estimateIn)) {
        expect(figure.value / truth).toBeGreaterThan(0.85);
        expect(figure.value / truth).toBeLessThan(1.18);
        expect([figure.low < truth, figure.high > truth]).toEqual([true, true]);
      }
    }
  });

  it("of lists too", async () => {
    const log = logOf(world).map(({ ids, index, conversions, probability, ...list }): LoggedList => {
      return { ...list, random: true, items: [{ index, id: ids?.[index], probability, conversions }] };
    });
    const { itemPosition } = await evaluateLists({ log, policy: () => [0, 1], examination: [1], ...asked });
    const { low, high } = estimateIn(itemPosition);
    const truth = await atLast(1);
    expect([low < truth, high > truth]).toEqual([true, true]);
  });

  it("have the interval of one law where they are alike, up to a tenth", async () => {
    const log = logOf({ ...world, means: [DAY, DAY] });
    const width = async (each: readonly LoggedDecision[]): Promise<number> => {
      const { low, high } = estimateIn((await evaluate({ log: each, policy: always(1), ...asked })).ips);
      return high - low;
    };
    // Of names that each decision has to itself, none has a law of its own.
    const alone = log.map((decision, i) => ({ ...decision, ids: [`quick ${i}`, `slow ${i}`] }));
    expect((await width(log)) / (await width(alone))).toBeLessThan(1.1);
  });

  it("need no law in closed windows", async () => {
    const log = logOf({ ...world, days: 20 });
    const { decisions, withinMs, immature, ips } = await evaluate({
      log,
      policy: always(1),
      asOf: 20 * DAY,
      window: WINDOW,
      windows: "closed",
    });
    expect(decisions.learnt + decisions.evaluated + decisions.tooYoung).toBe(log.length);
    expect(decisions.tooYoung).toBe(log.filter(({ shownAt }) => shownAt > 13 * DAY).length);
    expect([withinMs, immature]).toEqual([{ conversion: WINDOW.ms }, { decisions: 0, conversions: 0 }]);
    const { low, high } = estimateIn(ips);
    const truth = 0.1 * (1 - Math.exp(-7 / 4));
    expect([low < truth, high > truth]).toEqual([true, true]);
  });

  it("are told apart by a test, as a law that changes in mid-log", async () => {
    const found = async (log: readonly LoggedDecision[]) => (await evaluate({ log, policy: always(1), ...asked })).delaysDiffer;
    expect(await found(logOf(world))).toMatchObject({ byProduct: true });
    expect(await found(logOf({ ...world, means: [DAY, DAY] }))).toEqual({ byProduct: false, byTime: false });
    const slower = logOf({ ...world, means: [HOUR, HOUR] }).map((decision): LoggedDecision => {
      const { shownAt, conversions = [] } = decision;
      const delayed = conversions.map((each) => ({ ...each, at: shownAt > 5 * DAY ? shownAt + 20 * (each.at - shownAt) : each.at }));
      return { ...decision, conversions: delayed.filter(({ at }) => at <= asked.asOf) };
    });
    expect(await found(slower)).toEqual({ byProduct: false, byTime: true });
  });

  it("may have been seen once", async () => {
    const log = logOf(world);
    const once = { ...log[0], ids: ["quick", "new"], index: 1, conversions: [{ at: log[0].shownAt + DAY, reward: 1 }] };
    const slowIn = async (each: readonly LoggedDecision[]) =>
      estimateIn((await evaluate({ log: each, policy: always(1), ...asked })).snips).value;
    expect((await slowIn([...log, once])) / (await slowIn(log))).toBeCloseTo(1, 2);
  });

  it("leave the order of events in the file alone", async () => {
    const log = logOf(world);
    const of = (each: readonly LoggedDecision[]) => evaluate({ log: each, policy: always(1), ...asked });
    expect(await of(log.toReversed())).toEqual(await of(log));
  });
});

describe("refunds", () => {
  const [days, size] = [24, 6000];
  /** Half of the orders are paid back, ten days later. `report`: of a refund. */
  const shop = (report: (order: LoggedConversion, at: number) => LoggedConversion): LoggedDecision[] => {
    const random = stream(5);
    return Array.from({ length: size }, (): LoggedDecision => {
      const shownAt = random() * days * DAY;
      const at = shownAt + random() * DAY;
      const back = at + (8 + 2 * random()) * DAY;
      const order: LoggedConversion = { at, reward: 1, eventId: "order" };
      const all = random() < 0.3 ? [order, ...(random() < 0.5 ? [report(order, back)] : [])] : [];
      const conversions = all.filter((each) => (each.knownAt ?? each.at) <= days * DAY);
      return { shownAt, count: 1, index: 0, probability: 1, conversions };
    });
  };
  const asked = { policy: () => [1], asOf: days * DAY, window: { ms: 14 * DAY }, evaluated: "older" } as const;

  it.each<[string, (order: LoggedConversion, at: number) => LoggedConversion]>([
    ["at their own time", (order, at) => ({ ...order, at, reward: 0 })],
    ["that state the time of the order", (order, knownAt) => ({ ...order, at: order.at + 1, knownAt, reward: 0 })],
  ])("%s count before their windows close", async (_, report) => {
    const logged = estimateIn((await evaluate({ log: shop(report), ...asked })).logged);
    expect(logged.value).toBeCloseTo(0.15, 1);
    expect([logged.low < 0.15, logged.high > 0.15]).toEqual([true, true]);
  });

  it("of declared amounts are negative amounts", async () => {
    const log = shop((order, at) => ({ ...order, at, reward: 0 })).map(({ conversions = [], ...decision }) => {
      const amounts = conversions.map((each, i) => ({ goal: "order", at: each.at, eventId: `${i}`, reward: i === 0 ? 20 : -15 }));
      return { ...decision, conversions: amounts };
    });
    const goals = { order: { weight: 1, value: { currency: "EUR" } } };
    const logged = estimateIn((await evaluate({ log, ...asked, goals })).logged);
    const truth = 0.3 * (20 - 15 / 2);
    expect([logged.low < truth, logged.high > truth]).toEqual([true, true]);
    expect(logged.value / truth).toBeCloseTo(1, 0);
  });

  it("without an order say nothing", async () => {
    const log = shop((order) => order).map((decision): LoggedDecision => ({ ...decision, conversions: [] }));
    const refund = { at: log[0].shownAt, reward: 0, eventId: "order" };
    const { logged } = await evaluate({ log: log.with(0, { ...log[0], conversions: [refund] }), ...asked, maturity: () => 1 });
    expect(logged).toEqual((await evaluate({ log, ...asked, maturity: () => 1 })).logged);
  });
});

describe("visitors who come back", () => {
  const random = stream(7);
  const keen = Array.from({ length: 100 }, () => random() < 0.2);
  const log = Array.from({ length: 2000 }, (_, i): LoggedDecision => {
    const visitor = Math.floor(random() * keen.length);
    const conversions: LoggedConversion[] = keen[visitor] && random() < 0.9 ? [{ at: i, reward: 1 }] : [];
    return { shownAt: i, count: 1, index: 0, probability: 1, conversions, visitor: `${visitor}` };
  });
  const asked = { policy: () => [1], asOf: 2000, window: { ms: 1 }, split: 0 };
  const widthOf = async (each: readonly LoggedDecision[]): Promise<number> => {
    const { low, high } = estimateIn((await evaluate({ log: each, ...asked })).logged);
    return high - low;
  };

  it("are one observation each, with the same estimate and a wider interval", async () => {
    const apart = log.map(({ visitor: _, ...decision }) => decision);
    const [one, other] = [await evaluate({ log, ...asked }), await evaluate({ log: apart, ...asked })];
    expect(estimateIn(one.logged).value).toBeCloseTo(estimateIn(other.logged).value, 12);
    expect((await widthOf(log)) / (await widthOf(apart))).toBeGreaterThan(3);
  });

  it("may be known of half of the decisions", async () => {
    const half = log.map(({ visitor, ...decision }, i) => (i % 2 === 0 ? { ...decision, visitor } : decision));
    expect(await widthOf(half)).toBeLessThan(await widthOf(log));
  });
});

describe("a few great amounts", () => {
  /** Orders of 2^-10 to 2^20, each twice as rare as the one below it. */
  const logWith = (amountOf: (order: number) => number): LoggedDecision[] =>
    Array.from({ length: 1024 }, (_, i): LoggedDecision => {
      const conversions = i % 4 === 0 ? [{ at: i, reward: amountOf(31 - Math.clz32(((i * 7919) % 1024) | 1)) }] : [];
      return { shownAt: i, count: 1, index: 0, probability: 1, conversions };
    });
  const asked = { policy: () => [1], asOf: 5000, window: { ms: 1 } };

  it("say too little by themselves, and count up to a stated cap", async () => {
    const { logged, ips, capped } = await evaluate({ log: logWith((order) => 8 ** (9 - order)), ...asked });
    expect([isTooFew(logged), isTooFew(ips)]).toEqual([true, true]);
    if (!capped) throw new Error("expected figures with a cap");
    const rewards = logWith((order) => 8 ** (9 - order)).map(({ conversions }) => conversions?.[0]?.reward ?? 0);
    expect(rewards).toContain(capped.cap);
    const mean = rewards.slice(512).reduce((sum, reward) => sum + Math.min(reward, capped.cap), 0) / 512;
    for (const figure of [capped.logged, capped.ips, capped.snips]) expect(estimateIn(figure).value).toBeCloseTo(mean, 8);
  });

  it("have no cap where rewards are equal, or where they are enough", async () => {
    const few = await evaluate({ log: logWith(() => 1).slice(0, 40), ...asked });
    expect([isTooFew(few.logged), few.capped]).toEqual([true, undefined]);
    expect((await evaluate({ log: logWith((order) => 10 - order), ...asked })).capped).toBeUndefined();
  });
});

it.each<[string, object]>([
  ['windows: expected "all" with window "none", as no window closes, got "closed"', { window: "none", windows: "closed" }],
  ["windows: expected one of all, closed", { windows: "open" }],
  ["evaluated: expected one of younger, older", { evaluated: "oldest" }],
  ["log[0].visitor: expected", { log: [{ shownAt: 0, count: 1, index: 0, probability: 1, visitor: "" }] }],
  [
    "log[0].conversions[0].knownAt: expected a number",
    { log: [{ shownAt: 0, count: 1, index: 0, probability: 1, conversions: [{ at: 1, reward: 1, knownAt: "1" }] }] },
  ],
  [
    "log[0].conversions[0].eventId: expected",
    { log: [{ shownAt: 0, count: 1, index: 0, probability: 1, conversions: [{ at: 1, reward: 1, eventId: 1 }] }] },
  ],
])("refuses bad input: %s", async (message, request) => {
  await expect(evaluate({ log: [], policy: () => [1], asOf: 5, window: WINDOW, ...request } as never)).rejects.toThrow(message);
});
