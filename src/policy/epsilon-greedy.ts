// Paper: Calandriello, Carratino, Lazaric, Valko, Rosasco, ICML 2022, section 5; a control.
// Assumes: expected reward from a Gaussian process; feedback may come late.
// Model: Gaussian process in which an impression counts at once and its reward is 0 until it converts.
// Expired means: a zero, which it was all along.
// Cost: with n unique points O(k n^2) to choose, over a fixed domain O(k n); O(n^2) per impression.
import { finiteNumber, onlyKeys } from "../argument.ts";
import { GaussianProcess } from "../model/gaussian-process.ts";
import { type GaussianProcessSettings, gaussianProcessOptions, parseGaussianProcess } from "../model/gaussian-process-settings.ts";
import { definePolicy, type PolicyFactory } from "./policy.ts";

export interface EpsilonGreedyOptions extends GaussianProcessSettings {
  /** a in the chance min(1, a / t^b) with which impression t is a candidate at random, default 1. */
  readonly explorationScale?: number;
  /** b, default 1/2. */
  readonly explorationDecay?: number;
}

/** Epsilon-greedy: the best posterior mean, or, more and more seldom, a candidate uniformly at random. */
export const epsilonGreedy: PolicyFactory<EpsilonGreedyOptions> = /* @__PURE__ */ definePolicy({
  id: "epsilon-greedy",
  stateVersion: 1,

  parse(options: EpsilonGreedyOptions) {
    onlyKeys("options", options, [...gaussianProcessOptions, "explorationScale", "explorationDecay"]);
    return {
      ...parseGaussianProcess(options),
      explorationScale: finiteNumber("explorationScale", options.explorationScale ?? 1, 0),
      explorationDecay: finiteNumber("explorationDecay", options.explorationDecay ?? 0.5, 0),
    };
  },

  start({ core }, { explorationScale, explorationDecay, ...settings }) {
    const posterior = new GaussianProcess(core, settings);

    return {
      dimension: posterior.dimension,
      domain: posterior.domain,
      orderInvariant: settings.refit === null,
      delayOffset: 0,
      state: {
        append(features) {
          const slot = posterior.append(features);
          posterior.elapse();
          return slot;
        },
        observe: (impression, reward, previous = 0) => posterior.reward(impression, reward, previous),
        predict: (points) => posterior.moments(points),
        save: (writer) => posterior.save(writer),
        load: (reader) => posterior.load(reader),
        statistics: () => posterior.statistics(),
      },
      score({ points, count, trial, uniforms }) {
        const { mean } = posterior.moments(points);
        const epsilon = Math.min(1, explorationScale * core.exp(-explorationDecay * core.log(trial)));
        const draws = uniforms(count);
        const explores = draws[0] < epsilon;
        // Given that it is below epsilon, the first draw over epsilon is uniform like the others.
        if (explores) draws[0] /= epsilon;
        return {
          score: explores ? draws : mean,
          mean,
          width: new Float64Array(count),
          probability: (index, place) => epsilon / count + (rankOf(index, mean) === place ? 1 - epsilon : 0),
        };
      },
    };
  },
});

/** The place that the greedy ranking gives to a candidate: best first, ties to the first. */
function rankOf(index: number, mean: Float64Array): number {
  return mean.reduce((rank, each, i) => rank + Number(each > mean[index] || (each === mean[index] && i < index)), 0);
}
