import { delayedZooming, dlpp, Recommender } from "afterclick";
import { describe, expect, it } from "vitest";
import { stream } from "../../../support/scenario.ts";

// Boxes whose ends are no sums of powers of two. Rounding must not move a point out of the box or out of a ball.

const random = stream(61);
const boxes = Array.from({ length: 200 }, (): [number, number] => {
  const min = (20 * random() - 10) / 3;
  return [min, min + random() / 7 + 0.01];
});
// -0.1 + (0.2 + 0.1) is more than 0.2.
boxes[0] = [-0.1, 0.2];

describe("a point of a box", () => {
  it("is in the box at its ends, which are the first and the last of the grid", async () => {
    for (const box of boxes) {
      const descriptor = delayedZooming({ domain: { box: [box] }, horizon: 9, resolution: 3, activation: "random" });
      const { policy } = await Recommender.create({ policy: descriptor, window: "none" });
      const ends = [0, 1].map((uniform) => (policy.choose({ round: 1, uniforms: [uniform] })[0].features as Float64Array)[0]);
      expect(ends[0]).toBe(box[0]);
      expect(ends[1]).toBeLessThanOrEqual(box[1]);
      expect(ends[1]).toBeCloseTo(box[1], 12);
      expect(() => policy.append({ round: 1, features: [box[1]] })).not.toThrow();
      expect(() => policy.append({ round: 1, features: [box[0] - 1e-9] })).toThrow(/^features\[0\]: /);
      expect(() => policy.append({ round: 1, features: [box[1] + 1e-9] })).toThrow(/^features\[0\]: /);
    }
  });

  it("counts for the ball that it was drawn from, also at the ball's ends", async () => {
    for (const [i, box] of boxes.slice(0, 60).entries()) {
      const descriptor = dlpp({ domain: { box: [box, boxes[i + 1]] }, horizon: 99, sigma: 1e-3 });
      const { policy } = await Recommender.create({ policy: descriptor, window: "none" });
      for (let round = 1; round <= 90; round++) {
        const [{ index, features }] = policy.choose({ round, uniforms: [round % 2, Number(round % 3 === 0)] });
        const impression = policy.append({ round, features });
        expect(impression.slot % 2 ** 32).toBe(index);
        policy.observe({ impression, reward: 0.5 });
      }
    }
  });
});

describe("zooming", () => {
  const points = [[0], [10], [20]];
  const running = async (options: object = {}) =>
    (await Recommender.create({ policy: delayedZooming({ domain: { points }, horizon: 50, sigma: 0.1, ...options }), window: "none" }))
      .policy;

  it("takes of equal indices that of the arm which was activated first, with a width of two radii", async () => {
    const policy = await running();
    const impressions = [1, 2, 0].map((place, i) => policy.append({ round: i + 1, features: points[place] }));
    // Without rewards all points are equal, and with the same reward too.
    expect(policy.choose({ round: 4 })[0].index).toBe(1);
    for (const impression of impressions) policy.observe({ impression, reward: 0.5 });
    const [choice] = policy.choose({ round: 4 });
    const radius = 0.1 * Math.sqrt((4 * Math.log(50) + 2 * Math.log(2 / 0.01)) / 2);
    expect(choice).toMatchObject({ index: 1, mean: 0.5 });
    expect(choice.width).toBeCloseTo(2 * radius, 12);
    expect(choice.score).toBeCloseTo(0.5 + 2 * radius, 12);
    policy.observe({ impression: impressions[2], reward: 0.75, previous: 0.5 });
    expect(policy.choose({ round: 5 })[0].index).toBe(0);
  });

  it("takes an arm without a reward first, or as one of mean 0", async () => {
    for (const [unobserved, expected] of [
      ["first", 2],
      ["zero", 0],
    ] as const) {
      // biome-ignore format: one line
      const policy = await running({ unobserved });
      const impressions = [0, 1, 2].map((place) => policy.append({ round: place + 1, features: points[place] }));
      for (const place of [0, 1]) policy.observe({ impression: impressions[place], reward: 1 - place / 10 });
      // Two of the widest radius are less than a mean of 1 with two narrower ones.
      expect(policy.choose({ round: 4 })[0].index).toBe(expected);
    }
  });
});

describe("dlpp", () => {
  it("scores a ball by its mean and its radius", async () => {
    const { policy } = await Recommender.create({ policy: dlpp({ domain: { box: [[0, 1]] }, horizon: 99, sigma: 1e-3 }), window: "none" });
    expect(policy.choose({ round: 1 })[0]).toMatchObject({ mean: 0, width: 0.5, score: 0.5 });
    policy.observe({ impression: policy.append({ round: 1, features: [0.5] }), reward: 0.75 });
    expect(policy.choose({ round: 2 })[0]).toMatchObject({ mean: 0, width: 0.25, score: 0.25 });
    // Feedback of an earlier phase counts for no ball, except in the round of that phase's last reward.
    policy.append({ round: 2, features: [0.25] });
    expect([...policy.statistics()]).toEqual([2, 0.25, 0, 0, 0.75, 0, 0]);
  });

  it("keeps a ball that is not as many radii below the best as it is pruned by", async () => {
    for (const [gap, kept] of [
      [0.4375, 4],
      [0.5, 2],
      [0.5625, 2],
    ]) {
      // biome-ignore format: one line
      const descriptor = dlpp({ domain: { box: [[0, 1]] }, horizon: 99, sigma: 1e-3, pruneMultiplier: 2 });
      const { policy } = await Recommender.create({ policy: descriptor, window: "none" });
      for (const [round, reward] of [1, 1, 1 - gap].entries()) {
        const [{ features }] = policy.choose({ round: round + 1 });
        policy.observe({ impression: policy.append({ round: round + 1, features }), reward });
      }
      policy.append({ round: 4, features: [0.1] });
      expect((policy.statistics().length - 1) / 3).toBe(kept);
    }
  });
});
