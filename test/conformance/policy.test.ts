import { type PolicyFactory, policies, Recommender, UnsupportedError } from "afterclick";
import { describe, expect, it } from "vitest";
import { create, history, listed, shuffled } from "../support/history.ts";
import { candidatesFor, dyadicVectors, settings, stream } from "../support/scenario.ts";

// Laws that every policy of the table keeps; a new one is tested by being listed.

const withoutPosterior = ["uniform", "delayed-zooming", "dlpp"];

it("tests every policy of the table", () => {
  expect(Object.keys(settings).sort()).toEqual(policies.map(({ id }) => id).sort());
});

describe.each(listed)("$name", ({ factory, setting }) => {
  const { options, proposes } = setting;
  const hasDomain = "domain" in options;

  it("has options that survive JSON and give the same policy", async () => {
    const descriptor = (factory as PolicyFactory<object>)(options);
    expect(descriptor.id).toBe(factory.id);
    const again = (factory as PolicyFactory<object>)(JSON.parse(JSON.stringify(descriptor.options)));
    expect(again.options).toEqual(descriptor.options);
  });

  it("refuses an option it does not know", () => {
    const make = factory as PolicyFactory<object>;
    expect(() => make({ ...options, explorations: 2 })).toThrow(/options\.explorations/);
  });

  it("chooses without changing anything", async () => {
    const recommender = await create(factory, options);
    history(recommender, setting, stream(1));
    const before = recommender.snapshot();
    const request = { candidates: candidatesFor(setting, stream(2)), round: 31, limit: proposes ? 1 : 6 };
    expect(recommender.policy.choose(request)).toEqual(recommender.policy.choose(request));
    expect(recommender.snapshot()).toEqual(before);
  });

  it.skipIf(proposes)("ranks without repetition, best first, ties to the first", async () => {
    const { policy } = await create(factory, options);
    const ranking = policy.choose({ candidates: candidatesFor(setting, stream(3), 20), round: 1, limit: 30 });
    expect(ranking.map(({ index }) => index).sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i));
    for (let i = 1; i < ranking.length; i++) expect(ranking[i - 1].score).toBeGreaterThanOrEqual(ranking[i].score);
    if (hasDomain) return;
    const [tied] = policy.choose({ candidates: Array(5).fill({ features: [0, 0, 0, 0] }), round: 1, uniforms: Array(5).fill(0.5) });
    expect(tied.index).toBe(0);
  });

  it("draws other numbers for other decisions, the same for the same", async () => {
    const recommender = await create(factory, options);
    const candidates = candidatesFor(setting, stream(4));
    const scores = (decision: string): number[] =>
      recommender.policy.choose({ candidates, round: 1, decision, limit: proposes ? 1 : 6 }).map(({ score }) => score);
    expect(scores("a")).toEqual(scores("a"));
    if (factory.id.endsWith("ts") || factory.id.includes("-ts-") || factory.id === "uniform") expect(scores("a")).not.toEqual(scores("b"));
  });

  it.skipIf(hasDomain)("gives a candidate the same mean and width wherever it stands and however many others there are", async () => {
    const recommender = await create(factory, options);
    for (const event of history(recommender, setting, stream(5))) recommender.convert(event);
    const candidates = candidatesFor(setting, stream(6), 17) ?? [];
    const all = recommender.policy.choose({ candidates, round: 31, limit: 17 });
    for (const [i, candidate] of candidates.entries()) {
      const [alone] = recommender.policy.choose({ candidates: [candidate], round: 31 });
      const among = all.find(({ index }) => index === i);
      expect([among?.mean, among?.width]).toEqual([alone.mean, alone.width]);
    }
  });

  it("goes on identically when saved and restored between recommend and convert, at every round", async () => {
    const unbroken = await create(factory, options, { ms: 9000 });
    let broken = await create(factory, options, { ms: 9000 });
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

  it("ends up the same for conversions in any order and repeated, to the bit for dyadic input", async ({ skip }) => {
    const reference = await create(factory, options, { ms: 100_000 });
    if (!reference.policy.orderInvariant) skip("its state depends on the order of conversions, as it declares");
    const events = history(reference, setting, stream(8));
    const before = reference.snapshot();
    for (const event of events) reference.convert(event);
    for (const seed of [1, 2, 3]) {
      const other = await Recommender.restore(before, { policies });
      for (const event of shuffled([...events, ...events], stream(seed))) other.convert(event);
      expect(other.digest()).toBe(reference.digest());
    }
    expect(events.length).toBeGreaterThan(10);
  });

  it("ends up within 1e-12 for any rewards in any order", async ({ skip }) => {
    const reference = await create(factory, options, { ms: 100_000 });
    if (!reference.policy.orderInvariant) skip("its state depends on the order of conversions, as it declares");
    if (factory.id === "uniform") skip("uniform has no posterior");
    const events = history(reference, setting, stream(9), false);
    const before = reference.snapshot();
    for (const event of events) reference.convert(event);
    const other = await Recommender.restore(before, { policies });
    for (const event of shuffled(events, stream(4))) other.convert(event);
    const points = dyadicVectors(stream(10), 20, 4);
    const [a, b] = [reference.policy.predict(points), other.policy.predict(points)];
    for (let i = 0; i < points.length; i++) {
      expect(Math.abs(a.mean[i] - b.mean[i])).toBeLessThan(1e-12);
      expect(Math.abs(a.variance[i] - b.variance[i])).toBeLessThan(1e-12);
    }
  });

  it("counts nothing for a late conversion", async () => {
    const recommender = await create(factory, options, { rounds: 3 });
    const random = stream(11);
    const { action } = recommender.recommend({ candidates: candidatesFor(setting, random) });
    for (let i = 0; i < 4; i++) recommender.recommend({ candidates: candidatesFor(setting, random) });
    const before = recommender.snapshot();
    expect(recommender.convert({ impressionId: action.impressionId, reward: 1 })).toEqual({ status: "late" });
    expect(recommender.snapshot()).toEqual(before);
  });

  it("predicts a variance of at least zero, or says that it cannot", async () => {
    const recommender = await create(factory, options);
    for (const event of history(recommender, setting, stream(12))) recommender.convert(event);
    const points = dyadicVectors(stream(13), 5, 4);
    const predict = (): ReturnType<typeof recommender.policy.predict> => recommender.policy.predict(points);
    if (withoutPosterior.includes(factory.id)) {
      expect(predict).toThrow(UnsupportedError);
      return;
    }
    const { mean, variance } = predict();
    expect([...mean].every(Number.isFinite)).toBe(true);
    expect([...variance].every((value) => value >= 0 && Number.isFinite(value))).toBe(true);
  });

  it("refuses candidates beside its own domain, and changes nothing", async ({ skip }) => {
    if (!hasDomain) skip("it has no domain");
    const recommender = await create(factory, options);
    const before = recommender.snapshot();
    expect(() => recommender.recommend({ candidates: [{ features: [0, 0, 0, 0] }] })).toThrow(/candidates/);
    expect(() => recommender.register({ impressionId: "x", features: [9, 9, 9, 9] })).toThrow(/features/);
    expect(recommender.snapshot()).toEqual(before);
  });

  it.skipIf(hasDomain)("refuses bad candidates by name and changes nothing", async () => {
    const recommender = await create(factory, options);
    const before = recommender.snapshot();
    const bad: [unknown, RegExp][] = [
      [undefined, /candidates/],
      [[], /candidates/],
      [[null], /candidates\[0\]/],
    ];
    if (factory.id !== "uniform") {
      for (const features of [
        undefined,
        [1, 2, 3],
        [1, 2, 3, 4, 5],
        [1, 2, 3, Number.NaN],
        [1, 2, 3, Infinity],
        [1, 2, 3, 1e155],
        ["a", 0, 0, 0],
      ]) {
        bad.push([[{ features: [0, 0, 0, 0] }, { features }], /candidates\[1\]\.features/]);
      }
    }
    for (const [candidates, message] of bad) {
      expect(() => recommender.recommend({ candidates: candidates as never })).toThrow(message);
    }
    expect(recommender.snapshot()).toEqual(before);
  });
});
