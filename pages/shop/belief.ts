import type { ProductEvidence } from "./api.ts";
import { profileOf } from "./story.ts";

/** Standard normal quantile of a two-sided interval of 95 %. */
const Z = 1.96;

/**
 * The interval that holds a rate with a probability of 95 %, as a recommender that waits believes: it counts only impressions whose window has closed. Null without any.
 * **Source:** Wilson 1927, the score interval of a binomial rate.
 */
export function waitingBand({ impressions, converted }: ProductEvidence["closed"]): readonly [low: number, high: number] | null {
  if (impressions === 0) return null;
  const mean = converted / impressions;
  const shrunk = 1 + Z ** 2 / impressions;
  const centre = (mean + Z ** 2 / (2 * impressions)) / shrunk;
  const half = (Z * Math.sqrt((mean * (1 - mean)) / impressions + Z ** 2 / (4 * impressions ** 2))) / shrunk;
  return [Math.max(0, centre - half), Math.min(1, centre + half)];
}

/** Mean distance between estimates and the visitor's tastes. Null without estimates. */
export function errorOf(estimates: readonly ProductEvidence[], profile: string): number | null {
  if (estimates.length === 0) return null;
  const { tastes } = profileOf(profile);
  return estimates.reduce((sum, { id, belief }) => sum + Math.abs(belief.mean - tastes[id]), 0) / estimates.length;
}
