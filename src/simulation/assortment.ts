// Products, visitors and model of the demonstration shop. Plain data for the page, its backend and `npm start`.

/** Name of the shop's model. */
export const SHOP_MODEL = "demo";

/** Attribution window. It is short, so that a reader can watch impressions expire. */
export const SHOP_WINDOW_MS = 120_000;

export interface Product {
  readonly id: string;
  readonly name: string;
  readonly kind: "outdoors" | "home" | "sport" | "music";
  readonly price: number;
}

export const products: readonly Product[] = [
  { id: "tent", name: "Trail tent", kind: "outdoors", price: 189 },
  { id: "mug", name: "Enamel mug", kind: "outdoors", price: 14 },
  { id: "lamp", name: "Desk lamp", kind: "home", price: 59 },
  { id: "plant", name: "Rubber plant", kind: "home", price: 32 },
  { id: "kettlebell", name: "Kettlebell", kind: "sport", price: 45 },
  { id: "skateboard", name: "Skateboard", kind: "sport", price: 95 },
  { id: "headphones", name: "Headphones", kind: "music", price: 149 },
  { id: "record", name: "Vinyl record", kind: "music", price: 24 },
];

/** A kind of visitor. The model sees the id and has to learn the tastes. */
export interface Profile {
  readonly id: string;
  readonly name: string;
  /** Probability that a simulated visitor buys a shown product, by product id. */
  readonly tastes: Readonly<Record<string, number>>;
}

const indifferent = { tent: 0.1, mug: 0.14, lamp: 0.11, plant: 0.12, kettlebell: 0.1, skateboard: 0.09, headphones: 0.12, record: 0.11 };

export const profiles: readonly Profile[] = [
  { id: "mira", name: "Mira", tastes: { ...indifferent, tent: 0.55, mug: 0.7, plant: 0.2 } },
  { id: "jonas", name: "Jonas", tastes: { ...indifferent, headphones: 0.6, record: 0.75, lamp: 0.25 } },
  { id: "aiko", name: "Aiko", tastes: { ...indifferent, kettlebell: 0.65, skateboard: 0.5, headphones: 0.25 } },
  { id: "sam", name: "Sam", tastes: { ...indifferent, lamp: 0.6, plant: 0.7, mug: 0.3 } },
];

/** Body of `PUT /v1/models/demo`. */
export const shopModel = {
  window: { ms: SHOP_WINDOW_MS },
  serving: "learner",
  policy: "delay-lin-ts",
  // The data of a few visitors choose a strong ridge. Bands are then too narrow for what was seldom shown.
  options: { shrinkage: "fixed" },
  // In a tenth of visits the products are drawn at random. The dashboard compares the policy with these.
  holdout: 0.1,
  encoder: {
    // Up to 128, the estimates follow every impression.
    dimension: 128,
    interactions: [
      ["profile", "id"],
      ["profile", "kind"],
    ],
  },
};

/** The catalogue of that model. */
export const shopActions = products.map(({ id, kind }) => ({ id, features: { kind } }));

/** The context features of a visitor. */
export function contextOf(profile: string): { readonly profile: string } {
  return { profile };
}
