import { type Choice, type ChooseRequest, type Policy, policies, Recommender } from "afterclick";
import { describe, expect, it } from "vitest";
import { create, history, listed } from "../support/history.ts";
import { candidatesFor, type Setting, stream } from "../support/scenario.ts";

// Laws of what a decision may be asked for beside its candidates: features as a matrix, draws, greed.

const samples = (id: string): boolean => /(^|-)b?ts(-|$)/.test(id);

/** A recommender that has learnt from 30 rounds, and a request for the next. */
async function learnt({ factory, setting }: (typeof listed)[number]): Promise<{ recommender: Recommender; request: ChooseRequest }> {
  const recommender = await create(factory, setting.options);
  for (const event of history(recommender, setting, stream(21))) recommender.convert(event);
  return { recommender, request: { candidates: candidatesFor(setting, stream(22)), round: 31 } };
}

const flat = (setting: Setting): Float64Array =>
  Float64Array.from(candidatesFor(setting, stream(22))?.flatMap(({ features }) => features) ?? []);

const places = (policy: Policy, request: ChooseRequest): number => (policy.sequential ? 1 : (request.candidates?.length ?? 20));

describe.each(listed)("$name", (each) => {
  const { factory, setting } = each;

  it("takes features as a matrix, and decides the same, to the bit", async ({ skip }) => {
    const { recommender, request } = await learnt(each);
    const { policy } = recommender;
    if (policy.hasDomain) {
      expect(() => policy.choose({ round: 31, points: new Float64Array(8) })).toThrow(/points/);
      return;
    }
    if (policy.dimension === 0) skip("it looks at no features, so a matrix of them has no rows");
    const points = flat(setting);
    for (const options of [{ limit: 1 }, { limit: 4 }, { limit: 9, greedy: true }, { limit: 3, draws: 7 }]) {
      const expected = policy.choose({ ...request, ...options }).map((choice) => ({ ...choice, id: String(choice.index) }));
      expect(policy.choose({ round: 31, points, ...options })).toEqual(expected);
    }
    const twin = await Recommender.restore(recommender.snapshot(), { policies });
    const [named, unnamed] = [recommender.recommend({ candidates: request.candidates, limit: 2 }), twin.recommend({ points, limit: 2 })];
    expect(unnamed.ranking).toEqual(named.ranking.map((action) => ({ ...action, id: String(action.index) })));
    expect(twin.snapshot()).toEqual(recommender.snapshot());
  });

  it.runIf(samples(factory.id))("knows the chance of a draw exactly: all of them together are its distribution", async () => {
    const { recommender, request } = await learnt(each);
    const { policy } = recommender;
    const limit = Math.min(3, places(policy, request));
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

  it.runIf(samples(factory.id))("chooses as often as it says, over many decisions", async () => {
    const { recommender, request } = await learnt(each);
    const decisions = 2000;
    const expected = new Map<number, number>();
    const counts = new Map<number, number>();
    for (let i = 0; i < decisions; i++) {
      const [{ index, probability }] = recommender.policy.choose({ ...request, draws: 50, decision: `decision ${i}` });
      expected.set(index, decisions * (probability as number));
      counts.set(index, (counts.get(index) ?? 0) + 1);
    }
    const square = Array.from(expected, ([index, mean]) => ((counts.get(index) as number) - mean) ** 2 / mean);
    const freedom = square.length - 1;
    // The mean of a chi-square and four of its standard deviations.
    expect(square.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(freedom + 4 * Math.sqrt(2 * freedom));
    expect(Array.from(expected.values()).reduce((sum, each) => sum + each, 0)).toBeCloseTo(decisions, 6);
  });

  it.runIf(samples(factory.id))("draws from the posterior that it samples without draws", async () => {
    const { recommender, request } = await learnt(each);
    const { policy } = recommender;
    const draws = 1500;
    const counts = new Map<number, number>();
    for (let i = 0; i < draws; i++) {
      const [{ index }] = policy.choose({ ...request, decision: `decision ${i}` });
      counts.set(index, (counts.get(index) ?? 0) + 1);
    }
    const shares = new Map<number, number>();
    for (let m = 0; m < draws; m += 5) {
      const [{ index, probability }] = policy.choose({ ...request, draws, uniforms: [(m + 0.5) / draws] });
      shares.set(index, probability as number);
    }
    for (const index of new Set([...counts.keys(), ...shares.keys()])) {
      const [a, b] = [(counts.get(index) ?? 0) / draws, shares.get(index) ?? 0];
      // Four standard errors of a difference of two shares, each of so many samples.
      expect(Math.abs(a - b)).toBeLessThanOrEqual(4 * Math.sqrt((2 * Math.max(a * (1 - a), 1 / draws)) / draws));
    }
  });

  it.runIf(samples(factory.id))("has the same draws after a restore, and others for the next impression", async () => {
    const { recommender, request } = await learnt(each);
    const { policy } = recommender;
    const choose = (running: Policy): Choice[] => running.choose({ ...request, limit: 2, draws: 30 });
    const before = choose(policy);
    const restored = await Recommender.restore(recommender.snapshot(), { policies });
    expect(choose(restored.policy)).toEqual(before);
    recommender.recommend({ candidates: request.candidates });
    expect(choose(policy)).not.toEqual(before);
    // What was kept for 30 draws serves fewer, and what was kept for the last impression is not used again.
    const fresh = await Recommender.restore(recommender.snapshot(), { policies });
    expect(fresh.policy.choose({ ...request, draws: 8 })).toEqual(policy.choose({ ...request, draws: 8 }));
    expect(choose(fresh.policy)).toEqual(choose(policy));
    policy.refactor();
    const rebuilt = await Recommender.restore(recommender.snapshot(), { policies });
    expect(choose(rebuilt.policy)).toEqual(choose(policy));
  });

  it("decides with no draws as if they had not been heard of", async () => {
    const { recommender, request } = await learnt(each);
    const { policy } = recommender;
    const plain = policy.choose(request);
    expect(policy.choose({ ...request, draws: 0, greedy: false })).toEqual(plain);
    if (!samples(factory.id)) expect(policy.choose({ ...request, draws: 20 })).toEqual(plain);
    expect(() => policy.choose({ ...request, draws: -1 })).toThrow(/draws/);
    expect(() => policy.choose({ ...request, draws: 0.5 })).toThrow(/draws/);
    expect(() => policy.choose({ ...request, draws: 3, normals: [0] })).toThrow(/normals/);
    expect(() => policy.choose({ ...request, greedy: 1 as never })).toThrow(/greedy/);
  });

  it("ranks by posterior mean when greedy, with probability 1, whatever the decision", async ({ skip }) => {
    const { recommender, request } = await learnt(each);
    const { policy } = recommender;
    const greedy = policy.choose({ ...request, greedy: true, limit: places(policy, request) });
    if (policy.sequential) skip("it chooses one point at a time");
    if (factory.id === "uniform") {
      expect(greedy).toEqual(policy.choose({ ...request, limit: places(policy, request) }));
      return;
    }
    const features = (choice: Choice): ArrayLike<number> =>
      choice.features ?? (request.candidates?.[choice.index].features as ArrayLike<number>);
    const { mean } = policy.predict(greedy.map(features));
    for (const [place, choice] of greedy.entries()) {
      expect([choice.score, choice.probability]).toEqual([choice.mean, 1]);
      expect(choice.mean).toBe(mean[place]);
      if (place > 0) expect(choice.score).toBeLessThanOrEqual(greedy[place - 1].score);
    }
    const widths = policy.choose({ ...request, limit: places(policy, request) });
    expect(greedy.map(({ width }) => width)).toEqual(greedy.map(({ index }) => widths.find((other) => other.index === index)?.width));
    expect(policy.choose({ ...request, greedy: true, draws: 5, decision: "another", limit: greedy.length })).toEqual(greedy);
    if (!policy.hasDomain) {
      const tied = Array(5).fill({ features: [0.5, 0, 0, 0.25] });
      expect(policy.choose({ candidates: tied, round: 31, greedy: true })[0].index).toBe(0);
    }
  });

  it("is deterministic exactly if it says so", async () => {
    const { recommender, request } = await learnt(each);
    const { policy } = recommender;
    const seen = new Set<string>();
    for (let i = 0; i < 500; i++) {
      const [{ index, features, score }] = policy.choose({ ...request, decision: `decision ${i}` });
      seen.add(JSON.stringify([index, features && Array.from(features), score]));
    }
    // Zooming draws lots only while a point is uncovered.
    if (policy.deterministic || factory.id !== "delayed-zooming") expect(seen.size === 1).toBe(policy.deterministic);
  });

  it("says why it must decide in sequence, if it proposes points of its own", async () => {
    const { policy } = await create(factory, setting.options);
    expect(policy.sequential).toBe(factory.sequential);
    expect(policy.sequential !== undefined).toBe(setting.proposes === true);
    if (setting.proposes) expect(policy.sequential).toMatch(/^it[ s].{20,}[^.]$/);
  });

  it("rebuilds what is derived, and nothing else changes: once is as good as twice", async () => {
    const { recommender, request } = await learnt(each);
    const { policy } = recommender;
    const limit = places(policy, request);
    const before = policy.choose({ ...request, limit });
    const digest = recommender.digest();
    policy.refactor();
    const bytes = recommender.snapshot();
    const after = policy.choose({ ...request, limit });
    for (const [place, { index, score, mean, width }] of before.entries()) {
      expect(after[place].index).toBe(index);
      for (const [a, b] of [
        [score, after[place].score],
        [mean, after[place].mean],
        [width, after[place].width],
      ]) {
        expect(Math.abs(a - b)).toBeLessThanOrEqual(1e-9 * Math.max(1, Math.abs(a)));
      }
    }
    expect(recommender.digest()).toBe(digest);
    policy.refactor();
    expect(recommender.snapshot()).toEqual(bytes);
    expect((await Recommender.restore(bytes, { policies })).policy.choose({ ...request, limit })).toEqual(after);
  });
});
