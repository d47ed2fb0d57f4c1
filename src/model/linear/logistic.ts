import type { Core } from "../../core/core.ts";

/** Farthest log-odds that are expanded about, at a rate of one in a million: what is nearly certain still counts. */
const FARTHEST = 13.8;

/** 1 / (1 + e^-x), the chance of a conversion whose log-odds are x. */
export function logistic(core: Core, logOdds: number): number {
  return 1 / (1 + core.exp(-logOdds));
}

/**
 * The log-likelihood of conversion or none, to second order about these log-odds e: its information w there, and the offset w e - p.
 * About log-odds farther out than all that matter it would take steps that lead yet farther, so e is held within those.
 * Its derivative at log-odds x is then y + offset - w x, y being 1 for a conversion.
 */
export function linearised(core: Core, logOdds: number): { readonly information: number; readonly offset: number } {
  const e = Math.min(Math.max(logOdds, -FARTHEST), FARTHEST);
  const p = logistic(core, e);
  const information = p * (1 - p);
  return { information, offset: information * e - p };
}
