import { policies, Recommender } from "afterclick";
import type { Choice } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { create } from "../support/logs/history.ts";
import { candidatesFor, type Setting, stream } from "../support/scenario.ts";
import { learnt, places } from "./learnt.ts";
import { type Listed, listed, looking, ranking } from "./stated.ts";

// Laws of decision requests: features as a matrix, no draws, greedy choice.

const flat = (setting: Setting): Float64Array =>
  Float64Array.from(candidatesFor(setting, stream(22))?.flatMap(({ features }) => features) ?? []);

/** Whether the policy ranks by means, if it is asked to. */
const hasMeans = ({ predictions }: Listed): boolean => predictions !== "none";

it.each(looking)("$name takes features as a matrix: to the bit the same", async (each) => {
  const { recommender, request } = await learnt(each);
  const { policy } = recommender;
  const points = flat(each.setting);
  for (const options of [{ limit: 1 }, { limit: 4 }, { limit: 9, greedy: true }, { limit: 3, draws: 7 }]) {
    const expected = policy.choose({ ...request, ...options }).map((choice) => ({ ...choice, id: String(choice.index) }));
    expect(policy.choose({ round: 31, points, ...options })).toEqual(expected);
  }
  const twin = await Recommender.restore(recommender.snapshot(), { policies });
  const [named, unnamed] = [recommender.recommend({ candidates: request.candidates, limit: 2 }), twin.recommend({ points, limit: 2 })];
  expect(unnamed.ranking).toEqual(named.ranking.map((action) => ({ ...action, id: String(action.index) })));
  expect(twin.snapshot()).toEqual(recommender.snapshot());
});

it.each(listed.filter((each) => !looking.includes(each)))("$name refuses a matrix, which it does not look at", async (each) => {
  const { policy } = (await learnt(each)).recommender;
  expect(() => policy.choose({ round: 31, points: new Float64Array(8) })).toThrow(/^points: /);
});

it.each(listed)("$name decides with no draws as if they had not been heard of", async (each) => {
  const { recommender, request } = await learnt(each);
  const { policy } = recommender;
  const plain = policy.choose(request);
  expect(policy.choose({ ...request, draws: 0, greedy: false })).toEqual(plain);
  expect(() => policy.choose({ ...request, draws: -1 })).toThrow(/^draws: /);
  expect(() => policy.choose({ ...request, draws: 0.5 })).toThrow(/^draws: /);
  expect(() => policy.choose({ ...request, draws: 10_001 })).toThrow(/^draws: /);
  expect(() => policy.choose({ ...request, draws: 3, normals: [0] })).toThrow(/^normals: /);
  expect(() => policy.choose({ ...request, greedy: 1 as never })).toThrow(/^greedy: /);
});

it.each(listed.filter(({ chance }) => chance !== "draws"))("$name ignores draws, as it draws from no posterior", async (each) => {
  const { recommender, request } = await learnt(each);
  expect(recommender.policy.choose({ ...request, draws: 20 })).toEqual(recommender.policy.choose(request));
});

describe("greedy", () => {
  const greed = ranking.filter(hasMeans);

  it.each(greed)("$name ranks by posterior mean with probability 1, whatever the decision", async (each) => {
    const { recommender, request } = await learnt(each);
    const { policy } = recommender;
    const limit = places(each, request);
    const greedy = policy.choose({ ...request, greedy: true, limit });
    const features = (choice: Choice): ArrayLike<number> =>
      choice.features ?? (request.candidates?.[choice.index].features as ArrayLike<number>);
    const { mean } = policy.predict(greedy.map(features));
    for (const [place, choice] of greedy.entries()) {
      expect([choice.score, choice.probability]).toEqual([choice.mean, 1]);
      expect(choice.mean).toBe(mean[place]);
    }
    expect(greedy.map(({ score }) => score)).toEqual(greedy.map(({ score }) => score).sort((a, b) => b - a));
    const widths = policy.choose({ ...request, limit });
    expect(greedy.map(({ width }) => width)).toEqual(greedy.map(({ index }) => widths.find((other) => other.index === index)?.width));
    expect(policy.choose({ ...request, greedy: true, draws: 5, decision: "another", limit })).toEqual(greedy);
  });

  it.each(greed.filter(({ hasDomain }) => !hasDomain))("$name takes the first of candidates of equal means", async (each) => {
    const { policy } = (await learnt(each)).recommender;
    const candidates = Array(5).fill({ features: [0.5, 0, 0, 0.25] });
    expect(policy.choose({ candidates, round: 31, greedy: true, limit: 5 }).map(({ index }) => index)).toEqual([0, 1, 2, 3, 4]);
  });

  it.each(listed.filter((each) => each.proposes || !hasMeans(each)))("$name ignores it, as it has no means to rank by", async (each) => {
    const { recommender, request } = await learnt(each);
    const options = { ...request, limit: places(each, request) };
    expect(recommender.policy.choose({ ...options, greedy: true })).toEqual(recommender.policy.choose(options));
  });
});

it.each(listed.filter(({ proposes }) => proposes))("$name says why it must decide in sequence, and takes one place", async (each) => {
  const { policy } = await create(each.factory, each.setting);
  expect(policy.sequential).toBe(each.factory.sequential);
  expect(policy.sequential).toMatch(/^it[ s].{20,}[^.]$/);
  expect(() => policy.choose({ round: 1, limit: 2 })).toThrow(/^limit: /);
  expect(() => policy.choose({ round: 1, minimumShare: 0.01 })).toThrow(/^minimumShare: /);
  expect(() => policy.chances({ round: 1 })).toThrow(expect.objectContaining({ code: "no-probability" }));
});

/** Whether a rebuild also chooses a ridge, so that decisions change. */
const choosesRidge = ({ factory, setting: { options } }: Listed): boolean =>
  /^delay-lin/.test(factory.id) && options.shrinkage !== "fixed" && options.rewards !== "bernoulli";

it.each(listed)("$name rebuilds what is derived, and nothing else changes: once is as good as twice", async (each) => {
  const { recommender, request } = await learnt(each);
  const { policy } = recommender;
  const limit = places(each, request);
  const before = policy.choose({ ...request, limit });
  const digest = recommender.digest();
  policy.refactor();
  const bytes = recommender.snapshot();
  const after = policy.choose({ ...request, limit });
  for (const [place, { index, score, mean, width }] of choosesRidge(each) ? [] : before.entries()) {
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
