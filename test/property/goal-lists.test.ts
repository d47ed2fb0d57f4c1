import { type ChooseRequest, delayLinTs, type Goals, Recommender } from "afterclick";
import fc from "fast-check";
import { expect, it } from "vitest";
import { stream } from "../support/scenario.ts";

// A short list is ranked while candidates are scored, a long one by the scores of all: to the bit the same.

const DIMENSION = 5;
const COUNT = 120;

const goals: Readonly<Record<string, Goals>> = {
  "one goal": { purchase: { weight: 0.25 } },
  "a click of weight 0, then a purchase": { click: { weight: 0 }, purchase: { weight: 1, after: "click" } },
  "a click, and two goals after it": {
    click: { weight: 0.1 },
    cart: { weight: 0.3, after: "click" },
    review: { weight: 0.2, after: "click" },
  },
  "goals beside each other, one of them a cost": { click: { weight: -0.1 }, purchase: { weight: 0.7 }, visit: { weight: 0 } },
  "a click, then an order with an amount": { click: { weight: 0 }, order: { weight: 0.01, value: { currency: "EUR" }, after: "click" } },
};

async function learnt(declared: Goals, rewards: "linear" | "bernoulli"): Promise<Recommender> {
  const recommender = await Recommender.create({
    policy: delayLinTs({ dimension: DIMENSION, rewards }),
    window: { ms: 86_400_000 },
    goals: declared,
  });
  const draw = stream(11);
  for (let n = 0; n < 120; n++) {
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

it.each(Object.keys(goals))("%s: a short list is the beginning of a long one", async (name) => {
  for (const rewards of ["linear", "bernoulli"] as const) {
    const { policy } = await learnt(goals[name], rewards);
    fc.assert(
      fc.property(
        fc.nat(),
        fc.integer({ min: 1, max: 100 }),
        fc.integer({ min: 1, max: 40 }),
        fc.boolean(),
        (seed, limit, draws, shares) => {
          const draw = stream(seed);
          const points = Float64Array.from({ length: COUNT * DIMENSION }, () => Math.round(8 * draw()) / 16);
          const request: ChooseRequest = { points, round: 121, now: 7_200_000, draws: 40, decision: `${seed}` };
          const asked = { ...request, draws, minimumShare: shares ? 0.5 / COUNT : 0 };
          const all = policy.choose({ ...asked, limit: COUNT });
          expect(policy.choose({ ...asked, limit })).toEqual(all.slice(0, limit));
          const indices = all.slice(0, 3).map(({ index }) => index);
          const [short, long] = [limit, COUNT].map((places) => policy.placeChances({ ...asked, limit: places }, indices));
          indices.forEach((_, i) => {
            expect(short.subarray(i * limit, (i + 1) * limit)).toEqual(long.subarray(i * COUNT, i * COUNT + limit));
          });
        },
      ),
      { numRuns: 25 },
    );
  }
});
