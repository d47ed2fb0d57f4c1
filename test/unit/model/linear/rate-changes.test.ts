import { delayLinTs, delayLinUcb, type Policy, policies, Recommender } from "afterclick";
import type { DelayLinTsOptions } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { freshCore } from "../../../support/core.ts";
import { contentsOf, crafted } from "../../../support/crafted/crafted.ts";
import { intervalOf } from "../../../support/reference/plain-delays.ts";
import { stream } from "../../../support/scenario.ts";

// Delay-aware linear policies after a change of rates, without being told.

const CHANGE = 900;
const ROUNDS = 1800;
const BEFORE = [0.3, 0.05];
const AFTER = [0.05, 0.3];
const POINTS = [
  [1, 0],
  [0, 1],
];

/** Plays two actions in turn, with delays of up to 20 rounds. */
async function played(options: Partial<DelayLinTsOptions>, later: readonly number[], rewardOf = () => 1) {
  const { policy } = await Recommender.create({ policy: delayLinUcb({ dimension: 2, ...options }), window: { rounds: 64 } });
  const random = stream(3);
  const due: (() => void)[][] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    for (const convert of due[round] ?? []) convert();
    const action = round % 2;
    const impression = policy.append({ round, features: POINTS[action] });
    const delay = 1 + Math.floor(20 * random());
    if (random() >= (round > CHANGE ? later : BEFORE)[action]) continue;
    due[round + delay] ??= [];
    due[round + delay].push(() => policy.observe({ impression, reward: rewardOf() }));
  }
  return policy;
}

describe("changes of rates", () => {
  it.each([{}, { rewards: "bernoulli" }] as const)("are found, and what came before is forgotten: %o", async (options) => {
    const policy = await played(options, AFTER);
    const { since = 0, probability } = policy.change ?? {};
    expect(probability).toBeGreaterThan(0.999);
    expect(Math.abs(since - CHANGE)).toBeLessThan((ROUNDS - CHANGE) / 4);
    const { mean } = policy.predict(POINTS);
    for (const [action, rate] of AFTER.entries()) expect(Math.abs(mean[action] - rate)).toBeLessThan(0.06);
    const { mean: mixed } = (await played({ ...options, forgetting: null }, AFTER)).predict(POINTS);
    expect(Math.abs(mixed[0] - mixed[1])).toBeLessThan(0.08);
  });

  it("leave estimates to the bit as they are, where there are none", async () => {
    const policy = await played({}, BEFORE);
    expect(policy.change).toBeUndefined();
    const without = await played({ forgetting: null }, BEFORE);
    expect(without.change).toBeUndefined();
    expect(policy.predict(POINTS)).toEqual(without.predict(POINTS));
    expect(policy.digest()).toBe(without.digest());
  });

  it("are not seen in a few rewards that are far greater than others", async () => {
    let rewards = 0;
    const policy = await played({}, BEFORE, () => (++rewards % 100 === 0 ? 1000 : 1));
    expect(policy.change).toBeUndefined();
  });

  it("are not looked for with a fixed ridge, whose state has no order, or with many features", () => {
    expect(delayLinTs({ dimension: 256 }).options).toMatchObject({ forgetting: "changes" });
    expect(delayLinTs({ dimension: 257 }).options).toMatchObject({ forgetting: null });
    expect(delayLinTs({ dimension: 2, shrinkage: "fixed" }).options).toMatchObject({ forgetting: null });
    expect(delayLinTs({ dimension: 2, shrinkage: "fixed", rewards: "bernoulli" }).options).toMatchObject({ forgetting: "changes" });
    expect(() => delayLinTs({ dimension: 2, forgetting: "always" as never })).toThrow(TypeError);
  });
});

/** A policy with a change after 300 of 600 impressions, all of whose conversions come before the last impression. */
async function late(order: (places: number[]) => number[]): Promise<Policy> {
  const { policy } = await Recommender.create({ policy: delayLinTs({ dimension: 2 }), window: "none" });
  const append = (round: number) => policy.append({ round, features: POINTS[round % 2] });
  const impressions = Array.from({ length: 600 }, (_, i) => append(i + 1));
  const converting = impressions.flatMap((_, i) => (i % 2 === 0 && (i % 8 === 0) === i < 300 ? [i] : []));
  for (const place of order(converting)) policy.observe({ impression: impressions[place], reward: 1, delay: { after: place % 7 } });
  for (let round = 601; round <= 620; round++) append(round);
  return policy;
}

describe("the weights of impressions", () => {
  it("do not depend on the order of conversions", async () => {
    const policy = await late((places) => places);
    expect(policy.change?.probability).toBeGreaterThan(0.9);
    for (const order of [(places: number[]) => places.toReversed(), (places: number[]) => places.toSorted((a, b) => (a % 11) - (b % 11))]) {
      const other = await late(order);
      expect(other.change).toEqual(policy.change);
      expect(other.digest()).toBe(policy.digest());
      expect(other.predict(POINTS)).toEqual(policy.predict(POINTS));
    }
  });

  it("apply to late rewards and to their retraction alike", async () => {
    const policy = await late((places) => places);
    const [before] = policy.predict(POINTS.slice(0, 1)).mean;
    const gainOf = (round: number): number => {
      const impression = { features: Float64Array.from([1, 0]), slot: 0, round };
      policy.observe({ impression, reward: 1, delay: { after: 9 } });
      const [mean] = policy.predict(POINTS.slice(0, 1)).mean;
      policy.observe({ impression, reward: 0, previous: 1, delay: { before: 9 } });
      expect(policy.predict(POINTS.slice(0, 1)).mean[0]).toBeCloseTo(before, 12);
      return mean - before;
    };
    expect(gainOf(3)).toBeLessThan(gainOf(599) / 5);
  });
});

describe("a snapshot", () => {
  it("goes on identically through a change", async () => {
    const create = () => Recommender.create({ policy: delayLinTs({ dimension: 2 }), window: { rounds: 50 }, seed: 4 });
    let [saved, unbroken] = [await create(), await create()];
    const random = stream(8);
    const request = { candidates: POINTS.map((features) => ({ features })) };
    for (let round = 1; round <= 1500; round++) {
      const decision = unbroken.recommend(request);
      expect(saved.recommend(request)).toEqual(decision);
      if (round % 60 === 0) saved = await Recommender.restore(saved.snapshot(), { policies });
      if (random() >= (round > 750 ? [0.1, 0.4] : [0.6, 0.05])[decision.action.index]) continue;
      for (const each of [saved, unbroken]) each.convert({ impressionId: decision.action.impressionId, reward: 1 });
    }
    expect(unbroken.policy.change?.probability).toBeGreaterThan(0.9);
    expect(saved.policy.change).toEqual(unbroken.policy.change);
    expect(saved.snapshot()).toEqual(unbroken.snapshot());
  });

  it("is refused if it has forgotten more impressions than there were", async () => {
    const recommender = await Recommender.create({ policy: delayLinTs({ dimension: 2 }), window: { rounds: 50 } });
    for (let round = 1; round <= 5; round++) recommender.policy.append({ round, features: [1, 0] });
    const contents = contentsOf(recommender.snapshot());
    // The sums of a cohort are three of squares, a count, two features and two of the moment. Four single numbers follow.
    const place = 1 + contents.sections.findIndex((section) => typeof section !== "string" && section.length === 8);
    expect(contents.sections[place]).toEqual([0, 0, 0, 0]);
    for (const forgotten of [5.5, -1]) {
      const sums = [...(contents.sections[place] as readonly number[]).slice(0, -1), forgotten];
      const bytes = crafted(freshCore().core, { ...contents, sections: contents.sections.with(place, sums) });
      await expect(Recommender.restore(bytes, { policies })).rejects.toMatchObject({ code: "malformed" });
    }
  });
});

/** Impressions and conversions of two actions. */
interface Part {
  readonly shown: readonly [number, number];
  readonly converted: readonly [number, number];
}

const RIDGE = 0.5;
const total = ([first, second]: readonly [number, number]): number => first + second;
const plus = (a: Part, b: Part): Part => ({
  shown: [a.shown[0] + b.shown[0], a.shown[1] + b.shown[1]],
  converted: [a.converted[0] + b.converted[0], a.converted[1] + b.converted[1]],
});
const NOTHING: Part = { shown: [0, 0], converted: [0, 0] };

function variance({ shown, converted }: Part, guess: number): number {
  const [count, rewards] = [total(shown), total(converted)];
  return (rewards - rewards ** 2 / Math.max(count, 1) + 10 * guess) / (count + 10);
}

/** Log of the marginal likelihood of the rewards of a part, with a normal prior of each rate. */
function logEvidence({ shown, converted }: Part, noise: number): number {
  return [0, 1].reduce((sum, i) => {
    const precision = shown[i] + RIDGE;
    return sum - Math.log(precision / RIDGE) / 2 + converted[i] ** 2 / precision / noise / 2;
  }, 0);
}

/** Weights of parts in time order, by definition. */
function weightsOf(parts: readonly Part[]): number[] {
  const all = parts.reduce(plus, NOTHING);
  const rate = total(all.converted) / total(all.shown);
  const common = variance(all, rate);
  const odds = parts.map((_, place) => {
    const sides = [parts.slice(0, place), parts.slice(place)].map((side) => side.reduce(plus, NOTHING));
    if (sides.some(({ shown }) => !(total(shown) * rate >= 10))) return 0;
    const noise = Math.max(common, ...sides.map((side) => variance(side, common)));
    return Math.max(Math.exp(logEvidence(sides[0], noise) + logEvidence(sides[1], noise) - logEvidence(all, noise)) - 1, 0) / 20;
  });
  const whole = odds.reduce((sum, each) => sum + each, 1);
  const weights = odds.map((_, i) => odds.slice(0, i + 1).reduce((sum, each) => sum + each, 1) / whole);
  return weights.map((weight) => (weight < 0.001 ? 0 : weight > 0.999 ? 1 : weight));
}

it("forgets by the weights of its definition", async () => {
  const options = { dimension: 2, shrinkage: "fixed", ridge: RIDGE, forgetting: "changes" } as const;
  const recommender = await Recommender.create({ policy: delayLinTs(options), window: "none" });
  const { policy } = recommender;
  const random = stream(21);
  const units: Part[] = [];
  let [due, partial] = [32, 0];
  for (let round = 1; round < 900; round++) {
    const action = round % 2;
    const impression = policy.append({ round, features: POINTS[action] });
    const unit = Math.floor(round / 16);
    const one = (yes: boolean): [number, number] => (action === 0 ? [Number(yes), 0] : [0, Number(yes)]);
    units[unit] = plus(units[unit] ?? NOTHING, { shown: one(true), converted: [0, 0] });
    if (round === due) {
      due += Math.max(1, Math.ceil(round / 32));
      const parts = new Map<string, Part>();
      for (const [i, own] of units.entries()) {
        const key = intervalOf(i, unit, 1).join();
        parts.set(key, plus(parts.get(key) ?? NOTHING, own));
      }
      const weights = weightsOf([...parts.values()]);
      const kept = [...parts.values()].map(({ shown }, i) => shown.map((count) => weights[i] * count));
      // V, by weight. The sums that were learnt are whole.
      const [first, , second] = contentsOf(recommender.snapshot()).sections[1] as readonly number[];
      expect(policy.statistics()[0] + policy.statistics()[2]).toBe(round);
      expect(first).toBeCloseTo(
        kept.reduce((sum, each) => sum + each[0], 0),
        6,
      );
      expect(second).toBeCloseTo(
        kept.reduce((sum, each) => sum + each[1], 0),
        6,
      );
      if (weights[0] < 1) partial++;
    }
    if (random() >= (round > 450 ? [0.2, 0.4] : [0.5, 0.3])[action]) continue;
    policy.observe({ impression, reward: 1, delay: { after: 0 } });
    units[unit] = plus(units[unit], { shown: [0, 0], converted: one(true) });
  }
  expect(partial).toBeGreaterThan(1);
  expect(policy.change).toBeDefined();
});
