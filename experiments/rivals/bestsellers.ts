import type { Stream } from "../../src/simulation/stream.ts";
import type { Learner } from "../shop/learner.ts";
import { DAY_MS } from "../shop/shop.ts";

const WEEK_MS = 7 * DAY_MS;

/** A sale whose window has closed. */
interface Sale {
  readonly index: number;
  readonly at: number;
}

/**
 * Shows the product with the most sales of the last week: what a shop has without a recommender. It sees no features.
 *
 * `epsilon`: share of visitors who see a product at random. Among products with as many sales it takes one at random.
 */
export function bestsellers(products: number, epsilon: number, random: Stream): Learner {
  const sales = new Int32Array(products);
  const week: Sale[] = [];
  const shown = new Map<string, number>();
  let first = 0;
  return {
    choose(_points, now) {
      for (; first < week.length && week[first].at <= now - WEEK_MS; first++) sales[week[first].index]--;
      if (epsilon > 0 && random() < epsilon) return random.below(products);
      const most = sales.reduce((best, each) => Math.max(best, each), 0);
      const level = Array.from(sales.keys()).filter((index) => sales[index] === most);
      return level[random.below(level.length)];
    },
    show(id, { index }) {
      shown.set(id, index);
    },
    convert(id, at, _, previous = 0) {
      // A refund is no sale.
      if (previous !== 0) return;
      const index = shown.get(id) as number;
      sales[index]++;
      week.push({ index, at });
    },
  };
}
