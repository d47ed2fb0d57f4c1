import { delayGpUcb, Recommender } from "afterclick";
import { expect, it } from "vitest";
import { stream } from "../support/scenario.ts";

it("rounds of a Gaussian process at capacity take no more processor time as they go on", async () => {
  const policy = delayGpUcb({ dimension: 4, contextDimension: 2, capacity: 80 });
  const recommender = await Recommender.create({ policy, window: { rounds: 20 } });
  const random = stream(8);
  const point = (): { features: number[] } => ({ features: Array.from({ length: 4 }, random) });
  /** Least processor time of ten measurements, which other load hardly affects. */
  const play = (rounds: number): number => {
    let microseconds = Number.POSITIVE_INFINITY;
    for (let part = 0; part < 10; part++) {
      const start = process.cpuUsage();
      for (let round = 0; round < rounds / 10; round++) {
        const { action } = recommender.recommend({ candidates: [point(), point()] });
        if (random() < 0.8) recommender.convert({ impressionId: action.impressionId, reward: random() });
      }
      microseconds = Math.min(microseconds, process.cpuUsage(start).user);
    }
    return microseconds;
  };
  // The rows fill up first. Afterwards they are thinned out every 20 impressions.
  play(200);
  const settled = play(400);
  expect(play(400)).toBeLessThan(2 * settled);
});
