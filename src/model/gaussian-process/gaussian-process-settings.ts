import { finiteNumber, flag, oneOf, onlyKeys, outOfRange, positiveNumber, record, wholeNumber } from "../../values/argument.ts";
import { type DomainSettings, parsePoints } from "../domain.ts";
import { type Kernel, kernelSpec, parseKernel, squaredExponential } from "./kernel.ts";

/** Options of every policy with a Gaussian process. */
export interface GaussianProcessSettings {
  /** Features per candidate (d): the action's, or the context's followed by the action's. Default: the dimension of `domain`. */
  readonly dimension?: number;
  /** Default: a squared exponential with lengthscale 1. */
  readonly kernel?: Kernel;
  /** Variance of one reward around its expectation (lambda), default 0.01. */
  readonly noiseVariance?: number;
  /** Most unique points kept, default 1000. At capacity an impression at a new point counts at the nearest kept point. */
  readonly capacity?: number;
  /** A fixed set of points to choose among, instead of candidates. Scoring all of them again costs O(k n). */
  readonly domain?: DomainSettings | null;
  /** Maximises the marginal likelihood of rewards over the kernel, from time to time. Default: never. */
  readonly refit?: RefitSettings | null;
}

/** When and how a Gaussian process fits its hyper-parameters. */
export interface RefitSettings {
  /** Impressions between two fits. */
  readonly every: number;
  readonly method?: "marginal-likelihood";
  /** The last impression after which there is a fit. Default: there is no last one. */
  readonly until?: number;
  /** Whether the noise variance is fitted too. Default: it stays `noiseVariance`. */
  readonly noise?: boolean;
  /**
   * Whether a fit takes pending impressions for known ones, with the reward by which the policy counts them: zero ("gp-ucb-sdf",
   * "gp-ts-sdf"), or the present mean ("gp-bucb", "gp-bts", "gp-ei", MINI-META). Default: it leaves them out. Policies that ignore
   * pending impressions ignore this.
   */
  readonly pending?: boolean;
}

export type ParsedGaussianProcess = Required<GaussianProcessSettings>;

const known = ["dimension", "kernel", "noiseVariance", "capacity", "domain", "refit"];

/** Checks the options of a Gaussian process and fills in defaults. Refuses any other option, except those in `others`. */
export function parseGaussianProcess(options: GaussianProcessSettings, others: readonly string[] = []): ParsedGaussianProcess {
  onlyKeys("options", options, [...known, ...others]);
  const domain = options.domain == null ? null : parsePoints(options.domain);
  const dimension = wholeNumber("dimension", options.dimension ?? domain?.points[0].length, 1, 4096);
  if (domain && domain.points[0].length !== dimension) {
    throw outOfRange("domain.points[0]", `${dimension} coordinates, the dimension`, domain.points[0]);
  }
  const kernel = parseKernel("kernel", options.kernel ?? squaredExponential());
  kernelSpec(kernel, dimension);
  return {
    dimension,
    kernel,
    noiseVariance: positiveNumber("noiseVariance", options.noiseVariance ?? 0.01),
    capacity: wholeNumber("capacity", options.capacity ?? 1000, 1, 20_000),
    domain,
    refit: options.refit == null ? null : parseRefit(options.refit),
  };
}

function parseRefit(value: RefitSettings): RefitSettings {
  const { every, method = "marginal-likelihood", until, noise, pending } = value;
  onlyKeys("refit", record("refit", value), ["every", "method", "until", "noise", "pending"]);
  return {
    every: wholeNumber("refit.every", every, 1),
    method: oneOf("refit.method", method, ["marginal-likelihood"] as const),
    // Options that are absent stay absent, as in the configurations of models that were created before there were these.
    ...(until !== undefined && { until: wholeNumber("refit.until", until, 1) }),
    ...(noise !== undefined && { noise: flag("refit.noise", noise) }),
    ...(pending !== undefined && { pending: flag("refit.pending", pending) }),
  };
}

/** Options of a policy with a width of a constant number of standard deviations. */
export interface ConstantWidthSettings extends GaussianProcessSettings {
  /** Width in standard deviations, default 1. */
  readonly beta?: number;
  /** Multiplier on the width, default 1. */
  readonly exploration?: number;
}

/** Checks the options, refuses unknown ones, and fills in defaults. */
export function parseConstantWidth(options: ConstantWidthSettings): Required<ConstantWidthSettings> {
  return {
    ...parseGaussianProcess(options, ["beta", "exploration"]),
    beta: finiteNumber("beta", options.beta ?? 1, 0),
    exploration: finiteNumber("exploration", options.exploration ?? 1, 0),
  };
}
