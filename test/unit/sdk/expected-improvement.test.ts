import { gpEi, linear, miniGpUcb, otfLinTs, otfLinUcb, type PolicyDescriptor, Recommender } from "afterclick";
import { expectedImprovement } from "afterclick/research";
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

const points = [
  [0, 0],
  [1, 0],
];
const candidates = points.map((features) => ({ features }));

it.each([0.01, 0.02, 0.03, 0.05, 0.07, 0.11])(
  "prefers what can improve to a point known for certain, with noise %d",
  async (noiseVariance) => {
    const settings = { kernel: linear(), noiseVariance };
    for (const policy of [
      gpEi({ dimension: 2, ...settings }),
      miniGpUcb({ domain: { points }, confidence: "frequentist", delta: 1, ...settings }),
    ]) {
      const recommender = await Recommender.create({ policy, window: "none" });
      // The variance of a linear kernel is 0 at the origin.
      recommender.register({ impressionId: "origin", features: [0, 0] });
      const { action } = recommender.recommend(policy.id === "gp-ei" ? { candidates } : {});
      expect([action.index, Number.isFinite(action.width)]).toEqual([1, true]);
    }
  },
);

it.each<[string, PolicyDescriptor]>([
  ["gp-ei", gpEi({ dimension: 2, delta: 1e-200 })],
  ["otf-lin-ucb", otfLinUcb({ dimension: 2, delta: 1e-200 })],
  ["otf-lin-ts", otfLinTs({ dimension: 2, delta: 1e-200, width: "theory" })],
  ["mini-gp-ucb", miniGpUcb({ domain: { points }, delta: 1e-200 })],
])("%s states finite numbers for the least delta", async (id, policy) => {
  const recommender = await Recommender.create({ policy, window: "none" });
  recommender.register({ impressionId: "a", features: [1, 0] });
  const { ranking } = recommender.recommend(id === "mini-gp-ucb" ? {} : { candidates, limit: 2 });
  for (const { score, width } of ranking) expect([score, width].every((each) => Math.abs(each) < 1e9)).toBe(true);
});
