import { describe, expect, it } from "vitest";
import { contextOf, products, profiles, SHOP_MODEL, SHOP_WINDOW_MS, shopActions, shopModel } from "../../../demo/assortment.ts";
import { featurizer, vectorAt } from "../../../publication/featurizer.ts";
import { withVocabulary } from "../../../worker/domain/model/encoding.ts";
import { configureModel } from "../../../worker/domain/model/model.ts";
import type { ModelBody } from "../../../worker/protocol/schema.ts";

describe("the assortment of the shop", () => {
  it("has eight products, two of each kind, with a name and a price each", () => {
    expect(new Set(products.map(({ id }) => id)).size).toBe(8);
    expect(new Set(products.map(({ name }) => name)).size).toBe(8);
    const kinds = products.map(({ kind }) => kind);
    expect(kinds).toEqual(["outdoors", "outdoors", "home", "home", "sport", "sport", "music", "music"]);
    for (const { price } of products) expect(price).toBeGreaterThan(0);
  });

  it("is the catalogue of its model, which sees the kind of each product and not its price", () => {
    expect(shopActions).toEqual(products.map(({ id, kind }) => ({ id, features: { kind } })));
  });
});

describe("a visitor of the shop", () => {
  const tastes = profiles.map(({ tastes }) => tastes);

  it("buys every product with some probability", () => {
    for (const taste of tastes) {
      expect(Object.keys(taste).toSorted()).toEqual(products.map(({ id }) => id).toSorted());
      for (const chance of Object.values(taste)) expect(0 < chance && chance < 1).toBe(true);
    }
  });

  it("has a favourite, which nobody else prefers", () => {
    const favourites = tastes.map((taste) => Object.entries(taste).toSorted(([, a], [, b]) => b - a));
    expect(favourites.map(([[id]]) => id)).toEqual(["mug", "record", "kettlebell", "plant"]);
    for (const [[, first], [, second]] of favourites) expect(first).toBeGreaterThan(second);
  });

  it("is known to the model by an id alone", () => {
    expect(contextOf("mira")).toEqual({ profile: "mira" });
    expect(new Set(profiles.map(({ id }) => id)).size).toBe(profiles.length);
  });
});

describe("the model of the shop", () => {
  it("is one that the worker takes as it is written", async () => {
    const configured = await configureModel(shopModel as unknown as ModelBody);
    expect(configured).toMatchObject({ window: { ms: SHOP_WINDOW_MS }, policy: expect.anything() });
    expect([SHOP_MODEL, SHOP_WINDOW_MS]).toEqual(["demo", 120_000]);
  });

  it("chooses no ridge from the data, and keeps a tenth of visits for comparison", () => {
    expect(shopModel).toMatchObject({ options: { shrinkage: "fixed" }, holdout: 0.1, serving: "learner" });
  });

  it("tells every pair of a visitor and a product from every other", async () => {
    const { encoder } = withVocabulary(await configureModel(shopModel as unknown as ModelBody), shopActions);
    const featurize = featurizer(encoder);
    const rows = profiles.flatMap(({ id }) => {
      const points = featurize.points(contextOf(id), shopActions);
      return shopActions.map((_, i) => Array.from(vectorAt(points, i, shopActions.length)).join());
    });
    expect(new Set(rows).size).toBe(profiles.length * products.length);
  });

  it("learns what visitors of a kind think of products of a kind", async () => {
    const { encoder } = withVocabulary(await configureModel(shopModel as unknown as ModelBody), shopActions);
    const featurize = featurizer(encoder);
    const dot = (a: ArrayLike<number>, b: ArrayLike<number>) => Array.from(a).reduce((sum, each, i) => sum + each * b[i], 0);
    const of = (profile: string, product: string) => {
      const index = shopActions.findIndex(({ id }) => id === product);
      return vectorAt(featurize.points(contextOf(profile), shopActions), index, shopActions.length);
    };
    const alike = dot(of("mira", "tent"), of("mira", "mug"));
    expect(alike).toBeGreaterThan(dot(of("mira", "tent"), of("mira", "lamp")));
    expect(alike).toBeGreaterThan(dot(of("mira", "tent"), of("jonas", "mug")));
  });
});
