import { delayLinTs, delayLinUcb, otfLinTs, type Policy, policies, Recommender } from "afterclick";
import { describe, expect, it } from "vitest";
import { stream } from "../../support/scenario.ts";

// Lists whose places are examined with different probabilities.

const policy = delayLinUcb({ dimension: 2 });
const EXAMINATION = [1, 0.5, 0.25];

describe("the option examination", () => {
  const bad: [string, unknown, RegExp][] = [
    ["a number", 1, /^examination: expected an array of weights, one per place, got 1/],
    ["null", null, /^examination: expected an array/],
    ["an empty array", [], /^examination: expected at least one weight/],
    ["another first weight than 1", [0.5, 0.5], /^examination\[0\]: expected 1, as/],
    ["a weight that is not a number", [1, "0.5"], /^examination\[1\]: expected a number, got "0.5"/],
    ["NaN", [1, Number.NaN], /^examination\[1\]: expected a finite number/],
    ["a weight of 0", [1, 0.5, 0], /^examination\[2\]: expected a positive number/],
    ["a weight above 1", [1, 1.5], /^examination\[1\]: expected at most 1, got 1.5/],
    ["a missing weight", Object.assign([1], { 2: 0.5 }), /^examination\[1\]: expected a number, got undefined/],
  ];
  it.each(bad)("refuses %s", async (_, examination, message) => {
    await expect(Recommender.create({ policy, window: "none", examination: examination as number[] })).rejects.toThrow(message);
  });

  it("is in snapshots only if it is given, and comes back with them", async () => {
    const candidates = [{ features: [1, 0] }, { features: [0, 1] }];
    const text = (bytes: Uint8Array): string => new TextDecoder("latin1").decode(bytes);
    const plain = await Recommender.create({ policy, window: { rounds: 9 } });
    expect(text(plain.snapshot())).not.toContain("examination");
    const recommender = await Recommender.create({ policy, window: { rounds: 9 }, examination: EXAMINATION });
    recommender.recommend({ candidates, limit: 2 });
    expect(text(recommender.snapshot())).toContain('"examination":[1,0.5,0.25]');
    const restored = await Recommender.restore(recommender.snapshot(), { policies });
    expect(restored.recommend({ candidates, limit: 2 })).toEqual(recommender.recommend({ candidates, limit: 2 }));
    expect(restored.snapshot()).toEqual(recommender.snapshot());
  });
});

it("a snapshot is restored at any time, also when rates have changed and impressions were forgotten", async () => {
  const settings = { policy: delayLinTs({ dimension: 3 }), window: { rounds: 60 }, examination: [1, 0.7, 0.3] };
  const unbroken = await Recommender.create(settings);
  let restored = await Recommender.create(settings);
  const random = stream(11);
  const candidates = [0, 1, 2].map((i) => ({ features: [0, 1, 2].map((j) => Number(i === j)) }));
  for (let round = 0; round < 600; round++) {
    const { ranking } = unbroken.recommend({ candidates, limit: 3 });
    expect(restored.recommend({ candidates, limit: 3 }).ranking).toEqual(ranking);
    ranking.forEach(({ index, impressionId }, place) => {
      const rate = round < 300 ? 0.1 + 0.3 * index : 0.7 - 0.3 * index;
      if (random() >= rate * settings.examination[place]) return;
      for (const each of [unbroken, restored]) each.convert({ impressionId, reward: 1 });
    });
    if (round % 10 === 0) restored = await Recommender.restore(restored.snapshot(), { policies });
  }
  expect(unbroken.policy.change?.since).toBeGreaterThan(200);
  expect(restored.snapshot()).toEqual(unbroken.snapshot());
});

describe("an impression", () => {
  it("counts in the sums by the weight of its place, the places beyond the weights by the last", async () => {
    const recommender = await Recommender.create({ policy, window: "none", examination: EXAMINATION });
    for (const place of [0, 1, 2, 3]) recommender.register({ impressionId: `${place}`, features: [1, 0], place });
    recommender.register({ impressionId: "first", features: [1, 0] });
    expect([...recommender.policy.statistics()]).toEqual([3, 0, 0, 0, 0]);
    recommender.convert({ impressionId: "2", reward: 1 });
    expect([...recommender.policy.statistics()]).toEqual([3, 0, 0, 1, 0]);
    expect(() => recommender.register({ impressionId: "x", features: [1, 0], place: -1 })).toThrow(/^place: /);
    expect(() => recommender.register({ impressionId: "x", features: [1, 0], place: 0.5 })).toThrow(/^place: /);
  });

  it("of a list has the weight of its place", async () => {
    const recommender = await Recommender.create({ policy, window: "none", examination: EXAMINATION });
    recommender.recommend({ points: Float64Array.of(1, 0, 1, 0, 1, 0, 1, 0), limit: 4 });
    expect(recommender.policy.statistics()[0]).toBe(2);
  });

  it("may have any weight in (0, 1]", async () => {
    const { policy: running } = await Recommender.create({ policy, window: "none" });
    running.append({ round: 1, features: [1, 0], weight: 0.5 });
    running.append({ round: 2, features: [1, 0] });
    expect(running.statistics()[0]).toBe(1.5);
    for (const weight of [0, -1, 1.5, Number.NaN]) {
      expect(() => running.append({ round: 3, features: [1, 0], weight })).toThrow(/^weight: /);
    }
  });

  it("counts wholly with the weight 1, to the last bit", async () => {
    const [weighted, plain] = await Promise.all(
      [{ examination: [1] }, {}].map((options) =>
        Recommender.create({ policy: delayLinTs({ dimension: 2 }), window: { rounds: 20 }, ...options }),
      ),
    );
    const random = stream(1);
    for (let round = 0; round < 60; round++) {
      const points = Float64Array.from({ length: 8 }, random);
      const [decision] = [weighted, plain].map((each) => each.recommend({ points, limit: 3 }));
      if (random() < 0.3) for (const each of [weighted, plain]) each.convert({ impressionId: decision.action.impressionId, reward: 1 });
    }
    expect(weighted.digest()).toBe(plain.digest());
    expect(weighted.recommend({ points: Float64Array.of(1, 0) })).toEqual(plain.recommend({ points: Float64Array.of(1, 0) }));
  });

  it("counts wholly for a policy that is not delay-aware", async () => {
    const { policy: running } = await Recommender.create({ policy: otfLinTs({ dimension: 2 }), window: "none" });
    running.append({ round: 1, features: [1, 0], weight: 0.5 });
    const { policy: plain } = await Recommender.create({ policy: otfLinTs({ dimension: 2 }), window: "none" });
    plain.append({ round: 1, features: [1, 0] });
    expect(running.digest()).toBe(plain.digest());
  });
});

describe("rates are learnt whatever the places", () => {
  const RATES = [0.4, 0.4, 0.1];
  const WINDOW = 2400;

  /** Shows each product in a place of its own, with delays uniform on 0 .. 799. The policy after 4,000 lists. */
  async function learnt(options: object, examination: readonly number[]): Promise<Policy> {
    const recommender = await Recommender.create({
      policy: delayLinTs({ dimension: 3, ...options }),
      window: { rounds: WINDOW },
      examination,
    });
    const random = stream(8);
    const due: string[][] = [];
    for (let round = 1; round <= 12_000; round++) {
      for (const impressionId of due[round] ?? []) recommender.convert({ impressionId, reward: 1 });
      const place = round % 3;
      const features = RATES.map((_, product) => Number(product === place));
      recommender.register({ impressionId: `${round}`, features, place });
      if (random() >= RATES[place] * EXAMINATION[place]) continue;
      const at = round + 1 + Math.floor(800 * random());
      due[at] ??= [];
      due[at].push(`${round}`);
    }
    return recommender.policy;
  }

  const points = RATES.map((_, product) => RATES.map((_, each) => Number(each === product)));

  it.each([
    ["an expected reward", {}],
    ["log-odds", { rewards: "bernoulli" }],
    ["fixed shrinkage", { shrinkage: "fixed" }],
    ["forgetting", { forgetting: { halfLife: 6000 } }],
  ])("with %s", async (_, options) => {
    const running = await learnt(options, EXAMINATION);
    running.predict(points).mean.forEach((mean, product) => {
      expect(Math.abs(mean - RATES[product])).toBeLessThan(0.05);
    });
    running.interval(points).forEach(({ low, high }, product) => {
      expect(low).toBeLessThan(RATES[product]);
      expect(high).toBeGreaterThan(RATES[product]);
      expect(high - low).toBeLessThan(0.12);
    });
    const without = (await learnt(options, [1])).predict(points).mean;
    expect(Math.abs(without[1] - 0.2)).toBeLessThan(0.03);
  });
});

it("a funnel counts an impression by its place, and a click wholly", async () => {
  const goals = { click: { weight: 0 }, purchase: { weight: 1, after: "click" } } as const;
  const settings = { policy: delayLinTs({ dimension: 2 }), window: { ms: 1000 }, goals, examination: EXAMINATION };
  const recommender = await Recommender.create(settings);
  const random = stream(3);
  for (let i = 0; i < 8000; i++) {
    const product = i % 2;
    const [impressionId, now] = [`${i}`, i];
    recommender.register({ impressionId, features: [1 - product, product], now, place: 2 * product });
    // Both products are clicked by 0.4 of those who see them, and bought by half of those who click.
    if (random() >= 0.4 * EXAMINATION[2 * product]) continue;
    recommender.convert({ impressionId, goal: "click", reward: 1, at: now });
    if (random() < 0.5) recommender.convert({ impressionId, goal: "purchase", reward: 1, at: now });
  }
  const points = [
    [1, 0],
    [0, 1],
  ];
  for (const mean of recommender.policy.predict(points).mean) expect(Math.abs(mean - 0.2)).toBeLessThan(0.03);
  for (const [click, purchase] of recommender.policy.factors(points)) {
    expect(Math.abs(click.mean - 0.4)).toBeLessThan(0.04);
    expect(Math.abs(purchase.mean - 0.5)).toBeLessThan(0.05);
  }
});
