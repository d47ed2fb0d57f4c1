import { bpe, bpeDelay, matern52, type Policy, Recommender } from "afterclick";
import { gaussianProcess } from "afterclick/research";
import { expect, it } from "vitest";

const points = Array.from({ length: 12 }, (_, i) => [i / 8]);
const options = { domain: { points }, kernel: matern52({ lengthscale: 0.5 }), noiseVariance: 0.01, horizon: 30, beta: 1 };
const value = (x: ArrayLike<number>): number => 1 - (x[0] - 0.5) * (x[0] - 0.5);

async function running(descriptor = bpe(options)): Promise<Policy> {
  return (await Recommender.create({ policy: descriptor, window: "none" })).policy;
}

/** Queries `count` times and returns the impressions. */
function query(policy: Policy, count: number) {
  return Array.from({ length: count }, (_, i) => {
    const [{ features }] = policy.choose({ round: i + 1 });
    return policy.append({ round: i + 1, features });
  });
}

it("has rounds of 6, 14 and 10 = 30 - 20 queries at a horizon of 30, then whole ones", async () => {
  const slots = query(await running(), 80).map(({ slot }) => slot);
  expect([1, 2, 3, 4].map((round) => slots.filter((slot) => slot === round).length)).toEqual([6, 14, 10, 26]);
});

it("waits longer by the mean delay and its excess, and not at all without delay", async () => {
  const slots = query(await running(bpeDelay({ ...options, expectedDelay: 2, xi: 0.1, delta: 0.5 })), 30).map(({ slot }) => slot);
  // u = 2 + 0.1 sqrt(2 log(180)) = 2.3.
  expect(slots.filter((slot) => slot === 1)).toHaveLength(9);
  const undelayed = query(await running(bpeDelay({ ...options, expectedDelay: 0 })), 30).map(({ slot }) => slot);
  expect(undelayed.filter((slot) => slot === 1)).toHaveLength(6);
});

it("keeps who may still be the best by what has arrived before the next round begins, and drops what comes after", async () => {
  const policy = await running();
  const first = query(policy, 6);
  for (const [i, impression] of first.slice(0, 4).entries()) {
    // Choosing does not end the round: feedback counts until the next round's first query.
    if (i === 3) policy.choose({ round: 7 });
    policy.observe({ impression, reward: value(impression.features) });
  }
  const posterior = await gaussianProcess({ dimension: 1, kernel: options.kernel, noiseVariance: 0.01 });
  for (const { features } of first.slice(0, 4)) posterior.reward({ features, slot: posterior.append(features) }, value(features), 0);
  const { mean, deviation } = posterior.moments(Float64Array.from(points.flat()));
  const lower = Math.max(...mean.map((each, i) => each - deviation[i]));
  const survivors = points.filter((_, i) => mean[i] + deviation[i] >= lower).map(([x]) => x);
  expect(survivors.length).toBeLessThan(points.length);

  expect(survivors).toContain(policy.choose({ round: 7 })[0].features?.[0]);
  const prediction = policy.predict(points);
  prediction.mean.forEach((each, i) => {
    expect(each).toBeCloseTo(mean[i], 12);
  });
  const second = query(policy, 14);
  expect(second.every(({ slot, features }) => slot === 2 && survivors.includes(features[0]))).toBe(true);
  const before = policy.predict(points);
  policy.observe({ impression: first[5], reward: 1 });
  policy.observe({ impression: first[0], reward: 1, previous: value(first[0].features) });
  expect(policy.predict(points)).toEqual(before);
});

it("scores by the deviation, of which the width is a multiple, and takes the first of equals", async () => {
  const policy = await running(bpe({ ...options, beta: 1.5, exploration: 2 }));
  // All prior deviations are 1.
  expect(policy.choose({ round: 1 })[0]).toMatchObject({ index: 0, score: 1, mean: 0, width: 3 });
  query(policy, 1);
  const [{ score, width, index }] = policy.choose({ round: 2 });
  expect([index, width]).toEqual([11, 3 * score]);
  expect(score).toBeLessThan(1);
});

it("counts a query elsewhere for the length of the round alone, once its point is eliminated", async () => {
  const policy = await running();
  for (const impression of query(policy, 6)) policy.observe({ impression, reward: value(impression.features) });
  const [{ index }] = policy.choose({ round: 7 });
  const eliminated = policy.append({ round: 7, features: points[11] });
  expect(eliminated.slot).toBe(0);
  policy.observe({ impression: eliminated, reward: 100 });
  expect(policy.choose({ round: 8 })[0].index).toBe(index);
  expect(query(policy, 14).map(({ slot }) => slot)).toEqual([...Array(13).fill(2), 3]);
});

it("refuses more first rewards than queries of a point, and changes nothing", async () => {
  const policy = await running();
  const [impression] = query(policy, 1);
  policy.observe({ impression, reward: 1 });
  const before = policy.digest();
  expect(() => policy.observe({ impression, reward: 1 })).toThrow(RangeError);
  expect(policy.digest()).toBe(before);
});

it("stays finite for near-duplicate points and next to no noise", async () => {
  const near = { points: [[0], [1e-9], [2e-9], [1]] };
  const policy = await running(bpe({ ...options, domain: near, noiseVariance: 1e-10 }));
  for (const impression of query(policy, 30)) policy.observe({ impression, reward: 0.5 });
  const [choice] = policy.choose({ round: 31 });
  expect(Number.isFinite(choice.score) && Number.isFinite(choice.mean)).toBe(true);
});

it.each([
  ["horizon", 0],
  ["horizon", 2.5],
  ["horizon", undefined],
  ["expectedDelay", -1],
  ["expectedDelay", Number.NaN],
  ["xi", 0],
  ["b", -1],
  ["delta", 0],
  ["delta", 1.5],
  ["beta", -1],
  ["exploration", Number.POSITIVE_INFINITY],
  ["noiseVariance", 0],
  ["domain", undefined],
  ["domain", { points: [] }],
  ["domain", { points: [[0], [1], [0]] }],
])("refuses %s = %j by name", (name, bad) => {
  expect(() => bpeDelay({ ...options, expectedDelay: 2, [name]: bad })).toThrow(new RegExp(`^${name}`));
});
