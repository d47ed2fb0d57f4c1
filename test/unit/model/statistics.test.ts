import { gpUcbSdf, matern52, Recommender } from "afterclick";
import { expect, it } from "vitest";
import { stream } from "../../support/scenario.ts";

it("are sorted by every coordinate of their points, whatever order those came in", async () => {
  const grid = [0, 1, 2].flatMap((a) => [0, 1].flatMap((b) => [0, 1, 2].map((c) => [a / 2, b, c / 2])));
  const random = stream(17);
  const statisticsOf = async (points: readonly number[][]) => {
    const { policy } = await Recommender.create({ policy: gpUcbSdf({ dimension: 3, kernel: matern52() }), window: "none" });
    for (const features of points) policy.observe({ impression: policy.append({ round: policy.impressions + 1, features }), reward: 0.5 });
    return Array.from(policy.statistics());
  };
  const sorted = grid.flatMap((point) => [...point, 1, 0.5]);
  for (let time = 0; time < 3; time++) {
    const order = grid.map((point) => ({ point, place: random() })).toSorted((x, y) => x.place - y.place);
    expect(await statisticsOf(order.map(({ point }) => point))).toEqual(sorted);
  }
});
