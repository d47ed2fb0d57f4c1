import type { MaturedSums } from "./delay-correction.ts";
import { QUANTILE } from "./interval.ts";
import type { Likelihood } from "./likelihood.ts";

const NO_OFFSETS = /* @__PURE__ */ new Float64Array(0);
/** Weight of the guess that amounts deviate by as much as their mean, in amounts. */
const GUESSED = 10;
/** The mean amount before there are any. */
const FIRST = 1;

const meanOf = ({ count, rewards }: MaturedSums): number => (count > 0 && rewards > 0 ? rewards / count : FIRST);

/** Sum of squared differences from the mean. */
const deviations = ({ count, rewards, squares }: MaturedSums): number =>
  count > 0 ? Math.max(squares - (rewards * rewards) / count, 0) : 0;

/** sum (reward - mean) x: d. */
function differences(sums: MaturedSums): Float64Array {
  const mean = meanOf(sums);
  return sums.moment.map((each, i) => each - mean * sums.level[i]);
}

/**
 * Rewards are amounts of money. The latent value is the expected amount: the mean of all amounts, plus <x, theta>. So an action without
 * any amounts is expected to bring the mean, and not nothing.
 */
export const amountLikelihood: Likelihood = {
  // The variance of an amount over the mean amount.
  rewardVariance: 1,
  offsets: 0,
  terms: (features) => ({ count: 1, features, weighted: features, offsets: NO_OFFSETS }),
  centred(sums) {
    const mean = meanOf(sums);
    return { ...sums, moment: differences(sums).map((each) => each / mean), rewards: 0, squares: deviations(sums) / (mean * mean) };
  },
  level: meanOf,
  moment: differences,
  spread(sums) {
    const mean = meanOf(sums);
    return Math.sqrt((deviations(sums) + GUESSED * mean * mean) / (sums.count + GUESSED));
  },
  moments: (latent) => latent,
  upper: ({ mean, deviation }) => ({ mean, width: deviation }),
  interval({ mean, deviation }, sums) {
    const half = QUANTILE * deviation * this.spread(sums);
    const bounded = Math.max(mean, 0);
    return { mean: bounded, low: Math.max(bounded - half, 0), high: bounded + half };
  },
};
