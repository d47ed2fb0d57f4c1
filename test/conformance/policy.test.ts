import { type PolicyFactory, policies, Recommender, UnsupportedError } from "afterclick";
import { expect, it } from "vitest";
import { create, history } from "../support/logs/history.ts";
import { candidatesFor, dyadicVectors, stream } from "../support/scenario.ts";
import { amongCandidates, listed, looking, predicting, ranking } from "./stated.ts";

// Laws of every policy in the table. A new policy is tested as soon as it is listed.

it.each(listed)("$name has options that survive JSON and give the same policy", ({ factory, setting }) => {
  const descriptor = (factory as PolicyFactory<object>)(setting.options);
  expect(descriptor.id).toBe(factory.id);
  const again = (factory as PolicyFactory<object>)(JSON.parse(JSON.stringify(descriptor.options)));
  expect(again.options).toEqual(descriptor.options);
});

it.each(listed)("$name refuses an option it does not know", ({ factory, setting }) => {
  const make = factory as PolicyFactory<object>;
  expect(() => make({ ...setting.options, explorations: 2 })).toThrow(/options\.explorations/);
});

it.each(listed)("$name chooses without changing anything", async ({ factory, setting, proposes }) => {
  const recommender = await create(factory, setting);
  history(recommender, setting, stream(1));
  const before = recommender.snapshot();
  const request = { candidates: candidatesFor(setting, stream(2)), round: 31, limit: proposes ? 1 : 6 };
  expect(recommender.policy.choose(request)).toEqual(recommender.policy.choose(request));
  expect(recommender.snapshot()).toEqual(before);
});

it.each(ranking)("$name ranks without repetition, best first", async ({ factory, setting }) => {
  const { policy } = await create(factory, setting);
  const ranked = policy.choose({ candidates: candidatesFor(setting, stream(3), 20), round: 1, limit: 30 });
  expect(ranked.map(({ index }) => index).sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i));
  for (let i = 1; i < ranked.length; i++) expect(ranked[i - 1].score).toBeGreaterThanOrEqual(ranked[i].score);
});

it.each(amongCandidates)("$name ranks candidates that tie in the order in which they came", async ({ factory, setting }) => {
  const { policy } = await create(factory, setting);
  const candidates = Array(5).fill({ features: [0, 0, 0, 0] });
  const ranked = policy.choose({ candidates, round: 1, limit: 5, uniforms: Array(5).fill(0.5) });
  expect(ranked[0].index).toBe(0);
});

it.each(listed)("$name draws the same numbers for the same decision", async ({ factory, setting, proposes }) => {
  const { policy } = await create(factory, setting);
  const request = { candidates: candidatesFor(setting, stream(4)), round: 1, decision: "a", limit: proposes ? 1 : 6 };
  expect(policy.choose(request)).toEqual(policy.choose(request));
});

const scoresByChance = ranking.filter(({ chance, factory }) => chance === "draws" || factory.id === "uniform");

it.each(scoresByChance)("$name draws other numbers for other decisions", async ({ factory, setting }) => {
  const { policy } = await create(factory, setting);
  const candidates = candidatesFor(setting, stream(4));
  const scores = (decision: string): number[] => policy.choose({ candidates, round: 1, decision, limit: 6 }).map(({ score }) => score);
  expect(scores("a")).not.toEqual(scores("b"));
});

it.each(amongCandidates)("$name gives a candidate the same mean and width wherever and among however many it stands", async (each) => {
  const { factory, setting } = each;
  const recommender = await create(factory, setting);
  for (const event of history(recommender, setting, stream(5))) recommender.convert(event);
  const candidates = candidatesFor(setting, stream(6), 17) ?? [];
  const all = recommender.policy.choose({ candidates, round: 31, limit: 17 });
  for (const [i, candidate] of candidates.entries()) {
    const [alone] = recommender.policy.choose({ candidates: [candidate], round: 31 });
    const among = all.find(({ index }) => index === i);
    expect([among?.mean, among?.width]).toEqual([alone.mean, alone.width]);
  }
});

it.each(listed)("$name goes on identically when saved and restored between recommend and convert, at every round", async (each) => {
  const { factory, setting, proposes } = each;
  const unbroken = await create(factory, setting, { ms: 9000 });
  let broken = await create(factory, setting, { ms: 9000 });
  const random = stream(7);
  for (let round = 1; round <= 25; round++) {
    const now = round * 1000;
    const request = { candidates: candidatesFor(setting, random), limit: proposes ? 1 : 2, now };
    const decision = unbroken.recommend(request);
    expect(broken.recommend(request)).toEqual(decision);
    broken = await Recommender.restore(broken.snapshot(), { policies });
    const event = { impressionId: decision.action.impressionId, reward: random(), at: now + Math.floor(random() * 12_000) };
    expect(broken.convert(event)).toEqual(unbroken.convert(event));
    expect(broken.snapshot()).toEqual(unbroken.snapshot());
  }
});

it.each(listed)("$name counts nothing for a late conversion", async ({ factory, setting }) => {
  const recommender = await create(factory, setting, { rounds: 3 });
  const random = stream(11);
  const { action } = recommender.recommend({ candidates: candidatesFor(setting, random) });
  for (let i = 0; i < 4; i++) recommender.recommend({ candidates: candidatesFor(setting, random) });
  const before = recommender.snapshot();
  expect(recommender.convert({ impressionId: action.impressionId, reward: 1 })).toEqual({ status: "late" });
  expect(recommender.snapshot()).toEqual(before);
});

it.each(predicting)("$name predicts a finite mean and a variance of at least zero", async ({ factory, setting }) => {
  const recommender = await create(factory, setting);
  for (const event of history(recommender, setting, stream(12))) recommender.convert(event);
  const { mean, variance } = recommender.policy.predict(dyadicVectors(stream(13), 5, 4));
  expect([...mean].every(Number.isFinite)).toBe(true);
  expect([...variance].every((value) => value >= 0 && Number.isFinite(value))).toBe(true);
});

it.each(listed.filter((each) => !predicting.includes(each)))("$name says that it cannot predict", async ({ factory, setting }) => {
  const { policy } = await create(factory, setting);
  expect(() => policy.predict(dyadicVectors(stream(13), 5, 4))).toThrow(UnsupportedError);
});

it.each(listed.filter(({ hasDomain }) => hasDomain))(
  "$name refuses candidates beside its own domain, and changes nothing",
  async (each) => {
    const recommender = await create(each.factory, each.setting);
    const before = recommender.snapshot();
    expect(() => recommender.recommend({ candidates: [{ features: [0, 0, 0, 0] }] })).toThrow(/candidates/);
    expect(() => recommender.register({ impressionId: "x", features: [9, 9, 9, 9] })).toThrow(/features/);
    expect(recommender.snapshot()).toEqual(before);
  },
);

it.each(amongCandidates)("$name refuses candidates that are none, and changes nothing", async ({ factory, setting }) => {
  const recommender = await create(factory, setting);
  const before = recommender.snapshot();
  const bad: [unknown, RegExp][] = [
    [undefined, /^candidates: /],
    [[], /^candidates: /],
    [[null], /^candidates\[0\]: /],
  ];
  for (const [candidates, message] of bad) expect(() => recommender.recommend({ candidates: candidates as never })).toThrow(message);
  expect(recommender.snapshot()).toEqual(before);
});

it.each(looking)("$name refuses bad features by name, and changes nothing", async ({ factory, setting }) => {
  const recommender = await create(factory, setting);
  const before = recommender.snapshot();
  for (const features of [
    undefined,
    [1, 2, 3],
    [1, 2, 3, 4, 5],
    [1, 2, 3, Number.NaN],
    [1, 2, 3, Infinity],
    [1, 2, 3, 1e155],
    ["a", 0, 0, 0],
  ]) {
    const candidates = [{ features: [0, 0, 0, 0] }, { features }];
    expect(() => recommender.recommend({ candidates: candidates as never })).toThrow(/^candidates\[1\]\.features/);
  }
  expect(recommender.snapshot()).toEqual(before);
});
