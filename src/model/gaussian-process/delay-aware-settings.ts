import { finiteNumber, oneOf, onlyKeys, outOfRange, wholeNumber } from "../../values/argument.ts";
import { type ForgettingSettings, parseForgetting } from "../delay/forgetting.ts";
import type { DomainSettings } from "../domain.ts";
import { parseGaussianProcess } from "./gaussian-process-settings.ts";
import { additiveMatern32, type Kernel, kernelSpec } from "./kernel.ts";

/** Options of a delay-aware Gaussian-process policy. Kernel and noise are learnt, so no option needs tuning. */
export interface DelayAwareSettings {
  /** Features per candidate (d): first those of the context, then those of the action. Default with a domain: its dimension. */
  readonly dimension?: number;
  /** How many of the features describe the context, default 0. */
  readonly contextDimension?: number;
  /**
   * Distance over which rewards are expected to change, in units of the feature: one number, or one per feature. It is the median of
   * a prior. Default: a tenth of the feature's extent (in the domain, or else 1), times the square root of the number of features
   * of the context, or of the action.
   */
  readonly lengthscale?: number | readonly number[];
  /**
   * "gaussian" (default): rewards of any size around their expectation. "bernoulli": conversions of 0 or 1, whose expectation is the
   * logistic of a Gaussian process. The distribution of delays then separates pending impressions from those that never convert.
   */
  readonly rewards?: "gaussian" | "bernoulli";
  /**
   * Rows of a factor, at most. Default 600, with "bernoulli" rewards 256. Beyond that, the least informative points are merged into
   * their neighbours.
   */
  readonly capacity?: number;
  /** A fixed set of points to choose among. Requests then have no candidates, and scoring the points again costs O(k n). */
  readonly domain?: DomainSettings | null;
  /** Multiplier on the standard deviation. Default 2 for `delayGpUcb`, 1 for `delayGpTs`. */
  readonly exploration?: number;
  /** For rewards that change with time: impressions after which an observation weighs half. Default null: no forgetting. */
  readonly forgetting?: ForgettingSettings | null;
}

export type ParsedDelayAware = Required<DelayAwareSettings>;

/** Prior median of a lengthscale, in extents of the feature, per square root of the number of features. */
const TYPICAL_LENGTHSCALE = 0.1;
/** Prior median of the variance of the signal, in units of the noise variance. The intercept has the same variance. */
const TYPICAL_SIGNAL = 30;
/** Prior median of the variance of a rate's logit, and the intercept's multiple of it: rates are expected within 0.4 and 99.6 %. */
const TYPICAL_LOGIT = 1;
const TYPICAL_RATE = 8;

/** Checks the options and fills in defaults. `multiplier` is the default of `exploration`. */
export function parseDelayAware(options: DelayAwareSettings, multiplier: number): ParsedDelayAware {
  const others = ["lengthscale", "capacity", "domain", "exploration", "rewards", "forgetting"];
  onlyKeys("options", options, ["dimension", "contextDimension", ...others]);
  const { contextDimension: context = 0, lengthscale: given, exploration = multiplier, forgetting, ...rest } = options;
  const rewards = oneOf("rewards", rest.rewards ?? "gaussian", ["gaussian", "bernoulli"]);
  const rows = rewards === "bernoulli" ? 256 : 600;
  const process = { dimension: rest.dimension, capacity: rest.capacity ?? rows, domain: rest.domain };
  const { dimension, capacity, domain } = parseGaussianProcess(process);
  wholeNumber("capacity", capacity, 2);
  const contextDimension = wholeNumber("contextDimension", context, 0, 4096);
  if (contextDimension > dimension) throw outOfRange("contextDimension", `at most ${dimension}, the dimension`, context);
  const chosen = { exploration: finiteNumber("exploration", exploration, 0), rewards, forgetting: parseForgetting(forgetting) };
  const settings = { dimension, contextDimension, capacity, domain, ...chosen };
  const { lengthscale } = medianKernel({ ...settings, lengthscale: given ?? typicalLengthscales(settings) });
  return { ...settings, lengthscale };
}

/** The kernel at the medians of its priors. */
export function medianKernel({ dimension, contextDimension, lengthscale, rewards }: ParsedDelayAware): Kernel {
  const [variance, bias] = rewards === "bernoulli" ? [TYPICAL_LOGIT, TYPICAL_RATE] : [TYPICAL_SIGNAL, 1];
  const kernel = additiveMatern32({ lengthscale, context: contextDimension, bias, variance });
  kernelSpec(kernel, dimension);
  return kernel;
}

function typicalLengthscales({ dimension, contextDimension, domain }: Omit<ParsedDelayAware, "lengthscale">): number[] {
  const extent = (feature: number): number => {
    if (!domain) return 1;
    const [first, ...others] = domain.points.map((point) => point[feature]);
    let [least, most] = [first, first];
    for (const each of others) [least, most] = [Math.min(least, each), Math.max(most, each)];
    return most > least ? most - least : 1;
  };
  return Array.from({ length: dimension }, (_, feature) => {
    const group = feature < contextDimension ? contextDimension : dimension - contextDimension;
    return TYPICAL_LENGTHSCALE * Math.sqrt(group) * extent(feature);
  });
}
