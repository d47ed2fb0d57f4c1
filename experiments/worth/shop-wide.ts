import type { Stream } from "../../src/simulation/stream.ts";
import type { Learner } from "../shop/learner.ts";
import { DAY_MS } from "../shop/shop.ts";
import type { World } from "./world.ts";

const WEEK = 7;

/**
 * Shows the product with the most orders of the last seven days in the whole shop, which is a list made anew each night. Other pages have
 * `times` the traffic of the slot. They were there before it, so the first list is as good as any.
 */
export function shopWide({ shop, ordersOf }: World, times: number, random: Stream): Learner {
  const products = shop.products.length;
  const byDay = new Map<number, Int32Array>();
  const shown = new Map<string, number>();
  const dayOf = (at: number): number => Math.floor(at / DAY_MS);
  const count = (index: number, at: number): void => {
    const counts = byDay.get(dayOf(at)) ?? new Int32Array(products);
    counts[index]++;
    byDay.set(dayOf(at), counts);
  };
  const visitElsewhere = (at: number): void => {
    for (const order of ordersOf(times, at)) count(order.index, order.at);
  };
  let listed = { day: Number.NEGATIVE_INFINITY, best: [] as number[] };
  return {
    choose(_, now) {
      const day = dayOf(now);
      if (listed.best.length === 0) {
        // Orders of longer delays than two weeks before are left out of the first list.
        for (let at = now - 2 * WEEK * DAY_MS; at < now; at += shop.stepMs) visitElsewhere(at);
      }
      visitElsewhere(now);
      if (day !== listed.day) {
        const week = Array.from({ length: WEEK }, (_, i) => byDay.get(day - 1 - i)).filter((each) => each !== undefined);
        const totals = Int32Array.from({ length: products }, (_, index) => week.reduce((sum, counts) => sum + counts[index], 0));
        const most = totals.reduce((best, each) => Math.max(best, each), 0);
        listed = { day, best: Array.from(totals.keys()).filter((index) => totals[index] === most) };
      }
      return listed.best[random.below(listed.best.length)];
    },
    show(id, { index }) {
      shown.set(id, index);
    },
    convert(id, at) {
      count(shown.get(id) as number, at);
    },
  };
}
