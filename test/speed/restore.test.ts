import { policies, Recommender } from "afterclick";
import { expect, it } from "vitest";
import { publicationParts } from "../../worker/domain/model/policies.ts";
import { learntDefaultModel } from "../support/learnt-default-model.ts";

it("the default model is restored from a publication in 20 ms, in the quickest of ten attempts", async () => {
  const { config, learner } = await learntDefaultModel();
  const [part] = await publicationParts([learner.snapshot()], [config.policy]);
  const times: number[] = [];
  for (let i = 0; i < 10; i++) {
    const start = performance.now();
    await Recommender.restore(part, { policies });
    times.push(performance.now() - start);
  }
  expect(Math.min(...times)).toBeLessThan(20);
});
