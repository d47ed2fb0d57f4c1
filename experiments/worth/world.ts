import { type Stream, stream } from "../../src/simulation/stream.ts";
import { catalogueShop } from "../shop/catalogue-shop.ts";
import { DAY_MS, MINUTE_MS, type Shop, type Timing } from "../shop/shop.ts";
import { geometricMs } from "../shop/timing.ts";

const timings = {
  "ten minutes": { laws: [geometricMs(10 * MINUTE_MS)], windowMs: DAY_MS },
  "two days": { laws: [geometricMs(2 * DAY_MS)], windowMs: 7 * DAY_MS },
  "a week": { laws: [geometricMs(7 * DAY_MS)], windowMs: 21 * DAY_MS },
} as const satisfies Readonly<Record<string, Timing>>;

/** A kind of shop. */
export interface Cell {
  /** Visits of the recommended slot a day. */
  readonly visits: number;
  readonly products: number;
  /** Percent of visits that convert, of a product without effects. */
  readonly percent: number;
  readonly delay: keyof typeof timings;
  /** Whether visitors differ in what they like. */
  readonly taste: boolean;
}

/** An order of another page of the shop. */
interface Order {
  readonly index: number;
  readonly at: number;
}

/** A shop whose other pages have visitors of their own, who see its products evenly. */
export interface World {
  readonly shop: Shop;
  /** The orders of so many visitors of other pages who come at a time. */
  ordersOf(visitors: number, at: number): Order[];
}

/** Attributes of visitors: device, source, and two others. */
const ATTRIBUTES = [2, 3, 4, 5];

export function worldOf({ visits, products, percent, delay, taste }: Cell, days: number, names: readonly (string | number)[]): World {
  const timing = timings[delay];
  const parts = taste ? { own: 0.3, attributed: 0.3, interacting: 0.4 } : { own: 0.5, attributed: 0.5, interacting: 0 };
  const groups = { categories: Math.max(2, Math.round(Math.sqrt(products) / 1.5)), brands: Math.max(2, Math.round(Math.sqrt(products))) };
  const size = { horizon: visits * days, stepMs: DAY_MS / visits, products, ...groups };
  const spec = { ...size, attributes: ATTRIBUTES, rate: percent / 100, spread: 0.8, ...parts };
  const elsewhere = catalogueShop(spec, timing, names, [...names, "elsewhere"]);
  const random: Stream = stream(...names, "shown elsewhere");
  let visit = 0;
  return {
    shop: catalogueShop(spec, timing, names),
    ordersOf(visitors, at) {
      return Array.from({ length: visitors }).flatMap(() => {
        const { rates, luck, delaysMs } = elsewhere.visit(++visit);
        const index = random.below(products);
        return luck < rates[index] ? [{ index, at: at + delaysMs[0] }] : [];
      });
    },
  };
}
