import { GROUP } from "../../core/core.ts";
import { NumericalError } from "../../errors.ts";
import type { LazyMoments } from "./lazy-moments.ts";

/**
 * Where means and deviations come from: of the same process unless some impressions are pending, in which case the deviations are
 * at most those of the process of the means, which knows fewer.
 */
export interface LazyPosterior {
  readonly mean: LazyMoments;
  readonly deviation: LazyMoments;
  /** The greatest deviation before anything was seen. */
  readonly prior: number;
}

/** Of the prior's deviation, so much may rounding make of a deviation that is none. */
const ROUNDING = 1e-6;
/** Bounds are raised by this share of themselves, as scores are rounded. */
const SLACK = 1e-9;

/**
 * The candidate of greatest mean + multiplier deviation, the first among equals, from as few groups of candidates as it takes.
 *
 * While a variance falls by w^2 a mean moves by w z at most, so a score is at most what it is for the w that makes it greatest:
 * mean + deviation sqrt(z^2 + multiplier^2). Groups where that is below the greatest score are left as they were.
 * @throws {NumericalError} code `not-a-number`.
 */
export function upperConfidenceLeader({ mean, deviation, prior }: LazyPosterior, multiplier: number): { index: number; score: number } {
  const bounds = mean.moved().map((moved, group) => {
    if (!(moved < Infinity)) return Infinity;
    const factor = Math.sqrt(moved * moved + multiplier * multiplier);
    let bound = Number.NEGATIVE_INFINITY;
    for (let i = group * GROUP; i < Math.min((group + 1) * GROUP, mean.mean.length); i++) {
      bound = Math.max(bound, mean.mean[i] + factor * (mean.deviation[i] + ROUNDING * prior));
    }
    return bound + SLACK * Math.abs(bound);
  });
  let leader = { index: -1, score: Number.NEGATIVE_INFINITY };
  const visit = (group: number): void => {
    mean.bring(group);
    deviation.bring(group);
    for (let index = group * GROUP; index < Math.min((group + 1) * GROUP, mean.mean.length); index++) {
      const score = mean.mean[index] + multiplier * deviation.deviation[index];
      if (Number.isNaN(score)) throw new NumericalError("not-a-number", "a candidate's score is not a number");
      if (score > leader.score || (score === leader.score && index < leader.index)) leader = { index, score };
    }
  };
  const first = bounds.reduce((most, each, group) => (each > bounds[most] ? group : most), 0);
  visit(first);
  for (let group = 0; group < bounds.length; group++) if (group !== first && !(bounds[group] < leader.score)) visit(group);
  return leader;
}
