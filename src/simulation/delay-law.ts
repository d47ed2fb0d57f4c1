import { type RandomLogNormal, randomGeometric, randomLogNormal, randomPoisson } from "d3-random";
import { cumulative, type Stream } from "./stream.ts";

/** Distribution of the delay of feedback, in rounds. `Infinity` means that the feedback never comes. */
export interface DelayLaw {
  readonly name: string;
  draw(random: Stream): number;
  /** P(delay = k). */
  pmf(k: number): number;
  /** P(delay <= m). */
  cdf(m: number): number;
}

/** A constant delay. If it is infinite, feedback never comes. */
export function fixed(delay: number): DelayLaw {
  return {
    name: delay === Number.POSITIVE_INFINITY ? "never" : `fixed ${delay}`,
    draw: () => delay,
    pmf: (k) => Number(k === delay),
    cdf: (m) => Number(m >= delay),
  };
}

/** Geometric distribution on {1, 2, ...}. */
export function geometric(mean: number): DelayLaw {
  return {
    name: `geometric ${mean}`,
    draw: (random) => randomGeometric.source(random)(1 / mean)(),
    pmf: (k) => (k < 1 ? 0 : Math.exp((k - 1) * Math.log1p(-1 / mean)) / mean),
    cdf: (m) => (m < 1 ? 0 : -Math.expm1(Math.floor(m) * Math.log1p(-1 / mean))),
  };
}

/** Poisson distribution on {0, 1, ...}. */
export function poisson(mean: number): DelayLaw {
  const pmf = (k: number): number => {
    let log = -mean + k * Math.log(mean);
    for (let i = 2; i <= k; i++) log -= Math.log(i);
    return Math.exp(log);
  };
  return {
    name: `Poisson ${mean}`,
    draw: (random) => randomPoisson.source(random)(mean)(),
    pmf,
    cdf: (m) => Array.from({ length: Math.max(0, Math.floor(m) + 1) }, (_, k) => pmf(k)).reduce((sum, each) => sum + each, 0),
  };
}

/** Uniform distribution on {0, ..., 2 mean}. */
export function uniformDelay(mean: number): DelayLaw {
  const count = 2 * mean + 1;
  const cdf = (m: number): number => Math.min(Math.max(Math.floor(m) + 1, 0), count) / count;
  return {
    name: `uniform ${mean}`,
    draw: (random) => random.below(count),
    pmf: (k) => cdf(k) - cdf(k - 1),
    cdf,
  };
}

/** Mixture of log-normal distributions, rounded down to whole rounds. `mu` and `sigma` describe the logarithm. */
export function logNormalMixture(parts: readonly { readonly weight: number; readonly mu: number; readonly sigma: number }[]): DelayLaw {
  const total = parts.reduce((sum, { weight }) => sum + weight, 0);
  const cdf = (m: number): number => {
    const below = Math.log(Math.floor(m) + 1);
    return m < 0 ? 0 : parts.reduce((sum, { weight, mu, sigma }) => sum + (weight / total) * normalCdf((below - mu) / sigma), 0);
  };
  return {
    name: "log-normal mixture",
    draw(random) {
      const lot = random() * total;
      const part = parts[cumulative(parts.map(({ weight }) => weight)).findIndex((sum) => sum > lot)];
      const law: RandomLogNormal = randomLogNormal.source(random);
      return Math.floor(law(part.mu, part.sigma)());
    },
    pmf: (k) => cdf(k) - cdf(k - 1),
    cdf,
  };
}

/** Standard normal distribution function by Simpson's rule with 400 steps, accurate to 1e-12. */
function normalCdf(x: number): number {
  const steps = 400;
  const bound = Math.min(Math.abs(x), 9);
  const height = bound / steps;
  let sum = 0;
  for (let i = 0; i <= steps; i++) {
    const weight = i === 0 || i === steps ? 1 : i % 2 === 1 ? 4 : 2;
    sum += weight * Math.exp(-((i * height) ** 2) / 2);
  }
  const half = (sum * height) / 3 / Math.sqrt(2 * Math.PI);
  return x < 0 ? 0.5 - half : 0.5 + half;
}
