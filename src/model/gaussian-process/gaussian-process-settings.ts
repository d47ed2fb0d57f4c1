import { finiteNumber, oneOf, onlyKeys, outOfRange, positiveNumber, record, wholeNumber } from "../../argument.ts";
import { type DomainSettings, parsePoints } from "../domain.ts";
import { type Kernel, kernelSpec, parseKernel, squaredExponential } from "./kernel.ts";

/** Options of every policy that holds a Gaussian process. */
export interface GaussianProcessSettings {
  /** Features per candidate (d): of the action, or of context and action one after the other; of a domain, by default its own. */
  readonly dimension?: number;
  /** Default: a squared exponential of lengthscale 1. */
  readonly kernel?: Kernel;
  /** Variance of one reward about its expectation (lambda), default 0.01. */
  readonly noiseVariance?: number;
  /** Most unique points kept, default 1000; an impression elsewhere then counts at the nearest of them. */
  readonly capacity?: number;
  /** A fixed set of points to choose among; candidates are then absent, and scoring them again costs O(k n). */
  readonly domain?: DomainSettings | null;
  /** Sets the kernel to the maximum of the marginal likelihood of what is settled, after every so many impressions; default never. */
  readonly refit?: { readonly every: number; readonly method?: "marginal-likelihood" } | null;
}

export type ParsedGaussianProcess = Required<GaussianProcessSettings>;

export const gaussianProcessOptions = ["dimension", "kernel", "noiseVariance", "capacity", "domain", "refit"];

/** Checks the options of a Gaussian process and fills in defaults. */
export function parseGaussianProcess(options: GaussianProcessSettings): ParsedGaussianProcess {
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

function parseRefit(value: NonNullable<GaussianProcessSettings["refit"]>): { every: number; method: "marginal-likelihood" } {
  onlyKeys("refit", record("refit", value), ["every", "method"]);
  return {
    every: wholeNumber("refit.every", value.every, 1),
    method: oneOf("refit.method", value.method ?? "marginal-likelihood", ["marginal-likelihood"]),
  };
}

/** Options of a policy whose width is a constant number of standard deviations. */
export interface ConstantWidthSettings extends GaussianProcessSettings {
  /** Width in standard deviations, default 1. */
  readonly beta?: number;
  /** Multiplier on it, default 1. */
  readonly exploration?: number;
}

/** Checks them, unknown ones too, and fills in defaults. */
export function parseConstantWidth(options: ConstantWidthSettings): Required<ConstantWidthSettings> {
  onlyKeys("options", options, [...gaussianProcessOptions, "beta", "exploration"]);
  return {
    ...parseGaussianProcess(options),
    beta: finiteNumber("beta", options.beta ?? 1, 0),
    exploration: finiteNumber("exploration", options.exploration ?? 1, 0),
  };
}
