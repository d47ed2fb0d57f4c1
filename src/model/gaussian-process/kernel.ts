// Kernels as plain values, and their checks. The core computes them.

import {
  ADDITIVE_MATERN32,
  KERNEL_IDS as CONTEXT_STEP,
  LINEAR,
  MATERN12,
  MATERN32,
  MATERN52,
  SQUARED_EXPONENTIAL,
} from "../../../assembly/abi.ts";
import type { KernelSpec } from "../../core/core.ts";
import { finiteNumber, oneOf, onlyKeys, outOfRange, positiveNumber, record, wholeNumber, wrongType } from "../../values/argument.ts";

const KERNEL_IDS = {
  "squared-exponential": SQUARED_EXPONENTIAL,
  matern12: MATERN12,
  matern32: MATERN32,
  matern52: MATERN52,
  linear: LINEAR,
  "additive-matern32": ADDITIVE_MATERN32,
} as const;

type KernelName = keyof typeof KERNEL_IDS;

/** A covariance function as a plain value. r = |(x - x') / lengthscale| in the formulas below. */
export interface Kernel {
  readonly name: KernelName;
  /** One for all features, or one per feature, in units of the feature. */
  readonly lengthscale: number | readonly number[];
  /** Signal variance, in units of the reward squared. */
  readonly variance: number;
  /** Variance of the intercept: of the linear kernel as it is, of the additive kernel in units of `variance`. */
  readonly bias: number;
  /** For the additive kernel: the number of context features, which come first. */
  readonly context?: number;
}

export interface KernelOptions {
  /** Default 1. */
  readonly lengthscale?: number | readonly number[];
  /** Default 1. */
  readonly variance?: number;
}

function kernel(name: KernelName, options: KernelOptions & { bias?: number; context?: number }): Kernel {
  return parseKernel("kernel", { lengthscale: 1, variance: 1, bias: 0, ...options, name });
}

/** k = variance exp(-r^2 / 2). */
export const squaredExponential = (options: KernelOptions = {}): Kernel => kernel("squared-exponential", options);
/** k = variance exp(-r). */
export const matern12 = (options: KernelOptions = {}): Kernel => kernel("matern12", options);
/** k = variance (1 + sqrt(3) r) exp(-sqrt(3) r). */
export const matern32 = (options: KernelOptions = {}): Kernel => kernel("matern32", options);
/** k = variance (1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r). */
export const matern52 = (options: KernelOptions = {}): Kernel => kernel("matern52", options);
/** k = variance <x / lengthscale, x' / lengthscale> + bias. */
export const linear = (options: KernelOptions & { readonly bias?: number } = {}): Kernel => kernel("linear", options);
/**
 * k = variance (bias + c + a + c a), where c and a are the correlations of `matern32` between the contexts and between the actions.
 * The posterior thus separates the effect of a context, the effect of an action, and their interaction.
 */
export const additiveMatern32 = (options: KernelOptions & { readonly bias?: number; readonly context?: number } = {}): Kernel =>
  kernel("additive-matern32", { context: 0, ...options });

/**
 * Checks a kernel from untyped data, such as JSON.
 * @throws {TypeError | RangeError} naming the field.
 */
export function parseKernel(argument: string, value: unknown): Kernel {
  const given = record(argument, value);
  onlyKeys(argument, given, ["name", "lengthscale", "variance", "bias", "context"]);
  const { lengthscale = 1 } = given;
  let parsed: number | number[];
  if (typeof lengthscale === "number") parsed = length(`${argument}.lengthscale`, lengthscale);
  else if (Array.isArray(lengthscale)) parsed = Array.from(lengthscale, (value, i) => length(`${argument}.lengthscale[${i}]`, value));
  else throw wrongType(`${argument}.lengthscale`, "a number or an array of numbers", lengthscale);
  const name = oneOf(`${argument}.name`, given.name, Object.keys(KERNEL_IDS) as KernelName[]);
  const additive = name === "additive-matern32";
  if (!additive && given.context !== undefined) throw outOfRange(`${argument}.context`, `none for ${name}`, given.context);
  return {
    name,
    lengthscale: parsed,
    variance: positiveNumber(`${argument}.variance`, given.variance ?? 1),
    bias: finiteNumber(`${argument}.bias`, given.bias ?? 0, 0),
    ...(additive && { context: wholeNumber(`${argument}.context`, given.context ?? 0, 0, 4096) }),
  };
}

/** A lengthscale that is fitted may become several times as long, and still be a number. */
const length = (name: string, value: unknown): number => finiteNumber(name, positiveNumber(name, value), 0, 1e100);

/**
 * The kernel as the core takes it.
 * @throws {RangeError} for an array of lengthscales of another length than `dimension`.
 */
export function kernelSpec(kernel: Kernel, dimension: number): KernelSpec {
  const { lengthscale, context = 0 } = kernel;
  const perFeature = typeof lengthscale === "number" ? new Float64Array(dimension).fill(lengthscale) : Float64Array.from(lengthscale);
  if (perFeature.length !== dimension) {
    throw new RangeError(`kernel.lengthscale: expected one number or ${dimension}, got ${perFeature.length}`);
  }
  if (context > dimension) throw outOfRange("kernel.context", `at most ${dimension}, the dimension`, context);
  return {
    kernel: KERNEL_IDS[kernel.name] + CONTEXT_STEP * context,
    variance: kernel.variance,
    bias: kernel.bias,
    lengthscale: perFeature,
  };
}
