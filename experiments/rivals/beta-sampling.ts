import { randomBeta } from "d3-random";
import type { Stream } from "../../src/simulation/stream.ts";
import type { Learner } from "../shop/learner.ts";
import { DelayWeights } from "./delay-weights.ts";

interface Options {
  /** The window, if impressions are weighed by the delays so far. Without it each counts fully. */
  readonly windowMs?: number;
  /** Whether a product's rate counts times its mean order. */
  readonly isPaid?: boolean;
}

/** Thompson sampling with a Beta(1, 1) prior for each product. It sees no features. */
export function betaSampling(products: number, random: Stream, { windowMs, isPaid = false }: Options = {}): Learner {
  const impressions = new Float64Array(products);
  const conversions = new Float64Array(products);
  const amounts = new Float64Array(products);
  const weights = windowMs === undefined ? undefined : new DelayWeights(products, windowMs);
  const shown = new Map<string, { readonly index: number; readonly now: number }>();
  const beta = randomBeta.source(random);
  const meanOrder = (index: number): number => {
    const [sum, count] = [amounts, conversions].map((each) => each.reduce((total, value) => total + value, 0));
    const common = count === 0 ? 1 : sum / count;
    return (amounts[index] + common) / (conversions[index] + 1);
  };
  return {
    choose(_, now) {
      const weighed = weights?.at(now) ?? impressions;
      let best = { index: 0, score: Number.NEGATIVE_INFINITY };
      for (let index = 0; index < products; index++) {
        const failures = Math.max(weighed[index] - conversions[index], 0);
        const score = beta(1 + conversions[index], 1 + failures)() * (isPaid ? meanOrder(index) : 1);
        if (score > best.score) best = { index, score };
      }
      return best.index;
    },
    show(id, { index, now }) {
      impressions[index]++;
      weights?.show(index, now);
      shown.set(id, { index, now });
    },
    convert(id, at, reward = 1, previous) {
      const { index, now } = shown.get(id) as { readonly index: number; readonly now: number };
      amounts[index] += reward - (previous ?? 0);
      // A refund is no other order.
      if (previous) return;
      conversions[index]++;
      weights?.convert(now, at);
    },
  };
}
