import { GROUP } from "../../core/core-process.ts";
import { NumericalError } from "../../values/errors.ts";
import type { DomainMoments } from "./domain-moments.ts";

/**
 * Means and deviations of a domain, computed for a group of points on request. While impressions are pending they come from two
 * processes: the process of the deviations then knows more impressions, so its deviations are at most those of the other.
 */
export interface LazyPosterior {
  readonly mean: DomainMoments;
  readonly deviation: DomainMoments;
  /** The greatest deviation before any impression. */
  readonly prior: number;
}

/** Rounding tolerance of a deviation, relative to the prior deviation. */
const ROUNDING = 1e-6;
/** Bounds are raised by this share of themselves, because scores are rounded. */
const SLACK = 1e-9;

/**
 * The candidate of greatest mean + multiplier deviation, the first among equals. It computes as few groups of candidates as it can.
 *
 * While a variance falls by w^2, the mean moves by at most w z, with z of `moved`. A score is hence at most its maximum over w, which is
 * mean + deviation sqrt(z^2 + multiplier^2). Groups whose bound is below the greatest score are not computed.
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
