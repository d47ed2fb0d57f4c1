import { type Stream, shuffled, stream } from "../../src/simulation/stream.ts";
import type { Product, Shop, Timing, Visit } from "./shop.ts";
import { delaysOf } from "./timing.ts";

/** A shop whose products have attributes, and whose visitors have a context. Log-odds of a conversion add up over effects. */
export interface CatalogueSpec {
  readonly horizon: number;
  readonly stepMs: number;
  readonly products: number;
  readonly categories: number;
  readonly brands: number;
  /** The number of values of each attribute of a visitor. 0: a number from 0 to 1. */
  readonly attributes: readonly number[];
  /** The rate of a product without any effects. The mean is higher. */
  readonly rate: number;
  /** Standard deviation of log-odds, and its parts by variance: of the product itself, of its attributes, and of interactions. */
  readonly spread: number;
  readonly own: number;
  readonly attributed: number;
  readonly interacting: number;
  /** Whether rates change hands between products at half of the horizon. */
  readonly drift?: boolean;
  /** Whether half of the categories have slow buyers. */
  readonly slowCategories?: boolean;
}

/** Effects on the log-odds of each product: of itself, and of each value of each attribute of a visitor. */
interface Effects {
  readonly own: Float64Array;
  readonly byAttribute: readonly (readonly Float64Array[])[];
}

const PRICES = { min: 5, max: 500 };

/** `names` seed the shop. Another shop with the same products has the same `names`, and visitors with `visitors`. */
export function catalogueShop(
  spec: CatalogueSpec,
  timing: Timing,
  names: readonly (string | number)[],
  visitors: readonly (string | number)[] = names,
): Shop {
  const { horizon, attributes, rate, drift, slowCategories } = spec;
  const draws = {
    world: stream(...names, "world"),
    visitor: stream(...visitors, "visitor"),
    luck: stream(...visitors, "luck"),
    delay: stream(...visitors, "delay"),
  };
  const catalogue = drawCatalogue(spec, draws.world);
  const effects = drawEffects(spec, catalogue, draws.world);
  const values = (random: Stream): number[] => attributes.map((levels) => (levels === 0 ? random() : random.below(levels)));
  const base = Math.log(rate / (1 - rate));
  const places = Array.from(catalogue.keys());
  const moved = shuffled(places, draws.world);
  return {
    ...spec,
    ...timing,
    products: catalogue.map(
      ({ id, category, brand, price }): Product => ({
        id,
        features: { category: `category-${category}`, brand: `brand-${brand}`, price },
      }),
    ),
    numeric: {
      price: PRICES,
      ...Object.fromEntries(attributes.flatMap((levels, i) => (levels === 0 ? [[`x${i}`, { min: 0, max: 1 }]] : []))),
    },
    groups: slowCategories ? catalogue.map(({ category }) => category % 2) : undefined,
    visit(round): Visit {
      const visitor = values(draws.visitor);
      const rates = ratesOf(effects, visitor, base);
      return {
        context: Object.fromEntries(visitor.map((value, i) => [`x${i}`, attributes[i] === 0 ? value : `value-${value}`])),
        rates: drift && round > horizon / 2 ? moved.map((place) => rates[place]) : rates,
        luck: draws.luck(),
        delaysMs: delaysOf(timing, draws.delay),
      };
    },
  };
}

interface Drawn {
  readonly id: string;
  readonly category: number;
  readonly brand: number;
  readonly price: number;
}

function drawCatalogue({ products, categories, brands }: CatalogueSpec, random: Stream): Drawn[] {
  return Array.from({ length: products }, (_, i) => ({
    id: `sku-${i}`,
    category: random.below(categories),
    brand: random.below(brands),
    price: Math.round(PRICES.min * (PRICES.max / PRICES.min) ** random()),
  }));
}

/** A sum of random effects of category, brand and price, of variance 1. */
function attributeEffects({ categories, brands }: CatalogueSpec, catalogue: readonly Drawn[], random: Stream): Float64Array {
  const [byCategory, byBrand] = [categories, brands].map((count) => Array.from({ length: count }, () => random.normal()));
  const slope = random.normal();
  return Float64Array.from(catalogue, ({ category, brand, price }) => {
    const scaled = (2 * (price - PRICES.min)) / (PRICES.max - PRICES.min) - 1;
    return (byCategory[category] + byBrand[brand] + slope * scaled) / Math.sqrt(3);
  });
}

function drawEffects(spec: CatalogueSpec, catalogue: readonly Drawn[], random: Stream): Effects {
  const { attributes, spread, own, attributed, interacting } = spec;
  const general = attributeEffects(spec, catalogue, random);
  // Half of an interaction is with the product's attributes, a quarter with the product itself, and a quarter is of the visitor alone.
  const scale = spread * Math.sqrt(interacting / attributes.length);
  return {
    own: general.map((each) => spread * (Math.sqrt(attributed) * each + Math.sqrt(own) * random.normal())),
    byAttribute: attributes.map((levels) =>
      Array.from({ length: Math.max(levels, 1) }, () => {
        const visitor = random.normal();
        return attributeEffects(spec, catalogue, random).map(
          (each) => scale * (Math.SQRT1_2 * each + 0.5 * random.normal() + 0.5 * visitor),
        );
      }),
    ),
  };
}

function ratesOf({ own, byAttribute }: Effects, visitor: readonly number[], base: number): Float64Array {
  const odds = own.map((each) => base + each);
  visitor.forEach((value, i) => {
    // A number from 0 to 1 moves one effect from -1 to 1 times its size.
    const [effects, factor] = byAttribute[i].length > 1 ? [byAttribute[i][value], 1] : [byAttribute[i][0], 2 * value - 1];
    for (let product = 0; product < odds.length; product++) odds[product] += factor * effects[product];
  });
  return odds.map((each) => 1 / (1 + Math.exp(-each)));
}
