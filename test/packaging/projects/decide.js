/** The work of every project: 20 decisions with late conversions, then a snapshot and further decisions. */
export async function decide({ encoder, Model, otfLinUcb, Recommender }, module) {
  const { encode } = encoder({ dimension: 16, numeric: { price: { min: 0, max: 200 }, day: { min: 0, max: 6 } }, interactions: "all" });
  const recommender = await Recommender.create({ policy: otfLinUcb({ dimension: 16 }), window: { rounds: 8 }, seed: 3, module });
  const actions = [30, 60, 90, 120].map((price) => ({
    id: `shoe-${price}`,
    features: encode({ context: { day: 6 }, action: { price, color: `c${price}` } }),
  }));
  const shown = [];
  for (let round = 1; round <= 20; round++) {
    shown.push(recommender.recommend({ candidates: actions, limit: 2 }).action);
    if (round > 3) recommender.convert({ impressionId: shown[round - 4].impressionId, reward: shown[round - 4].index === 2 ? 1 : 0 });
  }
  const same = await Recommender.restore(recommender.snapshot(), { policies: [otfLinUcb], module });
  const { id, score } = same.recommend({ candidates: actions }).action;
  const chosen = shown.map((action) => action.index).join("");
  return { digest: recommender.digest(), chosen, next: { id, score }, byName: await decideByName(Model, module) };
}

/** The same by the twenty lines of the README: named features, the default policy, and a conversion that comes two days late. */
async function decideByName(Model, module) {
  const products = [
    { id: "boots", features: { brand: "Acme" } },
    { id: "hat", features: { brand: "Umbra" } },
  ];
  const model = await Model.create({ window: { ms: 7 * 86_400_000 }, actions: products }, { module });
  const now = 1_700_000_000_000;
  const { actions } = model.recommend({ context: { country: "PT" }, limit: 2, now });
  const { status } = model.convert({ impressionId: actions[0].impressionId, at: now + 2 * 86_400_000 });
  const restored = await Model.restore(model.snapshot(), { module });
  return { status, next: restored.recommend({ context: { country: "PT" }, limit: 2, now: now + 2 * 86_400_000 }).actions };
}
