import { otfLinUcb, Recommender } from "afterclick";

test("makes a recommender", async () => {
  const { policy } = await Recommender.create({ policy: otfLinUcb({ dimension: 2 }), window: "none" });
  expect(policy.dimension).toBe(2);
});
