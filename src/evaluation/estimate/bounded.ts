import type { Core } from "../../core/core.ts";
import type { Range } from "../../values/argument.ts";
import { type Estimate, ratioEstimate } from "./estimate.ts";

/** A decision or a list as far as its weight matters. */
export interface Weighed {
  /** Number of decisions for which it stands. For a list, times its examined places. */
  readonly count: number;
  readonly weight: number;
  /** The policy's probability of candidates that the log is known to lack. */
  readonly unsupported: number;
  /** Mean ratio of the other candidates, which the log could have taken instead. */
  readonly otherwise: number;
}

/** Whether a share of a policy's probability is all of it. */
export function isAll(share: number): boolean {
  return !(share < 1 - 1e-9);
}

/**
 * Share of the policy's probability that the log lacks beyond what it is known to lack. The mean weight is 1 where a log has all of it. This
 * is how far it is below 1, if chance does not explain that. `size`: the number of rows.
 */
export function missingShare(core: Core, size: number, rows: Iterable<Weighed>): number {
  if (size === 0) return 0;
  const [value, share, most] = [new Float64Array(size), new Float64Array(size), new Float64Array(size)];
  let i = 0;
  for (const { count, weight, unsupported, otherwise } of rows) {
    value[i] = count * (weight + unsupported);
    share[i] = count;
    most[i] = Math.max(count * (otherwise + unsupported), value[i]);
    i++;
  }
  // The lower end is not asked for, so nothing needs the least values.
  const { value: mean, high } = ratioEstimate(core, { value, least: value, most, share });
  return high < 1 ? 1 - mean : 0;
}

/** What limits an estimate. */
export interface Limits {
  /** Range of the reward. */
  readonly range: Range;
  /** Share of the policy's probability that the log lacks. */
  readonly lacked: number;
}

/**
 * An estimate within the range of rewards. Where the log lacks the policy's choices their rewards can be anything: `least` is the estimate
 * with the least possible ones, and `most` with the greatest. A log that lacks all of them gives the whole range and no value.
 */
export function bounded({ value }: Estimate, { least, most }: { least: number; most: number }, { range, lacked }: Limits): Estimate {
  if (isAll(lacked)) return { value: Number.NaN, low: range.min, high: range.max };
  const within = (each: number): number => Math.min(Math.max(each, range.min), range.max);
  return { value: within(value), low: within(least), high: within(most) };
}
