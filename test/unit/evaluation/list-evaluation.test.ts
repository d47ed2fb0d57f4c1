import { delayLinTs, delayLinUcb, evaluateLists, gpUcbSdf, otfLinTs, Recommender } from "afterclick";
import { isTooFew, type LoggedList } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { drawRates, EXAMINATION, type KindList, ListPolicy, listLog } from "../../../src/simulation/list-world.ts";
import { stream } from "../../../src/simulation/stream.ts";
import { estimateIn } from "../../support/logs/logged-decisions.ts";

// The reward of whole lists, from the lists of another policy.

const clicked = [{ at: 5, reward: 1 }];

/** Two candidates at two places, in one order or the other, with the chances 0.8 and 0.2 of the first order. */
function shown(first: 0 | 1, converted: readonly boolean[], rest: Partial<LoggedList> = {}): LoggedList {
  const chances = [
    [0.8, 0.2],
    [0.2, 0.8],
  ];
  const items = [first, 1 - first].map((index, place) => ({
    index,
    probability: chances[index][place],
    chances: chances[index],
    ...(converted[place] && { conversions: clicked }),
  }));
  return { shownAt: 0, count: 2, items, ...rest };
}

const asked = { asOf: 10, window: { ms: 10 }, split: 0, maturity: () => 1, examination: [1, 0.5] } as const;
/** The same lists often enough for an estimate. */
const often = (log: readonly LoggedList[]): LoggedList[] => Array.from({ length: 60 }, () => log).flat();
/** Always the second candidate first. */
const swapped = (): number[] => [0, 1, 1, 0];

describe("evaluateLists", () => {
  it("weighs rewards by the chances at the item's place, or at all places by their examination", async () => {
    // The shares of both orders are those of their chances.
    const log = often([
      shown(0, [true, true]),
      shown(0, [false, true]),
      shown(0, [false, false]),
      shown(0, [false, false]),
      shown(1, [true, true]),
    ]);
    const result = await evaluateLists({ log, policy: swapped, ...asked });
    const [logged, itemPosition, positionBased] = [result.logged, result.itemPosition, result.positionBased].map(estimateIn);
    expect(result.lists).toEqual({ learnt: 0, evaluated: 300, tooYoung: 0 });
    expect(result.support).toEqual({ itemPosition: 1, positionBased: 1 });
    expect(logged.value).toBeCloseTo(5 / 5, 12);
    // One logged list in five has the policy's order. It had probability 0.2, and both of its items converted: each reward counts 1 / 0.2.
    expect(itemPosition.value).toBeCloseTo((1 / 0.2 + 1 / 0.2) / 5, 12);
    // The first candidate has 0.5 under the policy, and 0.8 + 0.5 x 0.2 = 0.9 in the log; the second 1, and 0.2 + 0.5 x 0.8 = 0.6.
    expect(positionBased.value).toBeCloseTo((2 * (0.5 / 0.9) + 3 * (1 / 0.6)) / 5, 12);
  });

  it("keeps the ratio of the item's place where other chances are unknown", async () => {
    const { items, ...list } = shown(1, [true, false]);
    const log = often([{ ...list, items: items.map(({ chances, ...item }) => item) }]);
    const { itemPosition, positionBased } = await evaluateLists({ log, policy: swapped, ...asked });
    expect(positionBased).toEqual(itemPosition);
    const random = [...log, ...often([shown(1, [false, false])])].map(({ items, ...each }) => ({
      ...each,
      items: items.map(({ chances, ...item }) => item),
      random: true,
    }));
    const weighed = await evaluateLists({ log: random, policy: () => [0.8, 0.2, 0.2, 0.8], ...asked });
    expect(estimateIn(weighed.positionBased).value).toBeCloseTo((0.2 + 0.5 * 0.8) / (0.2 * 1.5) / 2, 12);
  });

  it("ranks by the boosts of each list, whatever the policy knows", async () => {
    const log = often([
      shown(0, [true, true]),
      shown(0, [false, true]),
      shown(0, [false, false]),
      shown(0, [false, false]),
      shown(1, [true, true]),
    ]);
    const given = await evaluateLists({ log, policy: swapped, ...asked });
    const points = Float64Array.of(0.5, 0, 0, 0.5);
    const boosted = log.map((list) => ({ ...list, points, boosts: [0, 100] }));
    for (const policy of [delayLinTs({ dimension: 2 }), delayLinUcb({ dimension: 2 })]) {
      const { itemPosition, positionBased } = await evaluateLists({ log: boosted, policy, ...asked });
      expect([itemPosition, positionBased]).toEqual([given.itemPosition, given.positionBased]);
    }
  });

  it("of the policy that made the log gives what the log earned", async () => {
    const log = Array.from({ length: 400 }, (_, i) => shown(i % 5 === 0 ? 1 : 0, [i % 3 === 0, i % 7 === 0]));
    const evaluation = await evaluateLists({ log, policy: () => [0.8, 0.2, 0.2, 0.8], ...asked });
    expect(evaluation.itemPosition).toEqual(evaluation.logged);
    expect(estimateIn(evaluation.positionBased).value).toBeCloseTo(estimateIn(evaluation.logged).value, 12);
    expect(evaluation.weights.itemPosition).toBeCloseTo(1, 12);
    expect(evaluation.weights.positionBased).toBeCloseTo(1, 12);
  });

  it("divides rewards by the share that has matured, and leaves out lists that are too young", async () => {
    const log = often([shown(0, [true, true]), shown(0, [true, false], { shownAt: 4 }), shown(0, [false, false], { shownAt: 9 })]);
    const maturity = (age: number): number => age / 10;
    const { logged, lists } = await evaluateLists({ log, policy: swapped, ...asked, maturity });
    expect(lists).toEqual({ learnt: 0, evaluated: 120, tooYoung: 60 });
    expect(estimateIn(logged).value).toBeCloseTo((2 + 1 / 0.6) / 2, 12);
  });

  it("learns a policy from the first lists, each item by the weight of its place", async () => {
    const points = Float64Array.of(1, 0, 0, 1);
    const log = Array.from({ length: 600 }, (_, i) => shown(i % 2 === 0 ? 0 : 1, [i % 3 === 0, i % 4 === 0], { shownAt: i, points }));
    const request = { ...asked, asOf: 800, window: { ms: 20 }, split: 0.5, maturity: () => 1 };
    const policy = delayLinTs({ dimension: 2 });
    const { itemPosition, positionBased } = await evaluateLists({ log, policy, ...request });
    const recommender = await Recommender.create({ policy, window: request.window, examination: [1, 0.5] });
    log.slice(0, 300).forEach(({ items, shownAt }, i) => {
      items.forEach(({ index }, place) => {
        recommender.register({ impressionId: `${i} ${place}`, features: points.slice(2 * index, 2 * index + 2), place, now: shownAt });
        // All conversions of this log are at the time 5, which is before most impressions.
        if (items[place].conversions) recommender.convert({ impressionId: `${i} ${place}`, reward: 1, at: 5 });
      });
    });
    const chances = recommender.policy.placeChances({ points, limit: 2, round: 601, now: 300, draws: 100 }, [0, 1]);
    const given = await evaluateLists({ log, policy: () => chances, ...request });
    expect(itemPosition).toEqual(given.itemPosition);
    expect(positionBased).toEqual(given.positionBased);
  });

  const log = [shown(0, [true, false])];
  const bad: [string, object, RegExp][] = [
    ["no weights", { examination: undefined }, /^examination: expected an array/],
    ["chances of one place alone", { policy: () => [0, 1] }, /^policy\(list\): expected 2 x 2 chances/],
    ["chances that do not sum to 1", { policy: () => [1, 1, 1, 0] }, /^policy\(list\)/],
    ["chances that are none", { policy: () => undefined }, /^policy\(list\): expected an array/],
    ["a factory for a policy", { policy: undefined }, /^policy: expected a descriptor or a function/],
    ["a policy with a domain", { policy: gpUcbSdf({ dimension: 1, domain: { points: [[0], [1]] } }) }, /does not choose among/],
    ["a misspelt option", { seeds: 1 }, /^request\.seeds/],
  ];
  it.each(bad)("refuses %s", async (_, request, message) => {
    await expect(evaluateLists({ log, policy: swapped, ...asked, ...request } as never)).rejects.toThrow(message);
  });

  it("has intervals that hold the truth in about 95 % of the logs", async () => {
    const held = { itemPosition: 0, positionBased: 0 };
    const stated = { itemPosition: 0, positionBased: 0 };
    const runs = 40;
    for (let run = 0; run < runs; run++) {
      const draws = stream("list evaluation test", run);
      const rates = drawRates(3, 12, draws);
      const target = new ListPolicy(rates, { draws: 40, noise: 0.9 }, draws);
      const log = listLog(
        rates,
        new ListPolicy(rates, { draws: 40, noise: 1.2 }, draws),
        { lists: 1200, randomShare: 0.3, random: "together" },
        draws,
      );
      const chances = rates.map((_, kind) => target.chances(kind));
      const truth = target.value(EXAMINATION);
      const policy = (list: LoggedList): Float64Array => chances[(list as KindList).kind];
      const evaluation = await evaluateLists({ log, policy, ...asked, examination: EXAMINATION, asOf: 1e9, window: "none" });
      for (const name of ["itemPosition", "positionBased"] as const) {
        const figure = evaluation[name];
        if (isTooFew(figure)) continue;
        const { low, high } = figure;
        stated[name]++;
        held[name] += Number(low <= truth && truth <= high);
      }
    }
    for (const name of ["itemPosition", "positionBased"] as const) {
      expect(stated[name]).toBeGreaterThan(15);
      expect(held[name] / stated[name]).toBeGreaterThan(0.85);
    }
  });
});

describe("placeChances", () => {
  const points = Float64Array.from({ length: 10 }, (_, i) => Math.sin(i));

  it("are the probabilities of choose, and sum to 1 at each place", async () => {
    const { policy } = await Recommender.create({ policy: otfLinTs({ dimension: 2 }), window: "none" });
    const request = { points, limit: 3, round: 1, draws: 50, minimumShare: 0.02 };
    const indices = [0, 1, 2, 3, 4];
    const chances = policy.placeChances(request, indices);
    expect(chances).toHaveLength(15);
    policy.choose(request).forEach(({ index, probability }, place) => {
      expect(chances[3 * index + place]).toBe(probability);
    });
    for (let place = 0; place < 3; place++) {
      expect(indices.reduce((sum, index) => sum + chances[3 * index + place], 0)).toBeCloseTo(1, 12);
    }
    expect(policy.placeChances(request, [3, 1])).toEqual(Float64Array.from([...chances.slice(9, 12), ...chances.slice(3, 6)]));
    const first = policy.chances({ points, round: 1, draws: 50, minimumShare: 0.02 });
    expect(indices.map((index) => chances[3 * index])).toEqual([...first]);
  });

  it("of a deterministic policy are 0 and 1", async () => {
    const { policy } = await Recommender.create({ policy: delayLinUcb({ dimension: 2 }), window: "none" });
    const request = { points, limit: 9, round: 1 };
    const ranking = policy.choose(request).map(({ index }) => index);
    const chances = policy.placeChances(request, ranking);
    expect([...chances]).toEqual(ranking.flatMap((_, i) => ranking.map((_, place) => Number(i === place))));
  });

  it("are refused where nobody knows them, and of no candidate", async () => {
    const { policy } = await Recommender.create({ policy: otfLinTs({ dimension: 2 }), window: "none" });
    expect(() => policy.placeChances({ points, limit: 2, round: 1 }, [0])).toThrow(/does not know its probabilities without draws/);
    expect(() => policy.placeChances({ points, limit: 2, round: 1, draws: 2 }, [5])).toThrow(/^indices\[0\]: /);
  });
});
