// The marginal likelihood and the information gain of a Gaussian process, from its factor and sums.

import { GaussianProcess, whitened } from "./gaussian-process";
import { factorRow } from "../matrix/linalg";
import { logarithm } from "../numbers/logarithm";

/** log p(rewards) over all sum(c) single evaluations, each with its own noise. **Cost:** O(n), after the means. */
export function gpLogMarginalLikelihood(gp: GaussianProcess): f64 {
  const z = whitened(gp);
  let total: f64 = 0;
  let spread = gp.squares;
  let quadratic: f64 = 0;
  let logs: f64 = 0;
  for (let i: usize = 0; i < gp.size; i++) {
    const at = i << 3;
    const count = load<f64>(gp.counts + at);
    const sum = load<f64>(gp.sums + at);
    const entry = load<f64>(z + at);
    total += count;
    spread -= (sum * sum) / count;
    quadratic += entry * entry;
    logs += 2 * logarithm(load<f64>(factorRow(gp.factor, i) + at)) + logarithm(count);
  }
  // The spread of rewards around the average of their point. Only rounding makes it negative.
  quadratic += max(spread, 0) / gp.noise;
  logs += (total - <f64>gp.size) * logarithm(gp.noise);
  return -0.5 * (quadratic + logs + total * logarithm(2 * Math.PI));
}

/** 1/2 log det(I + K / noise) over all single evaluations, in nats. It is at least 0, whatever is rounded. **Cost:** O(n). */
export function gpInformationGain(gp: GaussianProcess): f64 {
  let sum: f64 = 0;
  for (let i: usize = 0; i < gp.size; i++) {
    const at = i << 3;
    const pivot = load<f64>(factorRow(gp.factor, i) + at);
    sum += logarithm((pivot * pivot) / load<f64>(gp.noises + at));
  }
  return max(0.5 * sum, 0);
}
