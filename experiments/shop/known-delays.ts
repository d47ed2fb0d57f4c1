import type { Recommender } from "afterclick";
import { vectorAt } from "afterclick/research";
import type { Stream } from "../../src/simulation/stream.ts";
import { learnerOf } from "./default-model.ts";
import type { Learner } from "./learner.ts";
import type { Shop } from "./shop.ts";
import { delayMs } from "./timing.ts";

/** Delays observed before the first visitor, equally many of each product. An estimated law then errs by less than 1 %. */
const DELAYS = 20_000;
/** Weight of the impressions that have these delays. It changes no estimate of a rate. */
const WEIGHT = 1e-9;

/**
 * An oracle: a learner that knows from the start how late conversions come. Before its first choice it observes delays that are drawn from
 * the laws of the shop. Their impressions are two windows older, without rewards and nearly without weight, so they teach nothing else.
 */
export function knowingDelays(recommender: Recommender, shop: Shop, random: Stream): Learner {
  const learner = learnerOf(recommender);
  // Times are positive, so the visitors come later instead.
  const later = 2 * shop.windowMs;
  let isPrepared = false;
  return {
    choose(points, now, round) {
      if (!isPrepared) observeDelays(recommender, points as Float64Array, now, shop, random);
      isPrepared = true;
      return learner.choose(points, now + later, round);
    },
    show: (id, shown) => learner.show(id, { ...shown, now: shown.now + later }),
    convert: (id, at) => learner.convert(id, at + later),
  };
}

function observeDelays(
  { policy }: Recommender,
  points: Float64Array,
  now: number,
  { laws, groups, windowMs, products }: Shop,
  random: Stream,
): void {
  const each = Math.ceil(DELAYS / products.length);
  for (let product = 0; product < products.length; product++) {
    const features = vectorAt(points, product, products.length);
    const impression = policy.append({ round: 1, now, features, weight: WEIGHT });
    for (let i = 0; i < each; i++) {
      const after = delayMs(laws[groups?.[product] ?? 0], random);
      if (after <= windowMs) policy.observe({ impression, reward: 0, previous: 0, delay: { after } });
    }
  }
}
