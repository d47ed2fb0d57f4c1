import type { Core, KernelSpec } from "../../core/core.ts";
import type { Evidence } from "./bounded-process.ts";

/** The kernel in units of the noise, and the noise's variance in units of the reward squared. */
export interface Hyperparameters {
  readonly kernel: KernelSpec;
  readonly noiseVariance: number;
}

/** Deviation of the logarithm of a lengthscale, and of the signal's variance over the noise's, before anything is seen. */
const LENGTHSCALE_SPREAD = 1;
const SIGNAL_SPREAD = 2;
/** Inverse-gamma prior of the noise's variance: worth two rewards that deviate by a tenth. */
const NOISE_SHAPE = 1;
const NOISE_RATE = 0.01;
/** A step of 0.1 changes a lengthscale by a tenth, well inside its posterior spread. */
const LEAST_STEP = 0.1;

/** The kernel to begin with, whose values are the medians of the priors. */
export function prior(kernel: KernelSpec): Hyperparameters {
  return { kernel, noiseVariance: NOISE_RATE / NOISE_SHAPE };
}

/**
 * The hyper-parameters of greatest posterior density: log-normal priors about `median` on the lengthscales (one factor for the
 * first `context` features, one for the others) and on the variance, the noise's variance integrated out.
 *
 * Deterministic: a coarse grid, then a compass search on the logarithms. **Cost:** about 60 factorisations of the evidence.
 * **Source:** Rasmussen and Williams 2006, eq. 5.8, with a conjugate inverse-gamma prior of the noise (their section 2.7).
 */
export function fitted(core: Core, median: KernelSpec, context: number, evidence: Evidence): Hyperparameters {
  const { points, counts, sums } = evidence;
  const n = counts.length;
  const total = counts.reduce((sum, each) => sum + each, 0);
  const handle = core.gpCreate(median, 1, Math.max(n, 1));
  try {
    const squares = evidence.squares.reduce((sum, each) => sum + each, 0);
    core.gpLoad(handle, { points, counts, sums, squares, factor: new Float64Array((n * (n + 1)) / 2) });
    // The log likelihood at a noise of 1, less what it has beside the quadratic form of the rewards.
    const rate = (): number => {
      const quadratic = -2 * (core.gpLogMarginalLikelihood(handle) + core.gpInformationGain(handle)) - total * core.log(2 * Math.PI);
      return NOISE_RATE + quadratic / 2;
    };
    const kernel = mostProbable(core, median, context, (each) => {
      core.gpSetKernel(handle, each);
      return -core.gpInformationGain(handle) - (NOISE_SHAPE + total / 2) * core.log(rate());
    });
    core.gpSetKernel(handle, kernel);
    return { kernel, noiseVariance: rate() / (NOISE_SHAPE + total / 2) };
  } finally {
    core.gpRelease(handle);
  }
}

/** The kernel of greatest posterior density under the log-normal priors, given the logarithm of the evidence for one. */
export function mostProbable(core: Core, median: KernelSpec, context: number, evidence: (kernel: KernelSpec) => number): KernelSpec {
  const at = (logs: readonly number[]): KernelSpec => scaled(core, median, context, logs);
  const density = (logs: readonly number[]): number => {
    const spread = (i: number): number => (i === logs.length - 1 ? SIGNAL_SPREAD : LENGTHSCALE_SPREAD);
    const distance = logs.reduce((sum, each, i) => sum + (each / spread(i)) * (each / spread(i)), 0);
    return evidence(at(logs)) - distance / 2;
  };
  const groups = context > 0 && context < median.lengthscale.length ? 2 : 1;
  return at(maximum(core, groups + 1, density));
}

/** `logs`: of the factor on the context's lengthscales, on the action's, if there are any of either, and on the variance. */
function scaled(core: Core, median: KernelSpec, context: number, logs: readonly number[]): KernelSpec {
  const factors = logs.map((each) => core.exp(each));
  const lengthscale = median.lengthscale.map((each, j) => each * factors[j < context ? 0 : factors.length - 2]);
  return { ...median, lengthscale, variance: median.variance * factors[factors.length - 1] };
}

/** Maximises over a few coordinates: the best of a coarse grid, then ever smaller steps along each. */
function maximum(core: Core, dimension: number, value: (point: readonly number[]) => number): readonly number[] {
  let best: readonly number[] = Array(dimension).fill(0);
  let most = value(best);
  const attempt = (point: readonly number[]): boolean => {
    const found = value(point);
    if (!(found > most)) return false;
    [best, most] = [point, found];
    return true;
  };
  const wide = core.log(4);
  const grid = (point: readonly number[]): void => {
    if (point.length === dimension) attempt(point);
    else for (const each of [-wide, 0, wide]) grid([...point, each]);
  };
  grid([]);
  for (let step = wide / 2; step > LEAST_STEP; ) {
    let moved = false;
    for (let i = 0; i < dimension; i++) {
      const moveTo = (to: number): boolean => attempt(best.map((each, j) => (i === j ? to : each)));
      moved = moveTo(best[i] + step) || moveTo(best[i] - step) || moved;
    }
    if (!moved) step /= 2;
  }
  return best;
}
