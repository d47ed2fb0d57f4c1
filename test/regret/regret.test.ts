import { gpTsSdf, gpUcbSdf, matern52, otfLinTs, otfLinUcb, type PolicyDescriptor, policies, Recommender, uniform } from "afterclick";
import { describe, expect, it } from "vitest";
import { stream } from "../support/scenario.ts";

// Does it learn? A scenario per policy: 8 actions with hidden conversion rates, conversions late or lost, against uniform.

const ROUNDS = 600;

async function regretOf(policy: PolicyDescriptor, seed: number): Promise<number> {
  const random = stream(seed);
  const theta = [0.9, 0.1, 0.4];
  const recommender = await Recommender.create({ policy, window: { rounds: 40 }, seed });
  const due: { round: number; impressionId: string }[] = [];
  let regret = 0;
  for (let round = 1; round <= ROUNDS; round++) {
    const candidates = Array.from({ length: 8 }, (_, i) => {
      const features = [random(), random(), random()].map((each) => each / Math.sqrt(3));
      return { id: `item-${i}`, features };
    });
    const rates = candidates.map(({ features }) => features.reduce((sum, each, i) => sum + each * theta[i], 0));
    const { action } = recommender.recommend({ candidates });
    regret += Math.max(...rates) - rates[action.index];
    // Geometric delays of mean 15: most conversions come inside the window, some after it.
    const delay = Math.floor(Math.log(1 - random()) / Math.log(1 - 1 / 15));
    if (random() < rates[action.index]) due.push({ round: round + delay, impressionId: action.impressionId });
    for (const { impressionId } of due.filter((each) => each.round === round)) recommender.convert({ impressionId, reward: 1 });
  }
  return regret;
}

async function meanRegret(policy: PolicyDescriptor): Promise<number> {
  const runs = await Promise.all([1, 2, 3, 4].map((seed) => regretOf(policy, seed)));
  return runs.reduce((sum, each) => sum + each, 0) / runs.length;
}

const kernel = matern52({ lengthscale: 1 });
const gaussian = { dimension: 3, kernel, noiseVariance: 0.2, rewardBound: 0.02 };
const scenarios: Record<string, PolicyDescriptor> = {
  "otf-lin-ucb": otfLinUcb({ dimension: 3, exploration: 0.2 }),
  "otf-lin-ts": otfLinTs({ dimension: 3, exploration: 0.3 }),
  "gp-ucb-sdf": gpUcbSdf({ ...gaussian, norms: "buffered", capacity: 150 }),
  "gp-ts-sdf": gpTsSdf({ ...gaussian, norms: "buffered", exploration: 0.3, capacity: 150 }),
  uniform: uniform(),
};

describe("regret against uniform, at delays of mean 15", async () => {
  const control = await meanRegret(uniform());

  it("has a scenario for every policy", () => {
    expect(Object.keys(scenarios).sort()).toEqual(policies.map(({ id }) => id).sort());
  });

  it.each(Object.entries(scenarios).filter(([id]) => id !== "uniform"))("%s is below half", async (_, policy) => {
    expect(await meanRegret(policy)).toBeLessThan(control / 2);
  });
});
