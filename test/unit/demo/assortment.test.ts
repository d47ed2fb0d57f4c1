import { featurizer, vectorAt } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { contextOf, products, profiles, SHOP_MODEL, SHOP_WINDOW_MS, shopActions, shopModel } from "../../../src/simulation/assortment.ts";
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

  describe("describes a pair of a visitor and a product", async () => {
    const { encoder } = withVocabulary(await configureModel(shopModel as unknown as ModelBody), shopActions);
    const featurize = featurizer(encoder);
    const pair = (profile: string, product: string): number[] => {
      const index = shopActions.findIndex(({ id }) => id === product);
      return Array.from(vectorAt(featurize.points(contextOf(profile), shopActions), index, shopActions.length));
    };
    const dot = (a: readonly number[], b: readonly number[]) => a.reduce((sum, each, i) => sum + each * b[i], 0);
    const minus = (a: readonly number[], b: readonly number[]) => a.map((each, i) => each - b[i]);

    it("by 128 numbers, unlike every other pair", () => {
      const rows = profiles.flatMap(({ id }) => shopActions.map((action) => pair(id, action.id)));
      expect(new Set(rows.map(String)).size).toBe(profiles.length * products.length);
      for (const row of rows) expect(row).toHaveLength(128);
    });

    it("so that two visitors may disagree about two products", () => {
      const difference = (profile: string) => minus(pair(profile, "tent"), pair(profile, "lamp"));
      expect(difference("mira")).not.toEqual(difference("sam"));
      // Also within a kind.
      const within = (profile: string) => minus(pair(profile, "tent"), pair(profile, "mug"));
      expect(within("mira")).not.toEqual(within("sam"));
    });

    it("so that a purchase says most about the same visitor and the same kind of product", () => {
      const bought = pair("mira", "tent");
      const gain = (profile: string) => dot(bought, pair(profile, "mug")) - dot(bought, pair(profile, "lamp"));
      expect(gain("mira")).toBeGreaterThan(gain("jonas") + 0.03);
    });
  });
});
