import { expectedImprovement, gpEi, Recommender } from "afterclick";
import { expect, it } from "vitest";

it("refuses what is no normal law by name", async () => {
  const { value, log } = await expectedImprovement();
  expect(() => value({ mean: 0, deviation: -1, best: 0 })).toThrow(/^deviation/);
  expect(() => log({ mean: Number.NaN, deviation: 1, best: 0 })).toThrow(/^mean/);
  expect(() => log({ mean: 0, deviation: 1, best: 0, beta: -1 })).toThrow(/^beta/);
});

it("is the improvement itself without deviation, and its logarithm is bounded below", async () => {
  const { value, log } = await expectedImprovement();
  expect(value({ mean: 2, deviation: 0, best: 0.5 })).toBe(1.5);
  expect(value({ mean: 0, deviation: 0, best: 0.5 })).toBe(0);
  expect(log({ mean: 0, deviation: 0, best: 0.5 })).toBe(-Number.MAX_VALUE);
  expect(log({ mean: 0, deviation: 1e-300, best: 1e6 })).toBe(-Number.MAX_VALUE);
});

it("tells candidates apart whose improvement is below the smallest number", async () => {
  const { policy } = await Recommender.create({ policy: gpEi({ dimension: 1, noiseVariance: 1e-8, exploration: 1e-3 }), window: "none" });
  for (const [x, reward] of [
    [0, 1],
    [0.01, 0.2],
    [0.02, 0.1],
  ]) {
    policy.observe({ impression: policy.append({ round: 1, features: [x] }), reward });
  }
  const ranking = policy.choose({ candidates: [{ features: [0.02] }, { features: [0.01] }, { features: [0] }], round: 4, limit: 3 });
  expect(ranking.map(({ index }) => index)[0]).toBe(2);
  expect(ranking[1].score).toBeLessThan(-1000);
  expect(new Set(ranking.map(({ score }) => score)).size).toBe(3);
});
