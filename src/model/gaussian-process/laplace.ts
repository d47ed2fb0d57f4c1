import type { Core } from "../../core/core.ts";
import type { CoreProcess } from "../../core/core-process.ts";
import { logistic } from "../linear/logistic.ts";

/** Trials and successes at n points. */
export interface Trials {
  /** n x d, row-major. */
  readonly points: Float64Array;
  readonly trials: Float64Array;
  readonly successes: Float64Array;
}

/** Longest step of a latent value, in units of the logit. At a rate near 0 or 1 a full Newton step goes far beyond the mode. */
const LONGEST_STEP = 3;
const MOST_STEPS = 20;
/** After a change below this the next one is below 1e-8, because Newton's method converges quadratically. */
const SETTLED = 1e-4;
/** Information of a point without trials: a row of a factor needs some. */
const LEAST_INFORMATION = 1e-6;

/** Fisher information of `trials` at this rate about its logit. */
export function information(trials: number, rate: number): number {
  return Math.max(trials * rate * (1 - rate), LEAST_INFORMATION);
}

/**
 * The mode of the latent function at n points whose rates are its logistic, by Newton's method from `start`: n.
 *
 * Each step is a regression on the second-order expansion of the log likelihood: rows of information W = trials rate (1 - rate)
 * and average f + (successes - trials rate) / W. `process`, whose noise variance is 1, keeps the rows of the last step, so its mean
 * is the mean of the Laplace approximation.
 * **Cost:** O(n^3) a step. **Source:** Rasmussen and Williams 2006, algorithm 3.1.
 */
export function laplaceMode(core: Core, process: CoreProcess, { points, trials, successes }: Trials, start: Float64Array): Float64Array {
  let mode = start;
  for (let step = 0; step < MOST_STEPS; step++) {
    const rates = mode.map((f) => logistic(core, f));
    const counts = rates.map((rate, i) => information(trials[i], rate));
    const sums = rates.map((rate, i) => counts[i] * mode[i] + successes[i] - trials[i] * rate);
    process.replace({ points, counts, sums, squares: 0 });
    const next = process.mean(points);
    const change = next.map((f, i) => Math.min(Math.max(f - mode[i], -LONGEST_STEP), LONGEST_STEP));
    mode = mode.map((f, i) => f + change[i]);
    if (change.every((each) => Math.abs(each) < SETTLED)) break;
  }
  return mode;
}

/** The log evidence of the approximation that `laplaceMode` left in `process`. **Source:** Rasmussen and Williams 2006, eq. 3.32. */
export function laplaceEvidence(core: Core, process: CoreProcess, { trials, successes }: Trials, mode: Float64Array): number {
  let likelihood = 0;
  let square = 0;
  for (const [i, f] of mode.entries()) {
    // log(1 + e^f), without overflow.
    const normaliser = Math.max(f, 0) + core.log(1 + core.exp(-Math.abs(f)));
    likelihood += successes[i] * f - trials[i] * normaliser;
    square += f * (successes[i] - trials[i] * logistic(core, f));
  }
  return likelihood - square / 2 - process.informationGain;
}
