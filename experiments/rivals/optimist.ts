// Rivals that regress rewards on features and show the product with the greatest upper bound. They differ in the width of the bound.
//
// RegCB.opt: Foster, Agarwal, Dudik, Luo and Schapire, Practical contextual bandits with regression oracles, ICML 2018, Algorithm 1.
// LinUCB: Li, Chu, Langford and Schapire, A contextual-bandit approach to personalized news article recommendation, WWW 2010.
import type { Stream } from "../../src/simulation/stream.ts";
import type { Learner } from "../shop/learner.ts";
import { matrixOf, Ridge } from "./ridge.ts";

interface Options {
  /** The upper bound of a product, by the mean and the deviation of its features. */
  bound(mean: number, deviation: () => number, round: number): number;
  /** Share of visitors who see a product at random. */
  readonly epsilon?: number;
  readonly ridge?: number;
}

/** Shows the product with the greatest bound; of several, one at random. */
function optimist(products: number, random: Stream, { bound, epsilon = 0, ridge }: Options): Learner {
  let regression: Ridge | undefined;
  const features = new Map<string, Float64Array>();
  return {
    choose(points, _, round) {
      const matrix = matrixOf(points);
      const dimension = matrix.length / products;
      regression ??= new Ridge(dimension, ridge);
      if (epsilon > 0 && random() < epsilon) return random.below(products);
      const { mean, deviation } = { mean: regression.mean.bind(regression), deviation: regression.deviation.bind(regression) };
      const scores = Array.from({ length: products }, (_, index) => {
        const row = matrix.subarray(index * dimension, (index + 1) * dimension);
        return bound(mean(row), () => deviation(row), round);
      });
      const greatest = Math.max(...scores);
      const level = scores.flatMap((score, index) => (score === greatest ? [index] : []));
      return level[random.below(level.length)];
    },
    show(id, shown) {
      regression?.append(shown.features);
      features.set(id, shown.features);
    },
    convert(id, _, reward = 1, previous = 0) {
      regression?.reward(features.get(id) as Float64Array, reward - previous);
    },
  };
}

/** Shows the product with the greatest expected reward. `epsilon`: share of visitors who see any product. */
export const greedy = (products: number, random: Stream, epsilon = 0): Learner =>
  optimist(products, random, { bound: (mean) => mean, epsilon });

/** `width`: deviations added to the mean. */
export const linUcb = (products: number, random: Stream, width: number): Learner =>
  optimist(products, random, { bound: (mean, deviation) => mean + width * deviation() });

/**
 * LinUCB as in the code of Zhang, Zhou, Li and Gu, Neural Thompson sampling, ICLR 2021: a ridge of 1, and a width of one squared
 * deviation, not of a deviation.
 */
export const linUcbAsPublished = (products: number, random: Stream): Learner =>
  optimist(products, random, { bound: (mean, deviation) => mean + deviation() ** 2, ridge: 1 });

/**
 * The regressions whose sum of squares is at most `slack` log(K t) above the least are the plausible ones. The bound is the greatest reward
 * that one of them expects, and at most 1. Of linear regressions that is an ellipsoid, so the bound has a closed form.
 */
export const regCb = (products: number, random: Stream, slack: number): Learner =>
  optimist(products, random, {
    bound: (mean, deviation, round) => Math.min(mean + Math.sqrt(slack * Math.log(products * round)) * deviation(), 1),
  });
