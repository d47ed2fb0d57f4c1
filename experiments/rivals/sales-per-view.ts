import type { Stream } from "../../src/simulation/stream.ts";
import type { Learner } from "../shop/learner.ts";
import { DAY_MS } from "../shop/shop.ts";

const WEEK_MS = 7 * DAY_MS;

interface Counted {
  readonly index: number;
  readonly at: number;
}

/** Counts of the last week, by product. */
class Week {
  readonly counts: Int32Array;
  readonly #entries: Counted[] = [];
  #first = 0;

  constructor(products: number) {
    this.counts = new Int32Array(products);
  }

  add(index: number, at: number): void {
    this.counts[index]++;
    this.#entries.push({ index, at });
  }

  forget(now: number): void {
    for (; this.#first < this.#entries.length && this.#entries[this.#first].at <= now - WEEK_MS; this.#first++) {
      this.counts[this.#entries[this.#first].index]--;
    }
  }
}

/**
 * Shows the product with the most sales per view of the last week: what a careful shop does without a recommender. A product without views has
 * no sales. It sees no features.
 *
 * `epsilon`: share of visitors who see a product at random. Among products with as many sales per view it takes one at random.
 */
export function salesPerView(products: number, epsilon: number, random: Stream): Learner {
  const [sales, views] = [new Week(products), new Week(products)];
  const shown = new Map<string, number>();
  return {
    choose(_, now) {
      sales.forget(now);
      views.forget(now);
      if (random() < epsilon) return random.below(products);
      const rates = Float64Array.from({ length: products }, (_, i) => sales.counts[i] / Math.max(views.counts[i], 1));
      const most = rates.reduce((best, each) => Math.max(best, each), 0);
      const level = Array.from(rates.keys()).filter((index) => rates[index] === most);
      return level[random.below(level.length)];
    },
    show(id, { index, now }) {
      views.add(index, now);
      shown.set(id, index);
    },
    convert(id, at, _, previous = 0) {
      // A refund is no sale.
      if (previous === 0) sales.add(shown.get(id) as number, at);
    },
  };
}
