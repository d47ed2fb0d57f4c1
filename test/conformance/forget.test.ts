import { NumericalError, type Policy, type PolicyDescriptor, type PolicyFactory, policies, Recommender, uniform } from "afterclick";
import type { AppendedImpression } from "afterclick/research";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { create } from "../support/logs/history.ts";
import { candidatesFor, dyadicVectors, stream } from "../support/scenario.ts";
import { type Listed, listed, looking } from "./stated.ts";

// A forgotten feature vector is nowhere in the state, and what was learnt there is kept elsewhere.

const WINDOW = { ms: 8_000 };
const D = 4;

/** A vector that no other impression has, close to one that others have. */
const RARE = Float64Array.of(1234, -815, 77, 2049).map((each) => each / 4096);
const NEIGHBOUR = RARE.map((each) => each + 2 ** -16);
const POINTS = dyadicVectors(stream(41), 12, D);

const SETTINGS = [
  ...listed,
  ...listed
    .filter(({ name }) => name === "gp-ts-sdf theory" || name === "gp-ucb-sdf refitted")
    .map((each) => {
      const options = { ...each.setting.options, norms: "buffered", refit: { every: 10 } };
      return { ...each, name: `${each.factory.id} buffered, refitted`, setting: { label: "buffered, refitted", options } };
    }),
];
const isPoints = ({ factory, hasDomain }: Listed): boolean => /gp|asy|epsilon/.test(factory.id) && !hasDomain;
const withPoints = SETTINGS.filter(isPoints);
/** Keep features of pending impressions, besides sums. */
const withNorms = SETTINGS.filter(({ factory, setting }) => /^otf/.test(factory.id) && setting.options.norms === "exact");
const without = SETTINGS.filter((each) => !isPoints(each) && !withNorms.includes(each));
/** Count an impression at its conversion, in a process that a first reward after `forget` brings the vector back to. */
const countsRewards = ({ factory, setting }: Listed): boolean =>
  /^gp-ucb$|asy-ts|gp-bucb|gp-bts|gp-ei/.test(factory.id) || setting.options.refit !== undefined;
const fades = ({ setting }: Listed): boolean => setting.options.forgetting !== undefined;

interface Shown {
  readonly impression: AppendedImpression;
  readonly rare: boolean;
  reward?: number;
}

/** A policy in its research loop, with the impressions that it has counted. */
class Run {
  readonly policy: Policy;
  readonly shown: Shown[] = [];

  constructor(policy: Policy) {
    this.policy = policy;
  }

  append(features: ArrayLike<number>, rare = false): void {
    const round = this.shown.length + 1;
    this.shown.push({ impression: this.policy.append({ features, round, now: 1000 * round }), rare });
  }

  observe(shown: Shown, reward: number): void {
    this.policy.observe({ impression: shown.impression, reward, previous: shown.reward });
    shown.reward = reward;
  }

  /** Rounds in which some impressions have the rare vector or its neighbour. Most get a reward, and some another one later. */
  play(rounds: number, random: () => number, rare: boolean): void {
    const others = dyadicVectors(stream(40), 25, D);
    for (let i = 0; i < rounds; i++) {
      const isRare = rare && i % 9 === 2;
      this.append(isRare ? RARE : i % 9 === 1 ? NEIGHBOUR : others[Math.floor(random() * others.length)], isRare);
      this.#convert(random, rare);
    }
  }

  #convert(random: () => number, rare: boolean): void {
    for (const each of this.shown.slice(-6)) {
      const [chance, reward] = [random(), Math.floor(random() * 4096) / 4096];
      // Without rare impressions, no vector comes back by a first reward.
      if (chance < 0.12 && (rare || !each.rare || each.reward !== undefined)) this.observe(each, reward);
    }
  }
}

const started = async ({ factory, setting }: Listed): Promise<[Recommender, Run]> => {
  const recommender = await create(factory, setting, WINDOW);
  return [recommender, new Run(recommender.policy)];
};

const has = (bytes: Uint8Array, vector: Float64Array): boolean => Buffer.from(bytes).includes(Buffer.from(vector.buffer));

/** Over all processes the impressions and rewards at each point, the rare one's at its neighbour. At capacity: at all points together. */
function learnt({ policy }: Run, { setting }: Listed): number[] {
  const at = new Map<string, [number, number]>();
  const statistics = policy.statistics();
  for (let i = 0; i < statistics.length; i += D + 2) {
    const [point, count, sum] = [statistics.slice(i, i + D), ...statistics.slice(i + D, i + D + 2)];
    const key = setting.options.capacity ? "" : (point.join() === RARE.join() ? NEIGHBOUR : point).join();
    const [counts, sums] = at.get(key) ?? [0, 0];
    at.set(key, [counts + count, sums + sum]);
  }
  return [...at].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, sums]) => sums);
}

function expectClose(actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number): void {
  expect(actual.length).toBe(expected.length);
  for (let i = 0; i < actual.length; i++) expect(Math.abs(actual[i] - expected[i])).toBeLessThanOrEqual(tolerance);
}

/** Forgets the rare vector, which a state at capacity may have merged before. */
function forget(recommender: Recommender): void {
  const held = has(recommender.snapshot(), RARE);
  expect(recommender.policy.forget(RARE)).toBe(held);
  expect(has(recommender.snapshot(), RARE)).toBe(false);
}

describe.each(withPoints)("$name", (each) => {
  // Log-odds are expanded again about the joined point. Points at capacity may be joined with others than before.
  const near = /bernoulli/.test(each.name) ? 0.15 : 0.05;

  it("has no byte of a forgotten vector, then or later, and all that was learnt", async () => {
    const seeds = fc.integer({ min: 0, max: 2 ** 31 });
    const law = fc.asyncProperty(seeds, fc.integer({ min: 3, max: 50 }), async (seed, rounds) => {
      const [recommender, run] = await started(each);
      const random = stream(seed);
      run.append(NEIGHBOUR);
      run.observe(run.shown[0], 0.5);
      run.play(rounds, random, true);
      const [before, predicted] = [learnt(run, each), run.policy.predict(POINTS)];
      forget(recommender);
      expectClose(learnt(run, each), before, 1e-12);
      const { mean, variance } = run.policy.predict(POINTS);
      expectClose(mean, predicted.mean, near);
      expectClose(variance, predicted.variance, near);
      run.play(20, random, false);
      expect(has(recommender.snapshot(), RARE)).toBe(false);
      run.append(RARE, true);
      run.observe(run.shown[run.shown.length - 1], 0.5);
      forget(recommender);
    });
    await fc.assert(law, { numRuns: 10 });
  });

  it("goes on from a snapshot with the same bits", async () => {
    const [recommender, run] = await started(each);
    run.play(40, stream(3), true);
    run.policy.forget(RARE);
    const restored = await Recommender.restore(recommender.snapshot(), { policies });
    expect(restored.digest()).toBe(recommender.digest());
    const twin = new Run(restored.policy);
    twin.shown.push(...run.shown.map((shown) => ({ ...shown })));
    for (const other of [run, twin]) other.play(15, stream(4), false);
    expect(restored.snapshot()).toEqual(recommender.snapshot());
    const request = { candidates: candidatesFor(each.setting, stream(5)), round: 60, now: 60_000, limit: 3 };
    expect(restored.policy.choose(request)).toEqual(recommender.policy.choose(request));
  });

  it("counts later rewards, corrections and silence of impressions whose vector was forgotten", async () => {
    const both = [await started(each), await started(each)];
    const [recommenders, runs] = [both.map(([recommender]) => recommender), both.map(([, run]) => run)];
    for (const run of runs) {
      run.append(NEIGHBOUR);
      run.observe(run.shown[0], 0.5);
      run.play(19, stream(6), true);
      for (const reward of [0.25, 0.75]) {
        run.append(RARE, true);
        run.observe(run.shown[run.shown.length - 1], reward);
      }
      for (let i = 0; i < 3; i++) run.append(RARE, true);
    }
    expect(runs[0].policy.forget(RARE)).toBe(true);
    for (const run of runs) {
      const [corrected, retracted, converted] = run.shown.slice(20);
      run.observe(corrected, 1);
      run.observe(retracted, 0);
      run.observe(converted, 0.5);
      run.play(12, stream(7), false);
    }
    const [after, expected] = runs.map((run) => learnt(run, each));
    if (!fades(each)) expectClose(after, expected, 1e-12);
    if (!countsRewards(each)) expect(has(recommenders[0].snapshot(), RARE)).toBe(false);
  });

  it("is as new once it has forgotten its only point", async () => {
    const [recommender, run] = await started(each);
    for (let i = 0; i < 4; i++) run.append(RARE, true);
    for (const [i, reward] of [0.5, 1].entries()) run.observe(run.shown[i], reward);
    expect(run.policy.forget(RARE)).toBe(true);
    expect(has(recommender.snapshot(), RARE)).toBe(false);
    const [, fresh] = await started(each);
    expect([...run.policy.statistics()]).toEqual([]);
    expect(run.policy.predict(POINTS)).toEqual(fresh.policy.predict(POINTS));
    const normals = new Float64Array(6).fill(0.5);
    const request = { candidates: candidatesFor(each.setting, stream(5)), round: 5, now: 60_000, normals };
    if (/^(gp-ucb|gp-ts|asy|gp-b|delay)/.test(each.factory.id)) expect(run.policy.choose(request)).toEqual(fresh.policy.choose(request));
    // A correction and the first reward of a pending impression find no point, and are no error.
    run.observe(run.shown[0], 0.25);
    run.observe(run.shown[3], 1);
    run.play(15, stream(8), false);
    expect(learnt(run, each).length).toBeGreaterThan(0);
    const restored = await Recommender.restore(recommender.snapshot(), { policies });
    expect(restored.snapshot()).toEqual(recommender.snapshot());
  });

  it("changes nothing if it fails half-way", async () => {
    const { factory, setting } = each;
    const descriptor = (factory as PolicyFactory<object>)(setting.options);
    const recommender = await Recommender.create({ policy: failing(descriptor), window: WINDOW, seed: 5 });
    const run = new Run(recommender.policy);
    run.play(30, stream(9), true);
    const before = recommender.snapshot();
    const request = { candidates: candidatesFor(setting, stream(5)), round: 31, now: 31_000 };
    const next = recommender.policy.choose(request);
    expect(() => recommender.policy.forget(RARE)).toThrow("half-way");
    expect(recommender.snapshot()).toEqual(before);
    expect(recommender.policy.choose(request)).toEqual(next);
  });
});

/** A policy whose state forgets and then fails. */
function failing(descriptor: PolicyDescriptor): PolicyDescriptor {
  return {
    ...descriptor,
    start(context) {
      const rule = descriptor.start(context);
      const forget = rule.state.forget?.bind(rule.state);
      rule.state.forget = (features) => {
        expect(forget?.(features)).toBe(true);
        throw new NumericalError("not-positive-definite", "half-way");
      };
      return rule;
    },
  };
}

describe.each(withNorms)("$name", (each) => {
  it("forgets a vector of pending impressions, and keeps all sums", async () => {
    const [recommender, run] = await started(each);
    run.play(20, stream(1), true);
    expect(has(recommender.snapshot(), RARE)).toBe(true);
    const digest = recommender.digest();
    expect(run.policy.forget(RARE)).toBe(true);
    expect(has(recommender.snapshot(), RARE)).toBe(false);
    expect(recommender.digest()).toBe(digest);
    run.play(10, stream(2), false);
    const bytes = recommender.snapshot();
    expect(run.policy.forget(RARE)).toBe(false);
    expect(recommender.snapshot()).toEqual(bytes);
  });
});

describe.each(without)("$name", (each) => {
  it("has no features of impressions to forget", async () => {
    const recommender = await create(each.factory, each.setting, WINDOW);
    const shown: Float64Array[] = [];
    for (let i = 1; i <= 20; i++) {
      const { impressionId } = recommender.recommend({ candidates: candidatesFor(each.setting, stream(i)), now: 1000 * i }).action;
      shown.push(recommender.impression(impressionId)?.features as Float64Array);
      if (i % 2 === 0) recommender.convert({ impressionId, reward: 0.5, at: 1000 * i + 1 });
    }
    const bytes = recommender.snapshot();
    for (const features of shown.slice(-3)) expect(recommender.policy.forget(features)).toBe(false);
    expect(recommender.snapshot()).toEqual(bytes);
  });
});

describe("forget", () => {
  it.each(SETTINGS.filter((each) => looking.includes(each) || each.hasDomain))(
    "of $name refuses other than features, and changes nothing",
    async (each) => {
      const [recommender, run] = await started(each);
      if (isPoints(each)) run.play(10, stream(1), true);
      const bytes = recommender.snapshot();
      const { policy } = recommender;
      expect(() => policy.forget(undefined as never)).toThrow(TypeError);
      expect(() => policy.forget(["0", 0, 0, 0] as never)).toThrow(/^features\[0\]: expected a number/);
      expect(() => policy.forget([1, 2, 3])).toThrow(/^features: expected 4 numbers/);
      for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY, 2e6]) expect(() => policy.forget(RARE.with(2, wrong))).toThrow(RangeError);
      expect(recommender.snapshot()).toEqual(bytes);
    },
  );

  it("of a policy without features has nothing to forget", async () => {
    const { policy } = await create(uniform, { label: "", options: {} }, WINDOW);
    expect(policy.forget(RARE)).toBe(false);
  });

  it("tests policies with points, with sums and with a domain", () => {
    expect(new Set(withPoints.map(({ factory }) => factory.id)).size).toBe(10);
    expect(withNorms.length).toBe(2);
    expect(without.filter(({ hasDomain }) => hasDomain).length).toBeGreaterThan(15);
  });
});
