import type { Recommender } from "afterclick";
import { vectorAt } from "../../publication/featurizer.ts";
import type { Stream } from "../../simulation/stream.ts";
import { learnerOf } from "./default-model.ts";
import type { Learner } from "./learner.ts";
import type { Shop } from "./shop.ts";
import { delayMs } from "./timing.ts";

/** Known delays in all, in equal parts from each product. With them an estimated law errs by less than 1 %. */
const KNOWN = 20_000;
/** Weight of the impressions that have the known delays. It changes no estimate of a rate. */
const WEIGHT = 1e-9;

/**
 * A learner that knows from the start how late conversions come: an oracle. Before its first choice it is told delays by the laws of the
 * shop. They belong to impressions two windows earlier, which have no rewards and next to no weight, so it is told nothing else.
 */
export function knowingDelays(recommender: Recommender, shop: Shop, random: Stream): Learner {
  const learner = learnerOf(recommender);
  // Times are positive, so the visitors come later instead.
  const later = 2 * shop.windowMs;
  let isTold = false;
  return {
    choose(points, now, round) {
      if (!isTold) tell(recommender, points as Float64Array, now, shop, random);
      isTold = true;
      return learner.choose(points, now + later, round);
    },
    show: (id, shown) => learner.show(id, { ...shown, now: shown.now + later }),
    convert: (id, at) => learner.convert(id, at + later),
  };
}

function tell(
  { policy }: Recommender,
  points: Float64Array,
  now: number,
  { laws, groups, windowMs, products }: Shop,
  random: Stream,
): void {
  const each = Math.ceil(KNOWN / products.length);
  for (let product = 0; product < products.length; product++) {
    const features = vectorAt(points, product, products.length);
    const impression = policy.append({ round: 1, now, features, weight: WEIGHT });
    for (let i = 0; i < each; i++) {
      const after = delayMs(laws[groups?.[product] ?? 0], random);
      if (after <= windowMs) policy.observe({ impression, reward: 0, previous: 0, delay: { after } });
    }
  }
}
