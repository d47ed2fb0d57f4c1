// The value of a policy by a log of decisions of other policies: several estimators, and when each may be stated.

import { grouped } from "../values/grouped.ts";
import { isTooFew } from "../values/too-few.ts";
import { isAll } from "./estimate/bounded.ts";
import { effectiveRewards, type Figure, isEnough, stated } from "./estimate/enough.ts";
import type { Estimate } from "./estimate/estimate.ts";
import { weightsOf } from "./estimate/row.ts";
import { type Estimators, estimatorsOf } from "./estimators.ts";
import { tooYoung } from "./log/matured-log.ts";
import { type EvaluationRequest, type WeighedLog, weighedLog } from "./weighed-log.ts";

/** Expected reward per decision, by several estimators. */
interface Figures {
  /** The policy that made the log. */
  readonly logged: Figure;
  readonly ips: Figure;
  readonly snips: Figure;
  readonly doublyRobust: Figure;
}

/** The value of a policy, by figures each with a 95 % interval, or with the number of decisions that it needs. */
export interface Evaluation extends Figures {
  readonly asOf: number;
  /** When the evaluated part begins, in ms since 1970. */
  readonly since: number;
  /**
   * Rewards of each goal count within this time of their impression, in ms: the window, or a shorter time if few conversions have been
   * followed for all of it.
   */
  readonly withinMs: Readonly<Record<string, number>>;
  /**
   * Whether the delays of the log differ between actions, and between its older and its younger half, by tests at about 5 %. Laws by action
   * allow for the first. Where delays have changed in time, `windows: "closed"` has the figures that need no law.
   */
  readonly delaysDiffer: { readonly byProduct: boolean; readonly byTime: boolean };
  /** Decisions learnt from, decisions evaluated, and decisions too young to be evaluated. */
  readonly decisions: { readonly learnt: number; readonly evaluated: number; readonly tooYoung: number };
  /** Share of the evaluated decisions that may still convert, and the expected share of conversions that are still to come. */
  readonly immature: { readonly decisions: number; readonly conversions: number };
  /** Ratios of the policy's probability and the logged one. */
  readonly weights: { readonly mean: number; readonly greatest: number; readonly effective: number };
  /**
   * Share of the policy's probability on actions that the log could have taken. Intervals reach as far as the rewards of all others can be.
   * At 0 they are the whole range of rewards, without a value.
   */
  readonly support: number;
  /**
   * The figures if rewards above `cap` count as `cap`. Given where a few great amounts leave the whole rewards too few. The cap is a quantile
   * of the learnt rewards.
   */
  readonly capped?: Figures & { readonly cap: number };
}

/**
 * Estimates what a policy would have earned, from a log of the decisions of other policies. Some conversions may still be to come.
 *
 * Each arrived reward is multiplied by the ratio of the policy's probability of the action and the logged one (inverse propensity
 * scoring). The self-normalised estimate divides by the sum of these ratios. The doubly robust one applies them to the errors of a
 * reward model. Each reward is also divided by the probability that it has come by the age of its impression. Orders, later amounts and
 * refunds have delays of their own, and so have actions if a test tells them apart. The intervals allow for the
 * errors of these probabilities, unless `maturity` is given.
 *
 * **Cost:** per decision that of the policy, and O(k d^2) for the reward model.
 *
 * **Source:** Horvitz and Thompson 1952; Swaminathan and Joachims, NeurIPS 2015; Dudik, Langford and Li, ICML 2011.
 *
 * @example
 * const { doublyRobust } = await evaluate({ log, policy: otfLinTs({ dimension: 8 }), window: { ms: 86_400_000 }, asOf });
 * @throws {TypeError | RangeError} naming the argument.
 * @throws {UnsupportedError} code `no-probability` if the policy chooses in its own domain, or does not know its probabilities.
 */
export async function evaluate(request: EvaluationRequest): Promise<Evaluation> {
  const weighed = await weighedLog(request);
  const { size, since, matured, core, decisions, young: days, rows } = weighed;
  const { support, estimators } = estimatorsOf(core, rows, matured);
  const young = days > 0 ? tooYoung(days) : undefined;
  const whole = isAll(1 - support) && rows.rewards.length > 0;
  const figuresOf = (rewards: WeighedRewards, { logged, ips, snips, doublyRobust }: Estimators): Figures => {
    const figure = (estimate: () => Estimate, weight: (row: number) => number): Figure =>
      young ?? stated(estimate, { effective: effectiveOf(rewards, weight), size, of: "decisions" });
    const ofRow = (row: number): number => rows.weight[row];
    const ofPolicy = (estimate: () => Estimate): Figure => (whole && !young ? estimate() : figure(estimate, ofRow));
    return { logged: figure(logged, () => 1), ips: ofPolicy(ips), snips: ofPolicy(snips), doublyRobust: ofPolicy(doublyRobust) };
  };
  const figures = figuresOf(weighed, estimators);
  const isMissing = !young && [figures.logged, figures.ips].some(isTooFew);
  const cap = isMissing ? greatestCap(weighed) : undefined;
  return {
    asOf: request.asOf,
    since,
    withinMs: matured.withinMs,
    delaysDiffer: matured.delaysDiffer(),
    decisions,
    immature: matured.immatureShares(rows.rewards),
    weights: weightsOf(rows.rewards, rows.weight),
    support,
    ...figures,
    ...(cap && {
      capped: { cap: cap.at, ...figuresOf(cap.rewards, estimatorsOf(core, cap.rewards.rows, cap.rewards.matured).estimators) },
    }),
  };
}

type WeighedRewards = ReturnType<WeighedLog["capped"]>;

function effectiveOf({ rows, learnt, matured }: WeighedRewards, weight: (row: number) => number): number {
  const { min, max } = matured.goals.reward;
  const { rewards } = rows;
  return effectiveRewards(rewards, weight, { learnt: learnt.length > 0 ? learnt : rewards, greatest: Math.max(-min, max) });
}

/** Shares of the rewards of the learnt part that a cap leaves alone. */
const LEFT_ALONE = [0.99, 0.95, 0.9, 0.75, 0.5];

/** The greatest cap under which the log has enough effective rewards. It depends on the learnt part alone. */
function greatestCap({ learnt, capped }: WeighedLog): { readonly at: number; readonly rewards: WeighedRewards } | undefined {
  const sums = Array.from(grouped(learnt.seen, ({ row }) => row).values(), (rewards) =>
    rewards.reduce((sum, { reward }) => sum + reward, 0),
  );
  const seen = sums.filter((reward) => reward > 0).sort((a, b) => a - b);
  const caps = new Set(LEFT_ALONE.map((share) => seen[Math.floor(share * seen.length)]));
  for (const at of caps) {
    if (at === undefined || at === seen[seen.length - 1]) continue;
    const rewards = capped(at);
    if (isEnough(effectiveOf(rewards, (row) => rewards.rows.weight[row])) && isEnough(effectiveOf(rewards, () => 1)))
      return { at, rewards };
  }
  return undefined;
}
