import type { Core } from "../core/core.ts";
import { bounded, type Limits, missingShare, type Weighed } from "./estimate/bounded.ts";
import type { Estimate } from "./estimate/estimate.ts";
import { estimateOf, meanOf, type Part } from "./estimate/row.ts";
import type { MaturedLog, SeenRewards } from "./log/matured-log.ts";

/** The estimators of a policy, each as a function that computes it. */
export interface Estimators {
  readonly logged: () => Estimate;
  readonly ips: () => Estimate;
  readonly snips: () => Estimate;
  readonly doublyRobust: () => Estimate;
}

/** The evaluated decisions, in columns. */
export interface Rows {
  readonly rewards: SeenRewards;
  /** The policy's probability of the action over the logged one. */
  readonly weight: Float64Array;
  /** By the reward model: the expected reward of the policy, less the weighed one of the action. */
  readonly correction: Float64Array;
  /** The policy's probability of candidates that the log could not have taken, and their part of its expected reward. */
  readonly unsupported: Float64Array;
  readonly expectedOfUnsupported: Float64Array;
  /** Mean ratio of the other candidates that the log could have taken. */
  readonly otherwise: Float64Array;
}

/** Terms of the estimators. */
export function termsOf({ weight, correction }: Pick<Rows, "weight" | "correction">) {
  const own = (row: number): number => weight[row];
  return {
    logged: { weight: () => 1 },
    ips: { weight: own },
    snips: { weight: own, share: own },
    doublyRobust: { weight: own, base: (row) => correction[row] },
  } satisfies Record<string, Part>;
}

/**
 * Estimates of the rows' policy, and of the policy that made the log, within the range of rewards. `support`: the share of the policy's
 * probability that lies on actions which the log could have taken. The rewards of all others may be anything within the range.
 */
export function estimatorsOf(core: Core, rows: Rows, log: MaturedLog): { support: number; estimators: Estimators } {
  const { rewards, unsupported, expectedOfUnsupported } = rows;
  const range = log.goals.reward;
  const known = meanOf(rewards, (row) => unsupported[row]);
  const missing = missingShare(core, rewards.length, weighed(rows));
  const lacked = Math.min(known + missing, 1);
  const limits: Limits = { range, lacked };
  const estimate = (part: Part): Estimate => estimateOf(core, rewards, part, log);
  /** Ends of the interval if all actions that the rows lack bring the least or the greatest reward. `fixed`: a part of each row's base. */
  const ends = (part: Part, own: Estimate, fixed: (row: number) => number): { least: number; most: number } => {
    if (known === 0) return { least: own.low, most: own.high };
    const assuming = (reward: number): Estimate =>
      estimate({ ...part, base: (row) => (part.base?.(row) ?? 0) + fixed(row) + unsupported[row] * reward });
    return { least: assuming(range.min).low, most: assuming(range.max).high };
  };
  const { logged, ips, snips, doublyRobust } = termsOf(rows);
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
        const { least, most } = ends(doublyRobust, own, (row) => -expectedOfUnsupported[row]);
        const reach = missing * (range.max - range.min);
        return bounded(own, { least: least - reach, most: most + reach }, limits);
      },
    },
  };
}

function* weighed({ rewards, weight, unsupported, otherwise }: Rows): Generator<Weighed> {
  for (let row = 0; row < rewards.length; row++)
    yield { count: rewards.countOf(row), weight: weight[row], unsupported: unsupported[row], otherwise: otherwise[row] };
}
