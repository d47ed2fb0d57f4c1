import { delayLinTs, type Goals, Recommender } from "afterclick";
import type { Choice } from "afterclick/research";
import { expect, it } from "vitest";
import { freshCore } from "../support/core.ts";
import { stream } from "../support/scenario.ts";

// The core multiplies the draws of goals for all samples at once, in single precision. One sample alone is multiplied in JavaScript: both
// agree.

const DIMENSION = 5;
const COUNT = 30;
const IMPRESSIONS = 120;

/** Goals, and the number of their regressions. */
const goals: Readonly<Record<string, readonly [Goals, number]>> = {
  "one goal": [{ purchase: { weight: 0.25 } }, 1],
  "a click, then a purchase of weight 0": [{ click: { weight: 1 }, purchase: { weight: 0, after: "click" } }, 1],
  "a click of weight 0, then a purchase": [{ click: { weight: 0 }, purchase: { weight: 1, after: "click" } }, 2],
  "a click, and two goals after it": [
    { click: { weight: 0.1 }, cart: { weight: 0.3, after: "click" }, review: { weight: 0.2, after: "click" } },
    3,
  ],
  "goals beside each other, one of them a cost": [{ click: { weight: -0.1 }, purchase: { weight: 0.7 }, visit: { weight: 0 } }, 2],
  "a click, then an order with an amount": [
    { click: { weight: 0 }, order: { weight: 0.01, value: { currency: "EUR" }, after: "click" } },
    3,
  ],
};

async function learnt(declared: Goals): Promise<Recommender> {
  const recommender = await Recommender.create({
    policy: delayLinTs({ dimension: DIMENSION }),
    window: { ms: 86_400_000 },
    goals: declared,
  });
  const draw = stream(11);
  for (let n = 0; n < IMPRESSIONS; n++) {
    const features = Array.from({ length: DIMENSION }, () => Math.round(8 * draw()) / 16);
    recommender.register({ impressionId: `${n}`, features, now: 60_000 * n });
    for (const [goal, { value }] of Object.entries(declared)) {
      if (draw() > 0.5) continue;
      const reward = value ? Math.round(1000 * draw()) / 10 : 1;
      recommender.convert({ impressionId: `${n}`, goal, reward, at: 60_000 * n + 1000, ...(value && { currency: value.currency }) });
    }
  }
  return recommender;
}

it.each(Object.keys(goals))("%s: each sample is the product of its draws", async (name) => {
  const [declared, regressions] = goals[name];
  const { policy } = await learnt(declared);
  const { core } = freshCore();
  const draw = stream(3);
  const points = Float64Array.from({ length: COUNT * DIMENSION }, () => Math.round(8 * draw()) / 16);
  const request = { points, round: IMPRESSIONS + 1, now: 60_000 * IMPRESSIONS, limit: COUNT };
  const byIndex = (choices: readonly Choice[]): number[] => choices.toSorted((a, b) => a.index - b.index).map(({ score }) => score);
  for (const draws of [1, 7, 40]) {
    const size = DIMENSION * regressions;
    const normals = core.normals(0, `trial ${IMPRESSIONS + 1}`, size * Math.ceil(draws / 2));
    for (let sample = 0; sample < draws; sample++) {
      const row = normals.slice(size * (sample >> 1), size * ((sample >> 1) + 1));
      const alone = byIndex(policy.choose({ ...request, normals: row.map((each) => (sample % 2 === 0 ? each : -each)) }));
      const taken = byIndex(policy.choose({ ...request, draws, uniforms: [(sample + 0.5) / draws] }));
      taken.forEach((score, i) => void expect(Math.abs(score - alone[i])).toBeLessThan(1e-6 * Math.max(1, Math.abs(alone[i]))));
    }
  }
});
