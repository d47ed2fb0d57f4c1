import {
  type ConversionEvent,
  delayedZooming,
  delayGpUcb,
  dlpp,
  gpUcb,
  gpUcbSdf,
  otfLinUcb,
  Recommender,
  squaredExponential,
} from "afterclick";
import { describe, expect, it } from "vitest";

// Limits of a recommender's input, and the data that it reveals about an impression.

const policy = otfLinUcb({ dimension: 2 });
const create = (options: object = {}): Promise<Recommender> => Recommender.create({ policy, window: { ms: 1000 }, ...options });
const features = [1, 0];

describe("limits", () => {
  it("a reward is between a million below zero and a million above", async () => {
    await expect(create({ reward: { min: -1e6, max: 1e6 } })).resolves.toBeDefined();
    await expect(create({ reward: { min: -1e6 - 1, max: 1 } })).rejects.toThrow(/^reward\.min: /);
    await expect(create({ reward: { min: 0, max: 1e6 + 1 } })).rejects.toThrow(/^reward\.max: /);
    await expect(create({ reward: { min: 0 } })).rejects.toThrow(/^reward\.max: /);
    await expect(create({ reward: { min: 0, max: 1, step: 1 } })).rejects.toThrow(/^reward\.step: /);
  });

  it("a seed is any safe integer", async () => {
    for (const seed of [Number.MIN_SAFE_INTEGER, -1, 0, Number.MAX_SAFE_INTEGER]) await expect(create({ seed })).resolves.toBeDefined();
    for (const seed of [Number.MIN_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER + 1])
      await expect(create({ seed })).rejects.toThrow(/^seed: /);
  });

  it("a time is 0 or later, and in any unit of window checked", async () => {
    for (const window of [{ ms: 1000 }, { rounds: 3 }, "none"]) {
      const recommender = await create({ window });
      expect(() => recommender.register({ impressionId: "x", features, now: -1 })).toThrow(/^now: /);
      expect(() => recommender.register({ impressionId: "x", features, now: Number.MAX_SAFE_INTEGER + 2 })).toThrow(/^now: /);
      recommender.register({ impressionId: "x", features, now: 0 });
      expect(recommender.impression("x")).toMatchObject({ now: 0, round: 1 });
    }
  });

  it("a window of rounds is whole, one of milliseconds any positive number, and grace is not negative", async () => {
    await expect(create({ window: { rounds: 1, grace: 0 } })).resolves.toBeDefined();
    await expect(create({ window: { ms: 0.5 } })).resolves.toBeDefined();
    await expect(create({ window: { rounds: 1.5 } })).rejects.toThrow(/^window\.rounds: /);
    await expect(create({ window: { ms: 0 } })).rejects.toThrow(/^window\.ms: /);
    await expect(create({ window: { ms: 1, grace: -1 } })).rejects.toThrow(/^window\.grace: /);
    await expect(create({ window: { ms: 1, rounds: 1 } })).rejects.toThrow(/^window: /);
    await expect(create({ window: {} })).rejects.toThrow(/^window: /);
    await expect(create({ window: { ms: 1, days: 1 } })).rejects.toThrow(/^window\.days: /);
  });

  it("the id of an impression has up to 512 characters, and a conversion may ask for any of up to 2,048", async () => {
    const recommender = await create();
    const long = "x".repeat(512);
    recommender.register({ impressionId: long, features, now: 1 });
    expect(() => recommender.register({ impressionId: `${long}x`, features, now: 1 })).toThrow(/^impressionId: /);
    const convert = (event: Partial<ConversionEvent>) => recommender.convert({ impressionId: long, reward: 1, at: 2, ...event }).status;
    expect(convert({ goal: long, eventId: long })).toBe("applied");
    expect(convert({ impressionId: "y".repeat(2048) })).toBe("unknown");
    expect(() => convert({ impressionId: "y".repeat(2049) })).toThrow(/^impressionId: /);
    expect(() => convert({ goal: `${long}x` })).toThrow(/^goal: /);
    expect(() => convert({ eventId: `${long}x` })).toThrow(/^eventId: /);
    expect(() => convert({ eventId: "" })).toThrow(/^eventId: /);
  });

  it("a list of a policy with its own domain has at most the domain's points, and as many ids", async () => {
    const recommender = await create({ policy: gpUcb({ domain: { points: [[0], [1], [2]] } }) });
    const { ranking } = recommender.recommend({ limit: 2_000_000, impressionId: ["a", "b", "c"], now: 1 });
    expect(ranking.map(({ impressionId }) => impressionId)).toEqual(["a", "b", "c"]);
    expect(() => recommender.recommend({ limit: 5, impressionId: ["d", "e"], now: 1 })).toThrow(/^impressionId: expected 3 ids/);
    expect(recommender.recommend({ limit: Number.MAX_SAFE_INTEGER, now: 1 }).ranking).toHaveLength(3);
  });

  it("an array with holes is none of ids, lengthscales, axes or points", async () => {
    const recommender = await create();
    const candidates = [{ features }, { features: [0, 1] }];
    expect(() => recommender.recommend({ candidates, limit: 2, now: 1, impressionId: new Array(2) })).toThrow(/^impressionId: /);
    expect(recommender.counts().pending).toBe(0);
    expect(() => squaredExponential({ lengthscale: new Array(2) })).toThrow(/^kernel\.lengthscale\[0\]: /);
    expect(() => delayedZooming({ domain: { box: new Array(2) }, horizon: 10 })).toThrow(/^domain\.box\[0\]: /);
    const points = Array<number[]>(2);
    points[0] = [1];
    expect(() => delayedZooming({ domain: { points }, horizon: 10 })).toThrow(/^domain\.points\[1\]: /);
  });

  it("a point of a domain has coordinates", () => {
    for (const domain of [{ points: [[]] }, { points: [3] as never }])
      for (const policy of [() => gpUcb({ domain }), () => dlpp({ domain, horizon: 10 }), () => delayedZooming({ domain, horizon: 10 })])
        expect(policy).toThrow(/^domain\.points\[0\]: /);
  });

  it("the array of features that append returned is the caller's own", async () => {
    const learnt = async (change: boolean) => {
      const { policy: running } = await create({ policy: delayGpUcb({ dimension: 1 }), window: { rounds: 2 } });
      const impression = running.append({ round: 1, features: [1] });
      if (change) (impression.features as Float64Array)[0] = 50;
      for (let round = 2; round < 6; round++) running.append({ round, features: [0] });
      return running.predict([[1], [50]]).mean;
    };
    expect(await learnt(true)).toEqual(await learnt(false));
  });

  it("an impression is appended to a policy in a round from 1 on, and observed by what append returned", async () => {
    const { policy: running } = await create();
    expect(() => running.append({ round: 0, features })).toThrow(/^round: /);
    expect(() => running.choose({ round: 0, candidates: [{ features }] })).toThrow(/^round: /);
    expect(() => running.observe({ impression: {} as never, reward: 1 })).toThrow(/^impression: /);
    for (const now of [undefined, Number.NaN, -1]) expect(() => running.append({ round: 1, features, now })).toThrow(/^now: /);
    expect(() => running.choose({ round: 1, candidates: [{ features }], now: Number.NaN })).toThrow(/^now: /);
    expect(running.impressions).toBe(0);
    const impression = running.append({ round: 1, features, now: 0 });
    expect(() => running.observe({ impression, reward: Number.NaN })).toThrow(/^reward: /);
    expect(() => running.observe({ impression, reward: 1, previous: Number.NaN })).toThrow(/^previous: /);
    expect(() => running.predict(new Float64Array(2) as never)).toThrow(/^points: /);
    expect(running.impressions).toBe(1);
  });
});

describe("an impression", () => {
  it("is a copy: whoever changes it changes nothing that was learnt", async () => {
    const recommender = await create();
    const own = Float64Array.of(1, 0.5);
    recommender.register({ impressionId: "x", features: own, now: 1 });
    recommender.convert({ impressionId: "x", reward: 0.5, at: 2 });
    const before = recommender.snapshot();
    own.fill(9);
    const impression = recommender.impression("x");
    impression?.features.fill(7);
    impression?.conversions.pop();
    expect(recommender.snapshot()).toEqual(before);
    expect(recommender.impression("x")).toMatchObject({ features: Float64Array.of(1, 0.5), status: "converted" });
    expect(recommender.impression("x")?.conversions).toEqual([{ goal: "conversion", eventId: "at 2", at: 2, reward: 0.5 }]);
  });

  it("has in its digest no sign of zero", async () => {
    const kept = { policy: gpUcbSdf({ dimension: 2 }) };
    const [plain, signed] = [await create(kept), await create(kept)];
    plain.register({ impressionId: "x", features: [0, 1], now: 1 });
    signed.register({ impressionId: "x", features: [-0, 1], now: 1 });
    for (const each of [plain, signed]) each.convert({ impressionId: "x", reward: 0.5, at: 2 });
    expect(signed.digest()).toBe(plain.digest());
  });

  it("is shown in its place of a list, with the features of that candidate", async () => {
    const recommender = await create();
    const candidates = [[0.25, 0], [0, 1], [0.5, 0.5], [1, 0.125]].map((each) => ({ features: each })); // biome-ignore format: one line
    const points = Float64Array.from(candidates.flatMap((each) => each.features));
    for (const request of [{ candidates }, { points }]) {
      const { ranking, round } = recommender.recommend({ ...request, limit: 3, now: 5 });
      for (const { impressionId, index } of ranking) {
        expect(recommender.impression(impressionId)).toMatchObject({
          round,
          now: 5,
          features: Float64Array.from(candidates[index].features),
        });
      }
      expect(new Set(ranking.map(({ impressionId }) => impressionId)).size).toBe(3);
    }
  });

  it("is forgotten with thousands of others, and those after them are not", async () => {
    const recommender = await create({ window: { ms: 100, grace: 0 } });
    for (let i = 0; i < 5000; i++) recommender.register({ impressionId: `at ${i}`, features, now: i });
    const remembered = Array.from({ length: 5000 }, (_, i) => i).filter((i) => recommender.impression(`at ${i}`));
    expect(remembered).toEqual(Array.from({ length: 101 }, (_, i) => 4899 + i));
    expect(recommender.counts()).toEqual({ pending: 101, converted: 0, expired: 0, retracted: 0 });
    // Each window closes once: none of the 101 before this time, and all by this time.
    expect(recommender.expire(5000)).toBe(1);
    expect(recommender.expire(6000)).toBe(100);
    expect(recommender.convert({ impressionId: "at 4998", reward: 1, at: 4999 }).status).toBe("unknown");
  });
});

describe("a message", () => {
  const messageOf = (options: object): Promise<string> =>
    create(options).then(
      () => "none",
      (error: Error) => error.message,
    );

  it("says what was expected and what came", async () => {
    expect(await messageOf({ seed: "seven" })).toBe('seed: expected a number, got "seven"');
    expect(await messageOf({ seed: "s".repeat(41) })).toBe(`seed: expected a number, got "${"s".repeat(40)}…"`);
    expect(await messageOf({ seed: "s".repeat(40) })).toBe(`seed: expected a number, got "${"s".repeat(40)}"`);
    expect(await messageOf({ seed: true })).toBe("seed: expected a number, got true");
    expect(await messageOf({ seed: [1, 2] })).toBe("seed: expected a number, got an array of 2");
    expect(await messageOf({ seed: new Map() })).toBe("seed: expected a number, got a value of type Map");
    expect(await messageOf({ seed: Object.create(null) })).toBe("seed: expected a number, got a value of type object");
    expect(await messageOf({ seed: 1.5 })).toBe("seed: expected a whole number, got 1.5");
    expect(await messageOf({ seed: Number.NaN })).toBe("seed: expected a finite number, got NaN");
    expect(await messageOf({ window: { rounds: 0 } })).toMatch(/^window\.rounds: expected a number between 1 and \d+, got 0$/);
    expect(await messageOf({ window: { ms: 1, grace: -1 } })).toBe("window.grace: expected a number of at least 0, got -1");
    expect(await messageOf({ window: { ms: -1 } })).toBe("window.ms: expected a positive number, got -1");
  });
});
