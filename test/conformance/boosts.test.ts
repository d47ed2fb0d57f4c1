import { delayLinTs, Recommender } from "afterclick";
import { families as boundedBy, type Choice, type ChooseRequest } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { bestWithin } from "../../src/model/families.ts";
import { create } from "../support/logs/history.ts";
import { learnt } from "./learnt.ts";
import { amongCandidates, listed } from "./stated.ts";

// Laws of boosts: each sample, or each upper bound, is ranked by its score plus the boost of the candidate, and nothing else changes.

const BOOSTS = [0.05, -0.4, 0, 0.3, 0.125, 0.05];
const COUNT = BOOSTS.length;
const FAMILIES = { of: [0, 0, 0, 1, 1, -1], room: [1, 1] };
const ALL = Array.from(BOOSTS.keys());

const drawn = amongCandidates.filter(({ chance }) => chance === "draws");
/** Policies whose order is that of scores which `choose` states without boosts. */
const scored = amongCandidates.filter(({ chance, factory }) => chance !== "draws" && !["uniform", "bestsellers"].includes(factory.id));

const byIndex = (choices: readonly Choice[]): Choice[] => choices.toSorted((a, b) => a.index - b.index);
const momentsOf = (choices: readonly Choice[]) => byIndex(choices).map(({ index, mean, width }) => ({ index, mean, width }));
const boosted = (scores: readonly number[]): Float64Array => Float64Array.from(scores, (score, i) => score + BOOSTS[i]);

const scoresOf = (choices: readonly Choice[]): number[] => byIndex(choices).map(({ score }) => score);

describe.each(drawn)("$name, which draws", (each) => {
  it.each([
    ["without families", undefined],
    ["within families", FAMILIES],
  ])("ranks each sample by its boosted scores, and states the share of samples, %s", async (_, bounds) => {
    const { recommender, request } = await learnt(each);
    const { policy } = recommender;
    const whole = { ...request, limit: COUNT };
    const bounded = { ...whole, ...(bounds && { families: boundedBy(bounds) }) };
    for (const draws of [1, 2, 9, 130]) {
      const hits = ALL.map(() => new Array<number>(COUNT).fill(0));
      for (let m = 0; m < draws; m++) {
        const taken = { draws, uniforms: [(m + 0.5) / draws] };
        const plain = policy.choose({ ...whole, ...taken });
        const scores = boosted(scoresOf(plain));
        const list = bestWithin(scores, COUNT, bounds ?? { of: ALL.map(() => -1), room: [] });
        const choices = policy.choose({ ...bounded, ...taken, boosts: BOOSTS });
        expect(choices.map(({ index }) => index)).toEqual(list);
        for (const { index, score } of choices) expect(Math.abs(score - scores[index])).toBeLessThan(1e-6);
        if (!bounds) expect(momentsOf(choices)).toEqual(momentsOf(plain));
        for (const [place, index] of list.entries()) hits[index][place]++;
      }
      const places = policy.choose({ ...bounded, draws }).length;
      const chances = policy.placeChances({ ...bounded, draws, boosts: BOOSTS }, ALL);
      expect(Array.from(chances)).toEqual(hits.flatMap((own) => own.slice(0, places).map((count) => count / draws)));
      const choices = policy.choose({ ...bounded, draws, boosts: BOOSTS });
      expect(choices.map(({ probability }) => probability)).toEqual(choices.map(({ index }, place) => chances[index * places + place]));
    }
  });

  it("boosts a sample of its own alike", async () => {
    const { recommender, request } = await learnt(each);
    const whole = { ...request, limit: COUNT };
    const scores = boosted(scoresOf(recommender.policy.choose(whole)));
    const choices = recommender.policy.choose({ ...whole, boosts: BOOSTS });
    expect(choices.map(({ index }) => index)).toEqual(ALL.toSorted((a, b) => scores[b] - scores[a] || a - b));
  });
});

it.each([0, 1, 40])("boosts rates, where a policy without boosts ranks by log-odds: %d draws", async (draws) => {
  const recommender = await Recommender.create({ policy: delayLinTs({ dimension: 1, rewards: "bernoulli" }), window: "none", seed: 3 });
  for (let n = 0; n < 40; n++) {
    recommender.register({ impressionId: `${n}`, features: [n % 2], now: n });
    if (n % 8 === 0) recommender.convert({ impressionId: `${n}`, reward: 1, at: n });
  }
  const points = Float64Array.from(ALL, (i) => i / COUNT);
  for (let n = 0; n < 30; n++) {
    const asked = { points, round: 41, now: 100, limit: COUNT, draws, decision: `${n}` };
    const plain = recommender.policy.choose(asked);
    const scores = boosted(scoresOf(plain).map((logOdds) => 1 / (1 + Math.exp(-logOdds))));
    const choices = recommender.policy.choose({ ...asked, boosts: BOOSTS });
    expect(choices.map(({ index }) => index)).toEqual(ALL.toSorted((a, b) => scores[b] - scores[a] || a - b));
    for (const { index, score } of choices) expect(Math.abs(score - scores[index])).toBeLessThan(1e-12);
    expect(momentsOf(choices)).toEqual(momentsOf(plain));
  }
});

it.each(scored)("$name ranks by its boosted scores, and states the same moments", async (each) => {
  const { recommender, request } = await learnt(each);
  const whole = { ...request, limit: COUNT, decision: "a decision" };
  const plain = recommender.policy.choose(whole);
  const scores = boosted(scoresOf(plain));
  const choices = recommender.policy.choose({ ...whole, boosts: BOOSTS });
  expect(choices.map(({ index }) => index)).toEqual(ALL.toSorted((a, b) => scores[b] - scores[a] || a - b));
  expect(choices.map(({ score }) => score)).toEqual(choices.map(({ index }) => scores[index]));
  expect(momentsOf(choices)).toEqual(momentsOf(plain));
});

it.each(amongCandidates.filter(({ chance }) => chance !== "none"))(
  "$name shows each candidate at each place as often as it says",
  async (each) => {
    const { recommender, request } = await learnt(each);
    const { policy } = recommender;
    const decisions = 1500;
    const asked: ChooseRequest = { ...request, draws: 50, limit: 3, boosts: BOOSTS, minimumShare: 0.05 };
    const chances = policy.placeChances(asked, ALL);
    const shown = new Float64Array(chances.length);
    for (let n = 0; n < decisions; n++) {
      for (const [place, { index, probability }] of policy.choose({ ...asked, decision: `decision ${n}` }).entries()) {
        expect(probability).toBe(chances[3 * index + place]);
        shown[3 * index + place]++;
      }
    }
    for (const [at, chance] of chances.entries()) {
      expect(chance).toBeGreaterThan(0.049);
      expect(Math.abs(shown[at] / decisions - chance), `${at}`).toBeLessThan(5 * Math.sqrt((chance * (1 - chance)) / decisions));
    }
  },
);

it.each(amongCandidates)("$name decides with boosts of 0 as without, to the bit", async (each) => {
  const { recommender, request } = await learnt(each);
  for (const options of [{ limit: 1 }, { limit: 4, draws: 40 }, { limit: 3, greedy: true }, { limit: 2, minimumShare: 0.1 }]) {
    const asked = { ...request, ...options };
    expect(recommender.policy.choose({ ...asked, boosts: new Float64Array(COUNT) })).toEqual(recommender.policy.choose(asked));
  }
});

it.each(amongCandidates.filter(({ predictions }) => predictions !== "none"))(
  "$name adds boosts to the means that it ranks greedily by",
  async (each) => {
    const { recommender, request } = await learnt(each);
    const greedy = { ...request, greedy: true, limit: COUNT };
    const scores = boosted(scoresOf(recommender.policy.choose(greedy)));
    const choices = recommender.policy.choose({ ...greedy, boosts: BOOSTS });
    expect(choices.map(({ index }) => index)).toEqual(ALL.toSorted((a, b) => scores[b] - scores[a] || a - b));
    expect(choices.map(({ score, probability }) => [score, probability])).toEqual(choices.map(({ index }) => [scores[index], 1]));
  },
);

it.each(listed.filter(({ hasDomain }) => hasDomain))("$name refuses boosts, as it has its own domain", async (each) => {
  const { policy } = await create(each.factory, each.setting);
  expect(() => policy.choose({ round: 1, boosts: [0] })).toThrow(`boosts: expected none, as this ${each.factory.id} has its own domain`);
});

it.each<[string, unknown, RegExp]>([
  ["too few", [0.1], /^boosts: expected 6 numbers, got an array of 1$/],
  ["no array", 3, /^boosts: expected an array of 6 numbers, got 3$/],
  ["one that is no number", [0, 0, 0, 0, 0, Number.NaN], /^boosts\[5\]: expected a finite number of at most 1000000 in size, got NaN$/],
  ["one that is too great", [0, 1e7, 0, 0, 0, 0], /^boosts\[1\]: expected .*1000000.*got 10000000$/],
])("refuses %s", async (_, boosts, message) => {
  const { recommender, request } = await learnt(drawn[0]);
  expect(() => recommender.policy.choose({ ...request, boosts: boosts as never })).toThrow(message);
});
