import { shuffled, stream } from "../../src/simulation/stream.ts";
import { DAY_MS, HOUR_MS, type Product, type Shop, type Timing, type Visit } from "./shop.ts";
import { delayMs, delaysOf, geometricMs } from "./timing.ts";

const PRODUCTS = 10;
const PRICES = { min: 20, max: 200 };
/** Mean revenue of a visit, without its spread by product. */
const REVENUE = 1.5;
/** Standard deviation of the logarithm of a product's revenue per visit. */
const SPREAD = 0.5;
/** Returned shares: of most products, and of three. Together a quarter. */
const RETURNED = { most: 0.15, some: 0.5 };
const REFUND_DAYS = { least: 8, most: 12 };

/**
 * What money does to delays.
 *
 * - `dear products`: their buyers take three days. The others' take six hours.
 * - `dear orders`: the mean delay of an order is proportional to its amount, whatever the product.
 * - `returns`: some orders are refunded after 8 to 12 days, and of some products half.
 */
type Money = "dear products" | "dear orders" | "returns";

const timings: Readonly<Record<Money, Timing>> = {
  "dear products": { laws: [geometricMs(6 * HOUR_MS), geometricMs(3 * DAY_MS)], windowMs: 9 * DAY_MS },
  // These visits have delays of their own.
  "dear orders": { laws: [geometricMs(2 * DAY_MS)], windowMs: 9 * DAY_MS },
  // Refunds have to come inside the window.
  returns: { laws: [geometricMs(2 * DAY_MS)], windowMs: 21 * DAY_MS },
};

/** Standard deviation of the logarithm of an order, about its product's price. */
const orderSpread = (money: Money): number => (money === "dear orders" ? 0.8 : 0.4);

interface MoneySpec {
  readonly horizon: number;
  readonly money: Money;
  /** Whether the products' category tells dear ones. */
  readonly isTold?: boolean;
}

/** Ten products at 20 to 200 EUR. Dear ones sell less often, so that any of them may bring most. 60 days. */
export function moneyShop({ horizon, money, isTold }: MoneySpec, names: readonly (string | number)[]): Shop {
  const draws = {
    world: stream(...names, "world"),
    luck: stream(...names, "luck"),
    delay: stream(...names, "delay"),
    order: stream(...names, "order"),
    refund: stream(...names, "refund"),
  };
  const ladder = Array.from({ length: PRODUCTS }, (_, i) => PRICES.min * (PRICES.max / PRICES.min) ** (i / (PRODUCTS - 1)));
  const prices = shuffled(ladder, draws.world);
  const rates = prices.map((price) => Math.min((REVENUE * Math.exp(SPREAD * draws.world.normal())) / price, 0.5));
  const shares = shuffled(
    prices.map((_, i) => (i % 4 === 0 ? RETURNED.some : RETURNED.most)),
    draws.world,
  );
  const timing = timings[money];
  const isDear = prices.map((price) => Number(price > Math.sqrt(PRICES.min * PRICES.max)));
  const spread = orderSpread(money);
  return {
    horizon,
    stepMs: (60 * DAY_MS) / 20_000,
    ...timing,
    meanOrder: prices.reduce((sum, each) => sum + each, 0) / PRODUCTS,
    products: prices.map(
      (_, i): Product => ({ id: `sku-${i}`, features: isTold ? { category: isDear[i] ? "dear" : "cheap" } : undefined }),
    ),
    groups: money === "dear products" ? isDear : undefined,
    oneBest: true,
    visit(): Visit {
      // Of mean 1 over visits.
      const size = Math.exp(spread * draws.order.normal() - (spread * spread) / 2);
      const days = REFUND_DAYS.least + (REFUND_DAYS.most - REFUND_DAYS.least) * draws.refund();
      return {
        rates,
        luck: draws.luck(),
        amounts: prices.map((price) => price * size),
        delaysMs: money === "dear orders" ? [size * delayMs(timing.laws[0], draws.delay)] : delaysOf(timing, draws.delay),
        refund: money === "returns" ? { shares, luck: draws.refund(), afterMs: days * DAY_MS } : undefined,
      };
    },
  };
}
