import { miniGpUcb, Recommender, squaredExponential } from "afterclick";
import type { AppendedImpression } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { stream } from "../../../../src/simulation/stream.ts";

// A search over all points must find the same leader as the policy's shorter search, after every kind of change.

const axis = Array.from({ length: 18 }, (_, i) => i / 17);
const points = axis.flatMap((x) => axis.map((y) => [x, y]));
const value = ([x, y]: number[]): number => Math.sin(7 * x) * Math.cos(4 * y);

interface Shown {
  readonly impression: AppendedImpression;
  readonly place: number;
  reward?: number;
}

/** `late`: share of impressions with a late or missing reward. `elsewhere`: share of impressions decided elsewhere. */
async function play({ late, elsewhere, threshold }: { late: number; elsewhere: number; threshold: number }): Promise<void> {
  const options = { domain: { points }, kernel: squaredExponential({ lengthscale: 0.3 }), noiseVariance: 0.01, threshold };
  const { policy } = await Recommender.create({ policy: miniGpUcb(options), window: "none" });
  const random = stream("leader", late, elsewhere, threshold);
  const shown: Shown[] = [];
  const observe = (each: Shown, reward: number): void => {
    policy.observe({ impression: each.impression, reward, previous: each.reward });
    each.reward = reward;
  };
  let begun = "";
  for (let round = 1; round <= 150; round++) {
    const [choice] = policy.choose({ round });
    const batch = `${choice.index} ${choice.width}`;
    if (threshold === 1 || batch !== begun) {
      const { mean, variance } = policy.predict(points);
      const multiplier = choice.width / Math.sqrt(variance[choice.index]);
      const scores = points.map((_, i) => mean[i] + multiplier * Math.sqrt(variance[i]));
      expect(scores[choice.index]).toBeCloseTo(Math.max(...scores), 10);
      expect(choice.score).toBeCloseTo(Math.max(...scores), 10);
    }
    begun = batch;
    const place = random() < elsewhere ? random.below(points.length) : choice.index;
    const impression = policy.append({ round, features: points[place] });
    shown.push({ impression, place });
    const reward = (i: number): number => value(points[i]) + 0.1 * random.normal();
    if (random() >= late) observe(shown[shown.length - 1], reward(place));
    else {
      const other = shown[random.below(shown.length)];
      observe(other, reward(other.place));
    }
    if (round % 50 === 0) policy.refactor();
  }
}

describe("MINI-GP-UCB's leader has the greatest score of all", () => {
  it("one evaluation after the other", () => play({ late: 0, elsewhere: 0, threshold: 1 }));
  it("in batches", () => play({ late: 0, elsewhere: 0, threshold: 1.1 }));
  it("when rewards come late, never or again", () => play({ late: 0.6, elsewhere: 0, threshold: 1 }));
  it("when others decide as well", () => play({ late: 0, elsewhere: 0.5, threshold: 1 }));
  it("in batches of which all of this is true", () => play({ late: 0.4, elsewhere: 0.3, threshold: 1.1 }));
});
