import type { Core } from "../core/core.ts";

/** Least variance of a conversion that is counted with: what is nearly certain still counts. */
const LEAST_VARIANCE = 1e-6;

/** 1 / (1 + e^-x), the chance of a conversion whose log-odds are x. */
export function logistic(core: Core, logOdds: number): number {
  return 1 / (1 + core.exp(-logOdds));
}

/**
 * The log-likelihood of conversion or none, to second order about these log-odds e: its information w there, and the offset w e - p.
 * Its derivative at log-odds x is then y + offset - w x, y being 1 for a conversion.
 */
export function linearised(core: Core, logOdds: number): { readonly information: number; readonly offset: number } {
  const p = logistic(core, logOdds);
  const information = Math.max(p * (1 - p), LEAST_VARIANCE);
  return { information, offset: information * logOdds - p };
}
