import { type Policy, policies, Recommender } from "afterclick";
import type { Choice } from "afterclick/research";
import { expect, it } from "vitest";
import { learnt, places } from "./learnt.ts";
import { listed, sampling } from "./stated.ts";

// Laws of policies that draw from a posterior. They draw many samples for one impression, and a decision takes one of them.

it.each(sampling)("$name knows the chance of a draw exactly: all of them together are its distribution", async (each) => {
  const { recommender, request } = await learnt(each);
  const { policy } = recommender;
  const limit = Math.min(3, places(each, request));
  for (const draws of [1, 2, 9, 40]) {
    const counts = new Map<string, number>();
    const rankings = Array.from({ length: draws }, (_, m) => policy.choose({ ...request, limit, draws, uniforms: [(m + 0.5) / draws] }));
    for (const ranking of rankings) {
      for (const [place, { index }] of ranking.entries()) {
        counts.set(`${place} ${index}`, (counts.get(`${place} ${index}`) ?? 0) + 1);
      }
    }
    for (const ranking of rankings) {
      for (const [place, { index, probability }] of ranking.entries()) {
        expect(probability).toBe((counts.get(`${place} ${index}`) as number) / draws);
      }
    }
    for (let place = 0; place < limit; place++) {
      const chances = new Map(rankings.map((ranking) => [ranking[place].index, ranking[place].probability as number]));
      expect(Array.from(chances.values()).reduce((sum, chance) => sum + chance, 0)).toBeCloseTo(1, 12);
    }
  }
});

it.each(listed.filter(({ chance, proposes }) => !proposes && chance !== "none"))(
  "$name chooses as often as it says, over many decisions",
  async (each) => {
    const { recommender, request } = await learnt(each);
    const decisions = 2400;
    const chances = recommender.policy.chances({ ...request, draws: 50 });
    const counts = new Float64Array(chances.length);
    for (let i = 0; i < decisions; i++) {
      const [{ index, probability }] = recommender.policy.choose({ ...request, draws: 50, decision: `decision ${i}` });
      expect(probability).toBe(chances[index]);
      counts[index]++;
    }
    const possible = Array.from(counts, (count, i) => ({ count, mean: decisions * chances[i] })).filter(({ mean }) => mean > 0);
    const square = possible.reduce((sum, { count, mean }) => sum + (count - mean) ** 2 / mean, 0);
    const freedom = possible.length - 1;
    // The mean of a chi-square plus four of its standard deviations.
    expect(square).toBeLessThanOrEqual(freedom + 4 * Math.sqrt(2 * freedom));
    expect(chances.reduce((sum, chance) => sum + chance, 0)).toBeCloseTo(1, 12);
  },
);

it.each(sampling)("$name draws from the posterior that it samples without draws", async (each) => {
  const { recommender, request } = await learnt(each);
  const { policy } = recommender;
  const draws = 1500;
  const counts = new Map<number, number>();
  for (let i = 0; i < draws; i++) {
    const [{ index }] = policy.choose({ ...request, decision: `decision ${i}` });
    counts.set(index, (counts.get(index) ?? 0) + 1);
  }
  const shares = policy.chances({ ...request, draws });
  for (const [index, share] of shares.entries()) {
    const observed = (counts.get(index) ?? 0) / draws;
    // Four standard errors of a difference of two shares.
    expect(Math.abs(observed - share)).toBeLessThanOrEqual(4 * Math.sqrt((2 * Math.max(share * (1 - share), 1 / draws)) / draws));
  }
});

it.each(sampling)("$name has the same draws after a restore, and others for the next impression", async (each) => {
  const { recommender, request } = await learnt(each);
  const { policy } = recommender;
  const choose = (running: Policy): Choice[] => running.choose({ ...request, limit: 2, draws: 30 });
  const before = choose(policy);
  const restored = await Recommender.restore(recommender.snapshot(), { policies });
  expect(choose(restored.policy)).toEqual(before);
  recommender.recommend({ candidates: request.candidates });
  expect(choose(policy)).not.toEqual(before);
  // The cache of 30 draws serves fewer draws, but never another impression.
  const fresh = await Recommender.restore(recommender.snapshot(), { policies });
  expect(fresh.policy.choose({ ...request, draws: 8 })).toEqual(policy.choose({ ...request, draws: 8 }));
  expect(choose(fresh.policy)).toEqual(choose(policy));
  policy.refactor();
  const rebuilt = await Recommender.restore(recommender.snapshot(), { policies });
  expect(choose(rebuilt.policy)).toEqual(choose(policy));
});
