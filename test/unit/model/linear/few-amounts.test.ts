import { delayLinTs, type Goals, Recommender } from "afterclick";
import { expect, it } from "vitest";
import { beliefsOf } from "../../../../worker/domain/decision/belief.ts";

// Fewer than ten amounts do not bound a mean amount from above.

const order: Goals = { order: { weight: 1, value: { currency: "EUR" } } };

/** A model that has seen this many orders of 60 euros, each after two impressions. */
async function sold(orders: number, goals: Goals = order): Promise<Recommender> {
  const recommender = await Recommender.create({ policy: delayLinTs({ dimension: 1 }), window: { rounds: 5 }, goals });
  for (let round = 1; round <= 2 * orders + 1; round++) {
    recommender.register({ impressionId: `${round}`, features: [1] });
    if (round % 2 === 0) recommender.convert({ impressionId: `${round}`, goal: "order", reward: 60 });
  }
  return recommender;
}

const stated = ({ policy }: Recommender) => beliefsOf(policy, { actions: [{ id: "a" }], points: Float64Array.of(1) })[0];

it.each([0, 1, 9])("after %i orders the interval has no upper end, and the answer says how many more it needs", async (orders) => {
  const recommender = await sold(orders);
  const [{ mean, low, high }] = recommender.policy.interval([[1]]);
  expect([low, high]).toEqual([0, Number.POSITIVE_INFINITY]);
  expect(mean).toBeGreaterThanOrEqual(0);
  const belief = stated(recommender);
  expect(belief).toMatchObject({ mean, low: 0, high: null, tooFew: { more: 10 - orders, of: "amounts of order" } });
  expect(belief?.factors?.[1]).toMatchObject({ goal: "order", amount: true, low: 0, high: null });
  expect(JSON.parse(JSON.stringify(belief))).toEqual(belief);
});

it("after ten orders both ends are numbers", async () => {
  const belief = stated(await sold(10));
  expect(belief).not.toHaveProperty("tooFew");
  const { mean, low, high } = belief as { mean: number; low: number; high: number };
  expect([0 <= low, low < mean, mean < high, high < 60]).toEqual([true, true, true, true]);
});

it("the range of a goal with a greatest amount bounds it all the same", async () => {
  const recommender = await sold(1, { order: { weight: 2, value: { currency: "EUR", max: 100 } } });
  expect(recommender.policy.interval([[1]])[0]).toMatchObject({ low: 0, high: 200 });
  expect(stated(recommender)).toMatchObject({ high: 200, tooFew: { more: 9 } });
});

it("amounts that cost leave the lower end open", async () => {
  const recommender = await sold(1, { order: { weight: -1, value: { currency: "EUR" } }, click: { weight: 1 } });
  expect(recommender.policy.interval([[1]])[0]).toMatchObject({ low: Number.NEGATIVE_INFINITY, high: 1 });
  expect(stated(recommender)).toMatchObject({ low: null, high: 1, tooFew: { more: 9 } });
});
