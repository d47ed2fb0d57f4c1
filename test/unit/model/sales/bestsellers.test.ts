import {
  bestsellers,
  evaluate,
  evaluateLists,
  type LoggedDecision,
  merge,
  type PolicyDescriptor,
  policies,
  Recommender,
  uniform,
} from "afterclick";
import { type Estimate, families, type LoggedItem, type LoggedList } from "afterclick/research";
import { expect, it } from "vitest";
import type { BestsellersOptions } from "../../../../src/policy/recommended/bestsellers.ts";

const DAY_MS = 86_400_000;
const PRODUCTS = ["mug", "hat", "pen"];
const candidates = PRODUCTS.map((id) => ({ id }));
const window = { ms: 30 * DAY_MS };

const started = (options?: BestsellersOptions, seed = 1) => Recommender.create({ policy: bestsellers(options), window, seed });

let shown = 0;
/** Shows a product and sells it `delay` later. Without a delay nobody buys it. */
function show(recommender: Recommender, action: string, now: number, delay?: number): string {
  const impressionId = `impression ${++shown}`;
  recommender.register({ impressionId, action, now });
  if (delay !== undefined) recommender.convert({ impressionId, reward: 1, at: now + delay });
  return impressionId;
}

const scoresOf = ({ policy }: Recommender, now: number): Record<string, number> =>
  Object.fromEntries(policy.choose({ candidates, round: 99, now, limit: 3 }).map(({ id, score }) => [id, score]));

it("ranks by the sales of the last seven days, counted by the day of the conversion", async () => {
  const recommender = await started({ random: 0 });
  for (let i = 0; i < 3; i++) show(recommender, "mug", DAY_MS, 0);
  show(recommender, "hat", DAY_MS, 6 * DAY_MS);
  expect(scoresOf(recommender, 7 * DAY_MS)).toEqual({ mug: 3, hat: 1, pen: 0 });
  expect(scoresOf(recommender, 8 * DAY_MS)).toEqual({ hat: 1, mug: 0, pen: 0 });
  show(recommender, "pen", 20 * DAY_MS);
  expect(scoresOf(recommender, 20 * DAY_MS)).toEqual({ mug: 0, hat: 0, pen: 0 });
});

it("ranks by sales per impression", async () => {
  const recommender = await started({ by: "rate", random: 0 });
  for (let i = 0; i < 8; i++) show(recommender, "mug", DAY_MS, i < 2 ? 0 : undefined);
  for (let i = 0; i < 2; i++) show(recommender, "hat", DAY_MS, i < 1 ? 0 : undefined);
  expect(scoresOf(recommender, DAY_MS)).toEqual({ hat: 0.5, mug: 0.25, pen: 0 });
});

it("takes a retracted sale back on its own day", async () => {
  const recommender = await started({ random: 0 });
  const mug = show(recommender, "mug", DAY_MS, 0);
  show(recommender, "hat", 3 * DAY_MS, 0);
  recommender.convert({ impressionId: mug, reward: null, at: 4 * DAY_MS });
  expect(scoresOf(recommender, 5 * DAY_MS)).toEqual({ hat: 1, mug: 0, pen: 0 });
});

it("chooses among products that tie at random, with the exact probability of each place", async () => {
  const { policy } = await started({ random: 0.1 });
  const recommender = await started({ random: 0.1 });
  for (let i = 0; i < 2; i++) show(recommender, "pen", DAY_MS, 0);
  const chances = recommender.policy.placeChances({ candidates, round: 9, now: DAY_MS, limit: 2 }, [0, 1, 2]);
  const [most, rest] = [0.9 + 0.1 / 3, 0.1 / 3];
  // Rows of mug, hat and pen; columns of places.
  [rest, 0.45 + rest, rest, 0.45 + rest, most, rest].forEach((chance, i) => void expect(chances[i]).toBeCloseTo(chance, 12));
  expect(Array.from(policy.chances({ candidates, round: 1, now: DAY_MS }))).toEqual([1 / 3, 1 / 3, 1 / 3]);
});

it("states the chances of lists within families as often as they come true", async () => {
  const recommender = await started({ random: 0.2 });
  show(recommender, "pen", DAY_MS, 0);
  const bounds = families({ of: [0, 0, -1], room: [1] });
  const request = { candidates, round: 9, now: DAY_MS, limit: 2, families: bounds };
  const chances = recommender.policy.placeChances(request, [0, 1, 2]);
  const counts = new Float64Array(6);
  const decisions = 4000;
  for (let i = 0; i < decisions; i++) {
    recommender.policy.choose({ ...request, decision: `${i}` }).forEach(({ index, probability }, place) => {
      expect(probability).toBe(chances[2 * index + place]);
      counts[2 * index + place]++;
    });
  }
  chances.forEach((chance, i) => void expect(Math.abs(counts[i] / decisions - chance)).toBeLessThan(0.03));
});

it("counts a product of a log by its id, and is evaluated from a uniformly random log", async () => {
  const log = Array.from({ length: 600 }, (_, i): LoggedDecision => {
    // The candidates come in another order each time, so only their ids tell them apart.
    const ids = [0, 1, 2].map((place) => PRODUCTS[(i + place) % 3]);
    const index = Math.floor(i / 3) % 3;
    const shownAt = DAY_MS + i * 60_000;
    return { shownAt, count: 3, ids, index, probability: 1 / 3, conversions: ids[index] === "hat" ? [{ at: shownAt, reward: 1 }] : [] };
  });
  const value = async (policy: PolicyDescriptor) => {
    const { snips } = await evaluate({ log, policy, window: { ms: DAY_MS }, asOf: 3 * DAY_MS });
    return (snips as Estimate).value;
  };
  expect(await value(uniform())).toBeCloseTo(1 / 3, 1);
  expect(await value(bestsellers({ random: 0.1 }))).toBeCloseTo(0.9 + 0.1 / 3, 1);
});

it("has the bytes of one recommender after a merge of two", async () => {
  const [first, second, both] = [await started({ by: "rate" }), await started({ by: "rate" }), await started({ by: "rate" })];
  for (const each of [first, second, both]) each.policy.prior([{ id: "mug", sales: 9 }]);
  for (let i = 0; i < 40; i++) {
    const shown = { impressionId: `merged ${i}`, action: PRODUCTS[i % 3], now: DAY_MS * (1 + (i % 9)) };
    for (const each of [i % 2 ? first : second, both]) {
      each.register(shown);
      if (i % 4 === 0) each.convert({ impressionId: shown.impressionId, reward: 0.25, at: shown.now + 5 * DAY_MS });
    }
  }
  both.refactor();
  const merged = await merge([first.snapshot(), second.snapshot()], { policies });
  expect(merged.snapshot()).toEqual(both.snapshot());
});

it("tells products apart by their features if it is given a dimension", async () => {
  const recommender = await Recommender.create({ policy: bestsellers({ dimension: 2, random: 0 }), window: "none" });
  const features = [
    [1, 0],
    [1, 0.5],
  ];
  recommender.register({ impressionId: "a", features: features[1] });
  recommender.convert({ impressionId: "a", reward: 1 });
  expect(recommender.policy.choose({ candidates: features.map((each) => ({ features: each })), round: 2 })[0].index).toBe(1);
});

it("needs the id of a product without features, and changes nothing without it", async () => {
  const recommender = await started();
  const before = recommender.snapshot();
  expect(() => recommender.register({ impressionId: "a", now: 1 })).toThrow(/^action: expected the id of the product/);
  expect(recommender.snapshot()).toEqual(before);
});

it.each([
  [{ by: "views" }, /^by: /],
  [{ random: 1.5 }, /^random: /],
  [{ period: 0 }, /^period: /],
  [{ dimension: 5000 }, /^dimension: /],
  [{ days: 7 }, /^options\.days: /],
])("refuses %j", (options, message) => {
  expect(() => bestsellers(options as never)).toThrow(message);
});

it("counts a product of a list by its id", async () => {
  const log = Array.from({ length: 600 }, (_, i): LoggedList => {
    const ids = [0, 1, 2].map((place) => PRODUCTS[(i + place) % 3]);
    const shownAt = DAY_MS + i * 60_000;
    const items = [0, 1].map((place): LoggedItem => {
      const index = (Math.floor(i / 3) + place) % 3;
      const conversions = ids[index] === "hat" ? [{ at: shownAt, reward: 1 }] : [];
      return { index, probability: 1 / 3, chances: [1 / 3, 1 / 3], conversions };
    });
    return { shownAt, count: 3, ids, items };
  });
  const value = async (policy: PolicyDescriptor) => {
    const { itemPosition } = await evaluateLists({ log, policy, window: { ms: DAY_MS }, asOf: 3 * DAY_MS, examination: [1, 1] });
    return (itemPosition as Estimate).value;
  };
  // A list of two has the hat in it for sure, or in two of three orders.
  expect(await value(bestsellers({ random: 0 }))).toBeCloseTo(1, 1);
  expect(await value(uniform())).toBeCloseTo(2 / 3, 1);
});
