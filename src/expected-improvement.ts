import { compileCore } from "#core-module";
import { instantiate } from "./core/core.ts";
import {
  type ImprovementRequest,
  expectedImprovement as improvement,
  logExpectedImprovement,
} from "./model/gaussian-process/expected-improvement.ts";
import { finiteNumber, onlyKeys, record } from "./values/argument.ts";

/** Expected improvement without a policy, for research. The policies score with the same functions. */
export interface ExpectedImprovement {
  /** E max(mean + beta deviation Z - best, 0) for a standard normal Z, within 1e-12 unless a deviation is subnormal. */
  value(request: ImprovementRequest): number;
  /** The logarithm of `value`, at least -1.8e308. It distinguishes values below the smallest double. */
  log(request: ImprovementRequest): number;
}

/**
 * Loads the core and computes expected improvement with it, accurate in the far tails.
 *
 * @example
 * const { value, log } = await expectedImprovement();
 * value({ mean: 0.2, deviation: 0.01, best: 0.5 }); // 1.6e-201
 * @throws {TypeError | RangeError} naming the argument.
 */
export async function expectedImprovement(options: { readonly module?: WebAssembly.Module } = {}): Promise<ExpectedImprovement> {
  onlyKeys("options", record("options", options), ["module"]);
  const core = await instantiate(options.module ?? (await compileCore()));
  return {
    value: (request) => improvement(core, checked(request)),
    log: (request) => logExpectedImprovement(core, checked(request)),
  };
}

function checked(request: ImprovementRequest): ImprovementRequest {
  onlyKeys("request", record("request", request), ["mean", "deviation", "best", "beta"]);
  return {
    mean: finiteNumber("mean", request.mean),
    deviation: finiteNumber("deviation", request.deviation, 0),
    best: finiteNumber("best", request.best),
    beta: finiteNumber("beta", request.beta ?? 1, 0),
  };
}
