import { vectorAt } from "afterclick/research";
import { type DefaultModel, learnerOf } from "../shop/default-model.ts";
import type { Learner } from "../shop/learner.ts";
import { DAY_MS, type Shop } from "../shop/shop.ts";
import type { World } from "./world.ts";

/** Traffic of the other pages, in that of the slot. */
const TIMES = 5;
/** The orders of so many days before day 1 are counted. */
const COUNTED_MS = 28 * DAY_MS;
/** Orders of longer delays are left out. */
const LATEST_MS = 14 * DAY_MS;

/** The default model, which has been told the orders of the whole shop in the four weeks before it started. */
export function informed({ recommender, featurize }: DefaultModel, shop: Shop, { ordersOf }: World): Learner {
  const { products, stepMs } = shop;
  const start = DAY_MS;
  const sales = new Int32Array(products.length);
  for (let at = start - COUNTED_MS - LATEST_MS; at < start; at += stepMs) {
    for (const order of ordersOf(TIMES, at)) if (order.at >= start - COUNTED_MS && order.at < start) sales[order.index]++;
  }
  const points = featurize({});
  recommender.policy.prior(products.map((_, i) => ({ features: vectorAt(points, i, products.length), sales: sales[i] })));
  return learnerOf(recommender, shop);
}
