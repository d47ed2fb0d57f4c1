import type { MaturedSums } from "./delay-correction.ts";
import { deviations, GUESSED, type Likelihood, spreadOf, untransformed } from "./likelihood.ts";

/** The mean amount before there are any. */
const FIRST = 1;

const meanOf = ({ count, rewards }: MaturedSums): number => (count > 0 && rewards > 0 ? rewards / count : FIRST);

/** sum (reward - mean) x: d. */
function differences(sums: MaturedSums): Float64Array {
  const mean = meanOf(sums);
  return sums.moment.map((each, i) => each - mean * sums.level[i]);
}

/**
 * Rewards are amounts of money. The latent value is the expected amount: the mean of all amounts, plus <x, theta>. So an action without
 * any amounts is expected to bring the mean, and not nothing.
 */
export const amountLikelihood = (): Likelihood => ({
  ...untransformed,
  // The variance of an amount over the mean amount.
  rewardVariance: 1,
  centred(sums) {
    const mean = meanOf(sums);
    return { ...sums, moment: differences(sums).map((each) => each / mean), rewards: 0, squares: deviations(sums) / (mean * mean) };
  },
  level: meanOf,
  moment: differences,
  // The prior: amounts deviate by as much as their mean.
  spread(sums) {
    const mean = meanOf(sums);
    return spreadOf(sums, GUESSED * mean * mean);
  },
});
