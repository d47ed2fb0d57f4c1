import { finiteNumber, oneOf, onlyKeys, outOfRange, wholeNumber } from "../../argument.ts";
import { type ForgettingSettings, parseForgetting } from "../delay/forgetting.ts";
import type { DomainSettings } from "../domain.ts";
import { parseGaussianProcess } from "./gaussian-process-settings.ts";
import { additiveMatern32, type Kernel, kernelSpec } from "./kernel.ts";

/** Options of a delay-aware Gaussian-process policy. Kernel and noise are learnt: there is nothing that must be tuned. */
export interface DelayAwareSettings {
  /** Features per candidate (d), the context's first and then the action's; of a domain, by default its own. */
  readonly dimension?: number;
  /** How many of the features are the context's, default 0. */
  readonly contextDimension?: number;
  /**
   * Over what distance rewards are expected to change, in units of the feature, one number or one per feature: the median of a
   * prior. Default: a tenth of a feature's extent, that of the domain or 1, times the root of how many features the
   * context has, or the action.
   */
  readonly lengthscale?: number | readonly number[];
  /**
   * What rewards are: of any size about their expectation ("gaussian", default), or conversions of 0 or 1 ("bernoulli"), whose
   * expectation is the logistic of a Gaussian process. What is pending is then told from what never comes by the law of delays.
   */
  readonly rewards?: "gaussian" | "bernoulli";
  /** Most rows of a factor, default 600, of "bernoulli" rewards 256. Beyond, the least informative points are merged into their neighbours. */
  readonly capacity?: number;
  /** A fixed set of points to choose among; candidates are then absent, and scoring them again costs O(k n). */
  readonly domain?: DomainSettings | null;
  /** Multiplier on the standard deviation, default 2 for optimism and 1 for sampling. */
  readonly exploration?: number;
  /** Where rewards change with time: after how many impressions one weighs half. Default: null, nothing is forgotten. */
  readonly forgetting?: ForgettingSettings | null;
}

export type ParsedDelayAware = Required<DelayAwareSettings>;

/** Extents a lengthscale has before anything is seen, per root of the number of features. */
const TYPICAL_LENGTHSCALE = 0.1;
/** Variance of the signal in units of the noise's before anything is seen; the intercept's is the same. */
const TYPICAL_SIGNAL = 30;
/** Variance of the logit of a rate, and how many times that is its intercept's: a rate is then thought to be within 0.4 and 99.6 %. */
const TYPICAL_LOGIT = 1;
const TYPICAL_RATE = 8;

/** Checks them and fills in defaults; `multiplier` is that of `exploration`. */
export function parseDelayAware(options: DelayAwareSettings, multiplier: number): ParsedDelayAware {
  const others = ["lengthscale", "capacity", "domain", "exploration", "rewards", "forgetting"];
  onlyKeys("options", options, ["dimension", "contextDimension", ...others]);
  const { contextDimension: context = 0, lengthscale: given, exploration = multiplier, forgetting, ...rest } = options;
  const rewards = oneOf("rewards", rest.rewards ?? "gaussian", ["gaussian", "bernoulli"]);
  const rows = rewards === "bernoulli" ? 256 : 600;
  const { dimension, capacity, domain } = parseGaussianProcess({ ...rest, capacity: rest.capacity ?? rows });
  wholeNumber("capacity", capacity, 2);
  const contextDimension = wholeNumber("contextDimension", context, 0, 4096);
  if (contextDimension > dimension) throw outOfRange("contextDimension", `at most ${dimension}, the dimension`, context);
  const chosen = { exploration: finiteNumber("exploration", exploration, 0), rewards, forgetting: parseForgetting(forgetting) };
  const settings = { dimension, contextDimension, capacity, domain, ...chosen };
  const { lengthscale } = medianKernel({ ...settings, lengthscale: given ?? typicalLengthscales(settings) });
  return { ...settings, lengthscale };
}

/** The medians of the priors. */
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
