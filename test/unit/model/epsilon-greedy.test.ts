import { epsilonGreedy, Recommender } from "afterclick";
import { expect, it } from "vitest";

const candidates = [0, 1, 2, 3].map((x) => ({ features: [x] }));

async function trained(options: object) {
  const { policy } = await Recommender.create({ policy: epsilonGreedy({ dimension: 1, ...options }), window: "none", seed: 3 });
  for (const [i, { features }] of candidates.entries()) {
    policy.observe({ impression: policy.append({ round: i + 1, features }), reward: [0.2, 0.9, 0.4, 0.6][i] });
  }
  return policy;
}

it("reports the chance with which each candidate comes to each place", async () => {
  // Epsilon is 2 / 5 at the fifth impression.
  const policy = await trained({ explorationScale: 2, explorationDecay: 1 });
  const count = 4000;
  const seen = new Map<string, { times: number; probability: number }>();
  for (let i = 0; i < count; i++) {
    const ranking = policy.choose({ candidates, round: 5, limit: 4, decision: `decision ${i}` });
    for (const [place, { index, probability = Number.NaN }] of ranking.entries()) {
      const entry = seen.get(`${index} at ${place}`) ?? { times: 0, probability };
      entry.times++;
      seen.set(`${index} at ${place}`, entry);
    }
  }
  expect(seen.get("1 at 0")?.probability).toBeCloseTo(0.7, 12);
  expect(seen.get("3 at 0")?.probability).toBeCloseTo(0.1, 12);
  expect(seen.get("3 at 1")?.probability).toBeCloseTo(0.7, 12);
  expect(seen.size).toBe(16);
  for (const { times, probability } of seen.values()) {
    expect(Math.abs(times / count - probability)).toBeLessThan(4 * Math.sqrt((probability * (1 - probability)) / count));
  }
});

it("chooses the best mean, the first of equals, when it does not explore", async () => {
  const policy = await trained({ explorationScale: 0 });
  expect(policy.choose({ candidates, round: 5, limit: 4 }).map(({ index }) => index)).toEqual([1, 3, 2, 0]);
  const [first] = policy.choose({ candidates: [{ features: [9] }, { features: [9] }], round: 5 });
  expect([first.index, first.probability]).toEqual([0, 1]);
});

it.each([
  ["explorationScale", -1],
  ["explorationScale", Number.NaN],
  ["explorationDecay", -0.5],
  ["explorationDecay", "fast"],
])("refuses %s = %j by name", (name, bad) => {
  expect(() => epsilonGreedy({ dimension: 1, [name]: bad })).toThrow(new RegExp(`^${name}`));
});
