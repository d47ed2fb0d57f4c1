import { delayLinTs, Recommender } from "afterclick";
import { expect, it } from "vitest";
import { world } from "../../../experiments/vernade.ts";
import { fixed } from "../../../src/simulation/delay-law.ts";
import { concealed, converting, play } from "../../../src/simulation/world.ts";

const WINDOW = 200;

async function regretAt(delay: number, { blind }: { readonly blind: boolean }): Promise<Float64Array> {
  const policy = delayLinTs({ dimension: 5, forgetting: null });
  const recommender = await Recommender.create({ policy, window: { rounds: WINDOW }, seed: 0 });
  const player = blind ? concealed(recommender.policy) : recommender.policy;
  return play(player, converting(world(500, fixed(delay), ["concealed"])), { offset: 0, window: WINDOW });
}

it("plays as it would where rewards come at once, and otherwise where they come late", async () => {
  expect(await regretAt(0, { blind: true })).toEqual(await regretAt(0, { blind: false }));
  expect(await regretAt(100, { blind: true })).not.toEqual(await regretAt(100, { blind: false }));
});

it("doubts no silent impression: it predicts a lower rate while rewards are on their way", async () => {
  const predicted = async (blind: boolean): Promise<number> => {
    const policy = delayLinTs({ dimension: 1, forgetting: null });
    const recommender = await Recommender.create({ policy, window: { rounds: WINDOW } });
    const player = blind ? concealed(recommender.policy) : recommender.policy;
    const observed: (() => void)[] = [];
    for (let round = 1; round <= 300; round++) {
      // Every impression converts, 100 rounds later, so two thirds have converted in the end.
      if (round > 100) observed[round - 101]();
      const impression = player.append({ round, features: [1] });
      observed.push(() => player.observe({ impression, reward: 1 }));
    }
    return recommender.policy.predict([[1]]).mean[0];
  };
  expect(Math.abs((await predicted(true)) - 2 / 3)).toBeLessThan(0.02);
  expect(await predicted(false)).toBeGreaterThan(0.95);
});
