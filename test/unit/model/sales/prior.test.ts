import { bestsellers, policies, Recommender, uniform } from "afterclick";
import { expect, it } from "vitest";
import type { BestsellersOptions } from "../../../../src/policy/recommended/bestsellers.ts";

// What a policy is told of sales before it learnt anything.

const HOUR_MS = 3_600_000;
const candidates = ["mug", "hat", "pen"].map((id) => ({ id }));
const PRIOR = [
  { id: "mug", sales: 6 },
  { id: "hat", sales: 4 },
];

const started = (options?: BestsellersOptions) =>
  Recommender.create({ policy: bestsellers({ random: 0, ...options }), window: { ms: 24 * HOUR_MS } });

const scoresOf = ({ policy }: Recommender): Record<string, number> =>
  Object.fromEntries(policy.choose({ candidates, round: 99, now: 9 * HOUR_MS, limit: 3 }).map(({ id, score }) => [id, score]));

function sell(recommender: Recommender, action: string, sales: number, reward = 1): void {
  for (let i = 0; i < sales; i++) {
    const impressionId = `${action} ${recommender.policy.impressions}`;
    recommender.register({ impressionId, action, now: HOUR_MS });
    recommender.convert({ impressionId, reward, at: HOUR_MS });
  }
}

it("ranks by the prior before anything is known, and lets each conversion take one sale of it away", async () => {
  const recommender = await started();
  recommender.prior(PRIOR);
  expect(scoresOf(recommender)).toEqual({ mug: 6, hat: 4, pen: 0 });
  sell(recommender, "pen", 5);
  expect(scoresOf(recommender)).toEqual({ mug: 3, hat: 2, pen: 5 });
  sell(recommender, "pen", 5);
  expect(scoresOf(recommender)).toEqual({ mug: 0, hat: 0, pen: 10 });
  sell(recommender, "hat", 1);
  expect(scoresOf(recommender)).toEqual({ mug: 0, hat: 1, pen: 10 });
});

it("values a sale of the prior as an own one", async () => {
  const recommender = await Recommender.create({
    policy: bestsellers({ random: 0 }),
    window: { ms: 24 * HOUR_MS },
    reward: { min: 0, max: 100 },
  });
  recommender.prior(PRIOR);
  sell(recommender, "pen", 5, 40);
  expect(scoresOf(recommender)).toEqual({ mug: 120, hat: 80, pen: 200 });
});

it("ranks by sales per view, whether the views are counts or shares", async () => {
  const views = [100, 20];
  const all = await Promise.all(
    [1, 1 / 120].map(async (scale) => {
      const recommender = await started({ by: "rate" });
      recommender.prior(PRIOR.map((each, i) => ({ ...each, views: views[i] * scale })));
      const before = scoresOf(recommender);
      expect(Object.keys(before)).toEqual(["hat", "mug", "pen"]);
      expect(before.hat / before.mug).toBeCloseTo(4 / 20 / (6 / 100), 12);
      sell(recommender, "pen", 2);
      return scoresOf(recommender);
    }),
  );
  for (const [id, score] of Object.entries(all[0])) expect(all[1][id]).toBeCloseTo(score, 12);
});

it("replaces an earlier prior, and an empty one removes it", async () => {
  const recommender = await started();
  const without = recommender.snapshot();
  recommender.prior([{ id: "pen", sales: 3 }]);
  recommender.prior(PRIOR);
  expect(scoresOf(recommender)).toEqual({ mug: 6, hat: 4, pen: 0 });
  recommender.prior([]);
  expect(recommender.snapshot()).toEqual(without);
});

it("is in snapshots and publications", async () => {
  const recommender = await started();
  recommender.prior(PRIOR);
  sell(recommender, "pen", 1);
  for (const bytes of [recommender.snapshot(), recommender.publication()])
    expect(scoresOf(await Recommender.restore(bytes, { policies }))).toEqual(scoresOf(recommender));
});

it.each([
  [[{ id: "mug", sales: -1 }], /^products\[0\]\.sales: /],
  [[{ id: "mug", sales: 1 }, { id: "hat" }], /^products\[1\]\.sales: /],
  [[{ id: "mug", sales: Number.NaN }], /^products\[0\]\.sales: /],
  [[{ id: "mug", sales: 1, views: -1 }], /^products\[0\]\.views: /],
  [[{ id: "mug", sales: 1, view: 1 }], /^products\[0\]\.view: /],
  [[{ id: "", sales: 1 }], /^products\[0\]\.id: /],
  [[null], /^products\[0\]: /],
  [{}, /^products: /],
])("refuses %j, and changes nothing", async (products, message) => {
  const recommender = await started();
  recommender.prior(PRIOR);
  const before = recommender.snapshot();
  expect(() => recommender.prior(products as never)).toThrow(message);
  expect(recommender.snapshot()).toEqual(before);
});

it("is refused by a policy that takes none", async () => {
  const { policy } = await Recommender.create({ policy: uniform(), window: "none" });
  expect(policy.takesPrior).toBe(false);
  expect(() => policy.prior(PRIOR)).toThrow(expect.objectContaining({ name: "UnsupportedError", code: "no-prior" }));
});
