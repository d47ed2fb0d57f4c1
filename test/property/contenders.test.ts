import { delayGpUcb, gpBucb, gpUcb, gpUcbSdf, matern32, type PolicyDescriptor, Recommender, squaredExponential } from "afterclick";
import { families } from "afterclick/research";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stream } from "../../src/simulation/stream.ts";

// A policy that scores only the candidates which may be in its list makes the list that it makes from all scores.

const D = 3;

const policies: readonly [string, PolicyDescriptor][] = [
  ["gpUcb", gpUcb({ dimension: D, beta: 2 })],
  ["gpUcb with a rough kernel", gpUcb({ dimension: D, beta: 2, kernel: matern32({ lengthscale: 0.05 }) })],
  ["gpBucb", gpBucb({ dimension: D, kernel: squaredExponential({ lengthscale: 0.3 }), noiseVariance: 0.1 })],
  ["gpUcbSdf", gpUcbSdf({ dimension: D, rewardBound: 0.1 })],
  ["delayGpUcb", delayGpUcb({ dimension: D, contextDimension: 1, capacity: 120 })],
  ["delayGpUcb of conversions", delayGpUcb({ dimension: D, rewards: "bernoulli", capacity: 60 })],
];

async function learnt(policy: PolicyDescriptor, impressions: number, waiting: number, seed: number) {
  const random = stream("contending policies", seed);
  const recommender = await Recommender.create({ policy, window: { rounds: 40 } });
  const { policy: running } = recommender;
  for (let round = 1; round <= impressions; round++) {
    const features = Array.from({ length: D }, () => random.below(17) / 16);
    const impression = running.append({ features, round });
    const reward = Math.min(Math.max(features[0] + 0.1 * random.normal(), 0), 1);
    if (round <= impressions - waiting && random() < 0.8) running.observe({ impression, reward });
  }
  return running;
}

describe.each(policies)("%s", (_, policy) => {
  it("ranks as by all scores, with the same numbers, whatever coincides", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          impressions: fc.constantFrom(0, 10, 90, 150),
          waiting: fc.constantFrom(0, 10),
          count: fc.integer({ min: 1, max: 140 }),
          limit: fc.constantFrom(1, 3, 12),
          grid: fc.constantFrom(2, 16, 1000),
          minimumShare: fc.constantFrom(0, 0, 0.005, 1),
          greedy: fc.boolean(),
          seed: fc.nat(1000),
        }),
        async ({ impressions, waiting, count, limit, grid, minimumShare, greedy, seed }) => {
          const running = await learnt(policy, impressions, waiting, seed);
          const random = stream("candidates", seed);
          const points = Float64Array.from({ length: count * D }, () => random.below(grid + 1) / grid);
          const request = { points, limit, minimumShare, greedy, round: impressions + 1 };
          // Families that bound nothing ask for all scores.
          const unbounded = families({ of: new Array(count).fill(-1), room: [] });
          const byAll = running.choose({ ...request, minimumShare: 0, families: unbounded });
          const chosen = running.choose(request);
          if (!running.ranksAtRandom(request, count)) {
            const without = (list: typeof chosen) => list.map(({ probability: _, ...rest }) => rest);
            expect(without(chosen)).toEqual(without(byAll));
          }
          const all = running.choose({ ...request, minimumShare: 0, limit: count });
          const numbers = new Map(all.map(({ index, score, mean, width }) => [index, { score, mean, width }]));
          for (const { index, score, mean, width } of chosen) expect({ score, mean, width }).toEqual(numbers.get(index));
          expect([...running.placeChances(request, [byAll[0].index])][0]).toBe(
            running.choose({ ...request, minimumShare: 0 })[0].index === byAll[0].index
              ? 1 - Math.min(1, count * minimumShare) + Math.min(1, count * minimumShare) / count
              : Number.NaN,
          );
        },
      ),
      { numRuns: 10 },
    );
  });
});
