import type { Core } from "../core/core.ts";
import { bounded, type Limits, missingShare } from "./estimate/bounded.ts";
import type { Estimate } from "./estimate/estimate.ts";
import { estimateOf, meanOf, type Part, type Row } from "./estimate/row.ts";
import type { MaturedLog } from "./log/matured-log.ts";

/** The estimators of a policy, each as a function that computes it. */
export interface Estimators {
  readonly logged: () => Estimate;
  readonly ips: () => Estimate;
  readonly snips: () => Estimate;
  readonly doublyRobust: () => Estimate;
}

/** Terms of the estimators. */
export const PARTS = {
  logged: { weight: () => 1 },
  ips: { weight: ({ weight }) => weight },
  snips: { weight: ({ weight }) => weight, share: ({ weight }) => weight },
  doublyRobust: {
    weight: ({ weight }) => weight,
    base: ({ weight, expected, expectedOfPolicy }) => expectedOfPolicy - weight * expected,
  },
} as const satisfies Record<string, Part<Row>>;

/**
 * Estimates of the rows' policy, and of the policy that made the log, within the range of rewards. `support`: the share of the policy's
 * probability that lies on actions which the log could have taken. The rewards of all others may be anything within the range.
 */
export function estimatorsOf(core: Core, rows: readonly Row[], log: MaturedLog): { support: number; estimators: Estimators } {
  const range = log.goals.reward;
  const known = meanOf(rows, ({ unsupported }) => unsupported);
  const missing = missingShare(core, rows);
  const lacked = Math.min(known + missing, 1);
  const limits: Limits = { range, lacked };
  const estimate = (part: Part<Row>): Estimate => estimateOf(core, rows, part, log);
  /** Ends of the interval if all actions that the rows lack bring the least or the greatest reward. `fixed`: a part of each row's base. */
  const ends = (part: Part<Row>, own: Estimate, fixed: (row: Row) => number): { least: number; most: number } => {
    if (known === 0) return { least: own.low, most: own.high };
    const assuming = (reward: number): Estimate =>
      estimate({ ...part, base: (row) => (part.base?.(row) ?? 0) + fixed(row) + row.unsupported * reward });
    return { least: assuming(range.min).low, most: assuming(range.max).high };
  };
  const { logged, ips, snips, doublyRobust } = PARTS;
  return {
    support: 1 - lacked,
    estimators: {
      logged: () => {
        const own = estimate(logged);
        return bounded(own, { least: own.low, most: own.high }, { ...limits, lacked: 0 });
      },
      ips: () => {
        const own = estimate(ips);
        const { least, most } = ends(ips, own, () => 0);
        return bounded(own, { least: least + missing * range.min, most: most + missing * range.max }, limits);
      },
      snips: () => {
        const own = estimate(snips);
        const least = (1 - lacked) * own.low + lacked * range.min;
        const most = (1 - lacked) * own.high + lacked * range.max;
        return bounded(own, { least, most }, limits);
      },
      doublyRobust: () => {
        const own = estimate(doublyRobust);
        const { least, most } = ends(doublyRobust, own, ({ expectedOfUnsupported }) => -expectedOfUnsupported);
        const reach = missing * (range.max - range.min);
        return bounded(own, { least: least - reach, most: most + reach }, limits);
      },
    },
  };
}
