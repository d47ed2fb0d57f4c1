import { evaluate, evaluateLists, type LoggedDecision } from "afterclick";
import { isTooFew, type LoggedList } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { LoggedSupport } from "../../../src/evaluation/log/support.ts";
import { stream } from "../../../src/simulation/stream.ts";
import { estimateIn } from "../../support/logs/logged-decisions.ts";

// An evaluation of choices that the log cannot tell about.

const ASKED = { asOf: 5000, window: { ms: 100 }, maturity: () => 1 } as const;

/** Decisions among `ids`. `chances`: with which the log takes each. `rates`: how many convert. */
function logged(n: number, chances: readonly number[], rates: readonly number[], ids: readonly string[]): LoggedDecision[] {
  const random = stream("support", n, ids.length);
  return Array.from({ length: n }, (_, shownAt) => {
    let [index, lot] = [0, random()];
    for (; lot >= chances[index] && index < chances.length - 1; index++) lot -= chances[index];
    const conversions = random() < rates[index] ? [{ at: shownAt, reward: 1 }] : [];
    return { shownAt, count: ids.length, ids, index, probability: chances[index], conversions };
  });
}

describe("support of a log", () => {
  const hats = logged(2000, [0, 1], [0, 0.4], ["boots", "hat"]);

  it.each([0, 0.5])("gives the range of rewards to a policy whose only action was never taken, with split %d", async (split) => {
    const { support, ips, snips, doublyRobust } = await evaluate({ log: hats, policy: () => [1, 0], ...ASKED, split });
    expect(support).toBe(0);
    for (const figure of [ips, snips, doublyRobust]) expect(figure).toEqual({ value: Number.NaN, low: 0, high: 1 });
    const wide = await evaluate({ log: hats, policy: () => [1, 0], ...ASKED, reward: { min: -2, max: 3 } });
    expect(wide.ips).toEqual({ value: Number.NaN, low: -2, high: 3 });
  });

  it("lacks an action that the log would have taken five times, also if rounding makes the sum less", () => {
    const decision = { shownAt: 0, count: 2, ids: ["boots", "hat"], index: 1, probability: 0.9, conversions: [] };
    const log = new Array<LoggedDecision>(50).fill(decision);
    expect(new LoggedSupport(log).lacks(decision, 0)).toBe(true);
    expect(new LoggedSupport(log.slice(1)).lacks(decision, 0)).toBe(false);
  });

  it("is the same whether decisions share an array of ids or have their own, and however many arrays there are", () => {
    const rare = (i: number) => ["boots", `hat ${i % 3}`, ...(i % 2 ? ["scarf"] : [])];
    const arrays = Array.from({ length: 6 }, (_, i) => rare(i));
    const logOf = (idsOf: (i: number) => string[]) =>
      Array.from({ length: 2500 }, (_, i): LoggedDecision => {
        const ids = idsOf(i);
        return { shownAt: i, count: ids.length, ids, index: 0, probability: 1 - (i % 3 ? 0.008 : 0.001), conversions: [] };
      });
    const log = logOf((i) => arrays[i % 6]);
    const lacks = (support: LoggedSupport) =>
      log.slice(0, 6).map((decision) => decision.ids?.map((_, each) => support.lacks(decision, each)));
    const shared = lacks(new LoggedSupport(log));
    expect(lacks(new LoggedSupport(logOf(rare)))).toEqual(shared);
    expect(new Set(shared.flat())).toEqual(new Set([true, false]));
  });

  it("widens intervals by the probability of the action that was never taken, times the range of rewards", async () => {
    const policy = (): number[] => [0.25, 0.75];
    const { support, ips, snips, doublyRobust } = await evaluate({ log: hats, policy, ...ASKED });
    expect(support).toBeCloseTo(0.75, 12);
    for (const { low, high } of [ips, snips, doublyRobust].map(estimateIn)) {
      // The hat converts at 0.4, the boots at anything.
      expect(low).toBeLessThan(0.3);
      expect(low).toBeGreaterThan(0.3 - 0.05);
      expect(high).toBeGreaterThan(0.55);
      expect(high).toBeLessThan(0.55 + 0.05);
    }
  });

  it("knows an action that the log never took though it took others with some probability", async () => {
    const log = logged(1000, [0.5, 0.5, 0], [0.2, 0.2, 0.2], ["a", "b", "c"]);
    const { support } = await evaluate({ log, policy: () => [0.25, 0.25, 0.5], ...ASKED });
    expect(support).toBeCloseTo(0.5, 12);
    // Other actions at the same place are others, by their ids.
    const renamed = log.map((decision, i) => (i % 2 === 0 ? decision : { ...decision, ids: ["c", "d", "e"] }));
    // The log took c, but never where the policy does. The mean weight tells.
    expect((await evaluate({ log: renamed, policy: () => [0.25, 0.25, 0.5], ...ASKED })).support).toBeCloseTo(0.5, 1);
  });

  it("counts for each action the decisions that could have taken it, where the candidates vary", async () => {
    const random = stream("varying candidates");
    // Ten of 2000 products, each with the same chance. Most products are never taken.
    const log = Array.from({ length: 2000 }, (_, shownAt): LoggedDecision => {
      const ids = new Set<string>();
      while (ids.size < 10) ids.add(`product ${random.below(2000)}`);
      const conversions = random() < 0.2 ? [{ at: shownAt, reward: 1 }] : [];
      return { shownAt, count: 10, ids: [...ids], index: random.below(10), probability: 0.1, conversions };
    });
    const fourth = (): number[] => Array.from({ length: 10 }, (_, i) => Number(i === 3));
    const { support, ips } = await evaluate({ log, policy: fourth, ...ASKED, split: 0 });
    expect(support).toBe(1);
    expect(estimateIn(ips).high).toBeLessThan(0.5);
    // One product that half of the decisions could have taken, and none did, has no chance.
    const gift = log.map((decision, i): LoggedDecision => {
      const ids = [...(decision.ids ?? [])];
      if (i % 2 === 0 && decision.index !== 3) ids[3] = "gift";
      return { ...decision, ids };
    });
    const share = gift.filter(({ ids }) => ids?.[3] === "gift").length / gift.length;
    expect((await evaluate({ log: gift, policy: fourth, ...ASKED, split: 0 })).support).toBeCloseTo(1 - share, 12);
  });

  it("sees by the mean weight that the log lacks choices, where nothing else tells", async () => {
    // The log says that it took the first of two with probability 0.5. It never took the second one with the first context.
    const log = logged(2000, [0.5, 0.5], [0.3, 0.3], ["a", "b"]).map((decision, i) => ({ ...decision, context: i % 2 }));
    const seen = log.filter(({ index, context }) => context === 1 || index === 0);
    const policy = (decision: LoggedDecision): number[] => ((decision as { context?: number }).context === 1 ? [0.5, 0.5] : [0, 1]);
    const { support, ips } = await evaluate({ log: seen, policy, ...ASKED });
    expect(support).toBeLessThan(0.8);
    expect(estimateIn(ips).high).toBeGreaterThan(0.3);
    expect((await evaluate({ log, policy, ...ASKED })).support).toBe(1);
  });

  it("is that of items at their places, for lists", async () => {
    const log = hats.map(
      ({ shownAt, count, index, probability, conversions }): LoggedList => ({
        shownAt,
        count,
        items: [{ index, probability, conversions }],
      }),
    );
    const asked = { log, examination: [1], ...ASKED };
    const never = await evaluateLists({ ...asked, policy: () => [1, 0] });
    expect(never.support).toEqual({ itemPosition: 0, positionBased: 0 });
    for (const figure of [never.itemPosition, never.positionBased]) expect(figure).toEqual({ value: Number.NaN, low: 0, high: 1 });
    const quarter = await evaluateLists({ ...asked, policy: () => [0.25, 0.75] });
    expect(quarter.support.itemPosition).toBeCloseTo(0.75, 12);
    expect(estimateIn(quarter.itemPosition).high).toBeGreaterThan(0.55);
  });
});

describe("too few", () => {
  it.each([1, 2, 5])("decisions, %d, give no number", async (n) => {
    const log = logged(n, [0.5, 0.5], [1, 1], ["a", "b"]);
    for (const split of [0, 0.5]) {
      const { logged: own, ips, snips, doublyRobust } = await evaluate({ log, policy: () => [0, 1], ...ASKED, split });
      for (const figure of [own, ips, snips, doublyRobust]) expect(isTooFew(figure)).toBe(true);
    }
  });

  it("effective decisions say how many more are needed, about", async () => {
    const log = (n: number) => logged(n, [0.98, 0.02], [0.5, 0.5], ["a", "b"]);
    const { ips, logged: own, weights } = await evaluate({ log: log(400), policy: () => [0, 1], ...ASKED });
    expect(weights.effective).toBeLessThan(10);
    expect(isTooFew(own)).toBe(false);
    if (!isTooFew(ips)) throw new Error("expected too few");
    expect(ips.tooFew.of).toBe("decisions");
    const more = await evaluate({ log: log(400 + 2 * ips.tooFew.more), policy: () => [0, 1], ...ASKED });
    expect(isTooFew(more.ips)).toBe(false);
  });

  it("days of a log whose refunds take longer than the evaluated part is old", async () => {
    const random = stream("days");
    const day = 86_400_000;
    const log = Array.from({ length: 2000 }, (_, i): LoggedDecision => {
      const shownAt = (i / 2000) * 20 * day;
      const [at, back] = [shownAt + random() * day, shownAt + (12 + random()) * day];
      const order = { at, reward: 1, eventId: "order" };
      return {
        shownAt,
        count: 1,
        index: 0,
        probability: 1,
        conversions: back < 20 * day ? [order, { ...order, at: back, reward: 0 }] : [order],
      };
    });
    const asked = { log, policy: () => [1], asOf: 20 * day, window: { ms: 14 * day } };
    expect((await evaluate(asked)).logged).toEqual({ tooFew: { more: 3, of: "days" } });
    const older = await evaluate({ ...asked, evaluated: "older" });
    expect(older.logged).toMatchObject({ value: expect.closeTo(0, 1) });
  });
});
