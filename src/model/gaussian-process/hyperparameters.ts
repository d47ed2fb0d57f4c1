import type { Core, KernelSpec } from "../../core/core.ts";
import { CoreProcess } from "../../core/core-process.ts";
import type { Evidence } from "./bounded-process.ts";
import { compassSearch } from "./compass-search.ts";

/** The kernel in units of the noise, and the noise variance in units of the reward squared. */
export interface Hyperparameters {
  readonly kernel: KernelSpec;
  readonly noiseVariance: number;
}

/** Prior deviation of the logarithm of a lengthscale. */
const LENGTHSCALE_SPREAD = 1;
/** Prior deviation of the logarithm of the signal variance over the noise variance. */
const SIGNAL_SPREAD = 2;
/** Inverse-gamma prior of the noise variance: equivalent to two rewards with a deviation of 0.1. */
const NOISE_SHAPE = 1;
const NOISE_RATE = 0.01;
/**
 * Greatest logarithm of a factor on a median. The prior makes it nearly impossible, so that only the counts of a crafted snapshot lead
 * there. The search takes steps of log 2, and ends.
 */
const FARTHEST = 32;
/** A step of 0.1 changes a lengthscale by a tenth, well inside its posterior spread. */
const LEAST_STEP = 0.1;

/** The initial hyper-parameters, for a kernel that holds the medians of the priors. */
export function prior(kernel: KernelSpec): Hyperparameters {
  return { kernel, noiseVariance: NOISE_RATE / NOISE_SHAPE };
}

/**
 * The hyper-parameters of greatest posterior density, by a compass search on their logarithms.
 *
 * The priors of the lengthscales (one factor for the first `context` features, one for the others) and of the variance are
 * log-normal around `median`. The noise variance is integrated out. Deterministic.
 * **Cost:** about 60 factorisations of the evidence.
 * **Source:** Rasmussen and Williams 2006, eq. 5.8, with a conjugate inverse-gamma prior of the noise (their section 2.7).
 */
export function fitted(core: Core, median: KernelSpec, context: number, evidence: Evidence): Hyperparameters {
  const { points, counts, sums } = evidence;
  const n = counts.length;
  const total = counts.reduce((sum, each) => sum + each, 0);
  const process = new CoreProcess(core, median, 1, Math.max(n, 1));
  try {
    const squares = evidence.squares.reduce((sum, each) => sum + each, 0);
    process.load({ points, counts, sums, squares, factor: new Float64Array((n * (n + 1)) / 2) });
    // At a noise variance of 1, the log likelihood without its other terms is -1/2 times the quadratic form of the rewards.
    const rate = (): number => {
      const quadratic = -2 * (process.logMarginalLikelihood + process.informationGain) - total * core.log(2 * Math.PI);
      return NOISE_RATE + quadratic / 2;
    };
    const kernel = mostProbable(core, median, context, (each) => {
      process.setKernel(each);
      return -process.informationGain - (NOISE_SHAPE + total / 2) * core.log(rate());
    });
    process.setKernel(kernel);
    return { kernel, noiseVariance: rate() / (NOISE_SHAPE + total / 2) };
  } finally {
    process.release();
  }
}

/** The kernel of greatest posterior density under the log-normal priors. `evidence` returns the log evidence of a kernel. */
export function mostProbable(core: Core, median: KernelSpec, context: number, evidence: (kernel: KernelSpec) => number): KernelSpec {
  const at = (logs: readonly number[]): KernelSpec => scaled(core, median, context, logs);
  const density = (logs: readonly number[]): number => {
    const spread = (i: number): number => (i === logs.length - 1 ? SIGNAL_SPREAD : LENGTHSCALE_SPREAD);
    const distance = logs.reduce((sum, each, i) => sum + (each / spread(i)) * (each / spread(i)), 0);
    return evidence(at(logs)) - distance / 2;
  };
  const groups = context > 0 && context < median.lengthscale.length ? 2 : 1;
  const start = Array<number>(groups + 1).fill(0);
  const grid = start.map(() => [-core.log(4), 0, core.log(4)]);
  return at(
    compassSearch(core, { start, grid, bounds: start.map(() => FARTHEST), leastStep: LEAST_STEP, afterStep: "next", value: density }),
  );
}

/** The median kernel times e^logs: first the lengthscales (of the context, then of the action, if it has both), then the variance. */
function scaled(core: Core, median: KernelSpec, context: number, logs: readonly number[]): KernelSpec {
  const factors = logs.map((each) => core.exp(each));
  const lengthscale = median.lengthscale.map((each, j) => each * factors[j < context ? 0 : factors.length - 2]);
  return { ...median, lengthscale, variance: median.variance * factors[factors.length - 1] };
}
