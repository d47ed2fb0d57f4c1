import type { DelayEstimate } from "afterclick/research";
import { expect } from "vitest";

/** A figure, or how many conversions whose window has closed it needs more. */
export function orTooFew({ closed }: DelayEstimate, needed: number, figure: number, digits = 9): unknown {
  const more = Math.max(1, Math.ceil(needed - closed));
  return closed >= needed ? expect.closeTo(figure, digits) : { tooFew: { more, of: "conversions whose window has closed" } };
}

/**
 * The figures that the worker should state, from an estimate that was fed with the log until a moment. Moves its clock on to that.
 * `later`: number of impressions shown after it.
 */
export function delayFigures(estimate: DelayEstimate, moment = Date.now(), later = 0): object {
  const open = estimate.toComeInterval(moment);
  const { rate, low, high } = estimate.rateInterval();
  const near = (value: number) => expect.closeTo(value, 4);
  const few = (needed: number, figure: number) => orTooFew(estimate, needed, figure);
  return {
    conversions: estimate.conversions,
    followedMs: expect.closeTo(estimate.followed, 9),
    // Groups of products are known by their steps only.
    rate: near(rate),
    rateInterval: [near(low), near(high)],
    toCome: expect.closeTo(open.expected + rate * later, 3),
    toComeInterval: later > 0 ? [expect.any(Number), expect.any(Number)] : [expect.closeTo(open.low, 3), expect.closeTo(open.high, 3)],
    window95Ms: few(50, estimate.quantile()),
    quantiles: [0.25, 0.5, 0.75, 0.9, 0.95].map((share, i) => ({ share, delayMs: few([10, 5, 10, 25, 50][i], estimate.quantile(share)) })),
  };
}
