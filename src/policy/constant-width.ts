import type { Ranked } from "../model/candidates.ts";
import { GaussianProcess } from "../model/gaussian-process/gaussian-process.ts";
import { type ConstantWidthSettings, parseConstantWidth } from "../model/gaussian-process/gaussian-process-settings.ts";
import type { Scores } from "../model/ranking.ts";
import { definePolicy, type PolicyFactory, type ScoreRequest, type State } from "./rule.ts";

interface Definition<Own extends State> {
  readonly id: string;
  readonly deterministic: boolean;
  /**
   * The state, given one Gaussian process, and a function that creates others with the same options. `imputes`: whether fits of
   * hyper-parameters take pending impressions for known ones.
   */
  state(process: GaussianProcess, another: () => GaussianProcess, imputes: boolean): Own;
  /** Scores candidates. `multiplier`: the width in standard deviations. */
  score(state: Own, request: ScoreRequest, multiplier: number): Scores | Ranked;
}

/** Makes the factory of a policy whose width is a constant number of a Gaussian process's standard deviations. */
export function constantWidth<Own extends State>(definition: Definition<Own>): PolicyFactory<ConstantWidthSettings> {
  const { id, deterministic } = definition;
  return definePolicy({
    id,
    stateVersion: 1,
    // An impression enters the mean when its reward comes.
    countsZeros: true,
    parse: parseConstantWidth,
    start({ core }, { beta, exploration, ...settings }) {
      const process = new GaussianProcess(core, settings);
      const state = definition.state(process, () => new GaussianProcess(core, settings), settings.refit?.pending === true);
      return {
        dimension: process.dimension,
        domain: process.domain,
        orderInvariant: false,
        deterministic,
        delayOffset: 1,
        state,
        score: (request) => definition.score(state, request, exploration * beta),
      };
    },
  });
}
