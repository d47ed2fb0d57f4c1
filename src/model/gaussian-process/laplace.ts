import type { Core, GaussianProcessHandle } from "../../core/core.ts";
import { logistic } from "../linear/logistic.ts";

/** What was seen at n points: of so many trials, so many successes. */
export interface Trials {
  /** n x d, row-major. */
  readonly points: Float64Array;
  readonly trials: Float64Array;
  readonly successes: Float64Array;
}

/** Longest step of a latent value, in units of the logit: where a rate is near 0 or 1 a whole step goes far beyond the mode. */
const LONGEST_STEP = 3;
/** Steps, and a change after which the next one, being quadratic, is below 1e-8. */
const STEPS = 20;
const SETTLED = 1e-4;
/** Information of a point of which nothing is known yet: a row of a factor needs some. */
const LEAST_INFORMATION = 1e-6;

/** What `trials` at this rate tell of its logit. */
export function information(trials: number, rate: number): number {
  return Math.max(trials * rate * (1 - rate), LEAST_INFORMATION);
}

/**
 * The mode of the latent function at n points whose rates are its logistic, by Newton's method from `start`: n.
 *
 * Each step is a regression on the log likelihood's second-order expansion: rows of information W = trials rate (1 - rate) and
 * average f + (successes - trials rate) / W. The process, whose noise has the variance 1, is left with those of the last step:
 * its mean is that of the Laplace approximation.
 * **Cost:** O(n^3) a step. **Source:** Rasmussen and Williams 2006, algorithm 3.1.
 */
export function laplaceMode(core: Core, process: GaussianProcessHandle, { points, trials, successes }: Trials, start: Float64Array) {
  const n = trials.length;
  const factor = new Float64Array((n * (n + 1)) / 2);
  let mode = start;
  for (let step = 0; step < STEPS; step++) {
    const rates = mode.map((f) => logistic(core, f));
    const counts = rates.map((rate, i) => information(trials[i], rate));
    const sums = rates.map((rate, i) => counts[i] * mode[i] + successes[i] - trials[i] * rate);
    core.gpLoad(process, { points, counts, sums, squares: 0, factor });
    core.gpRefactor(process);
    const next = core.gpMean(process, points);
    const change = next.map((f, i) => Math.min(Math.max(f - mode[i], -LONGEST_STEP), LONGEST_STEP));
    mode = mode.map((f, i) => f + change[i]);
    if (change.every((each) => Math.abs(each) < SETTLED)) break;
  }
  return mode;
}

/** The logarithm of the evidence, of a process that `laplaceMode` has left. **Source:** Rasmussen and Williams 2006, eq. 3.32. */
export function laplaceEvidence(core: Core, process: GaussianProcessHandle, { trials, successes }: Trials, mode: Float64Array): number {
  let likelihood = 0;
  let square = 0;
  for (const [i, f] of mode.entries()) {
    // log(1 + e^f), without overflow.
    const normaliser = Math.max(f, 0) + core.log(1 + core.exp(-Math.abs(f)));
    likelihood += successes[i] * f - trials[i] * normaliser;
    square += f * (successes[i] - trials[i] * logistic(core, f));
  }
  return likelihood - square / 2 - core.gpInformationGain(process);
}
