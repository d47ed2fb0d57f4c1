import { delayGpTs, delayGpUcb, type PolicyDescriptor, Recommender } from "afterclick";
import { expect, it } from "vitest";
import { stream } from "../support/scenario.ts";
import { delayOf } from "./world.ts";

// A half-life of 120 in a world that changes, and in one that does not.

const ROUNDS = 500;

/** Mean regret of two runs with eight actions in a square. The best action may move. */
async function regretWhere(policy: PolicyDescriptor, movesAt: number): Promise<number> {
  let regret = 0;
  for (const seed of [1, 2]) {
    const random = stream(seed);
    const recommender = await Recommender.create({ policy, window: { rounds: 40 }, seed });
    const due: { impressionId: string; reward: number }[][] = [];
    for (let round = 1; round <= ROUNDS; round++) {
      const offered = Array.from({ length: 8 }, () => [random(), random()]);
      const [x, y] = round < movesAt ? [0.8, 0.3] : [0.2, 0.8];
      const rates = offered.map((point) => Math.max(0, 0.9 - 1.2 * Math.hypot(point[0] - x, point[1] - y)));
      const { action } = recommender.recommend({ candidates: offered.map((features) => ({ features })) });
      regret += (Math.max(...rates) - rates[action.index]) / 2;
      const at = round + delayOf(random());
      const reward = Math.min(1, Math.max(0, rates[action.index] + 0.4 * (random() - 0.5)));
      due[at] ??= [];
      due[at].push({ impressionId: action.impressionId, reward });
      for (const event of due[round] ?? []) recommender.convert(event);
    }
  }
  return regret;
}

it.each(Object.entries({ "delay-gp-ucb": delayGpUcb, "delay-gp-ts": delayGpTs }))(
  "%s has less than half of the regret if the world changes, and at most half as much again if it does not",
  async (_, make) => {
    const options = { dimension: 2, capacity: 90 };
    const forgetting = { halfLife: 120 };
    const [change, none] = [ROUNDS / 2, ROUNDS + 1];
    expect(await regretWhere(make({ ...options, forgetting }), change)).toBeLessThan((await regretWhere(make(options), change)) / 2);
    expect(await regretWhere(make({ ...options, forgetting }), none)).toBeLessThan(1.5 * (await regretWhere(make(options), none)));
  },
);
