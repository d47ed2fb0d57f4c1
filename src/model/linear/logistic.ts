import type { Core } from "../../core/core.ts";

/** 1 / (1 + e^-x): the chance of an event whose log-odds are x. */
export function logistic(core: Core, logOdds: number): number {
  return 1 / (1 + core.exp(-logOdds));
}
