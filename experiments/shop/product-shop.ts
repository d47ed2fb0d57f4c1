import { type Stream, shuffled, stream } from "../../src/simulation/stream.ts";
import type { Product, Shop, Timing, Visit } from "./shop.ts";
import { delaysOf } from "./timing.ts";

/** A few products without attributes that matter, and visitors without a context. */
export interface ProductSpec {
  readonly horizon: number;
  readonly stepMs: number;
  readonly rates: readonly number[];
  /** The group of delay of each rate. Products have it as their category. */
  readonly groups?: readonly number[];
  /** Whether products are known by a number each, not by their id. */
  readonly oneHot?: boolean;
  /** Whether rates change hands at half of the horizon. */
  readonly drift?: boolean;
}

/** Ten products at 1 to 10 %. */
export const tenRates = Array.from({ length: 10 }, (_, i) => (i + 1) / 100);

export function productShop(spec: ProductSpec, timing: Timing, names: readonly (string | number)[]): Shop {
  const { horizon, groups, oneHot, drift } = spec;
  const draws = { world: stream(...names, "world"), luck: stream(...names, "luck"), delay: stream(...names, "delay") };
  const order = shuffled(Array.from(spec.rates.keys()), draws.world);
  const before = order.map((place) => spec.rates[place]);
  const after = changed(before, draws.world);
  const points = oneHot ? identity(before.length) : undefined;
  const ownGroups = groups && order.map((place) => groups[place]);
  return {
    ...spec,
    ...timing,
    products: order.map(
      (_, i): Product => ({ id: `sku-${i}`, features: ownGroups && { category: ownGroups[i] ? "made to order" : "in stock" } }),
    ),
    dimension: oneHot ? before.length : undefined,
    groups: ownGroups,
    oneBest: true,
    visit: (round): Visit => ({
      points,
      rates: drift && round > horizon / 2 ? after : before,
      luck: draws.luck(),
      delaysMs: delaysOf(timing, draws.delay),
    }),
  };
}

/** The rates in another order, in which the best product is another one. */
function changed(rates: readonly number[], random: Stream): number[] {
  const best = rates.indexOf(Math.max(...rates));
  for (;;) {
    const others = shuffled(rates, random);
    if (others[best] !== rates[best] || rates.every((each) => each === rates[best])) return others;
  }
}

function identity(size: number): Float64Array {
  return Float64Array.from({ length: size * size }, (_, i) => Number(i % (size + 1) === 0));
}
