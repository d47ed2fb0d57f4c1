import { expect, it } from "vitest";
import { unlearnt } from "../../../worker/domain/decision/unlearnt-model.ts";
import { configureModel } from "../../../worker/domain/model/model.ts";

it("falls back to the best sellers of the prior, and then to the order of the catalogue", async () => {
  const prior = { sales: [{ action: "lamp", sales: 61 }, { action: "mug", sales: 30 }] }; // biome-ignore format: one line
  const config = await configureModel({ policy: "bestsellers", window: { ms: 1000 }, prior });
  const [{ policy }] = (await unlearnt(config)).policies;
  const candidates = ["tent", "mug", "hat", "lamp"].map((id) => ({ id }));
  const ranked = policy.choose({ candidates, round: 1, now: 1, limit: 4, uniforms: new Float64Array(4) });
  expect(ranked.map(({ id }) => id)).toEqual(["lamp", "mug", "tent", "hat"]);
});
