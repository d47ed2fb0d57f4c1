import { isAll } from "./estimate/bounded.ts";
import { effectiveRewards, type Figure, stated } from "./estimate/enough.ts";
import type { Estimate } from "./estimate/estimate.ts";
import { type Row, weightsOf } from "./estimate/row.ts";
import { estimatorsOf } from "./estimators.ts";
import { tooYoung } from "./log/matured-log.ts";
import { type EvaluationRequest, weighedLog } from "./weighed-log.ts";

/** Expected reward per decision, by several estimators, each with a 95 % interval, or with the number of decisions that it needs. */
export interface Evaluation {
  readonly asOf: number;
  /** When the evaluated part begins, in ms since 1970. */
  readonly since: number;
  /**
   * Rewards of each goal count within this time of their impression, in ms: the window, or a shorter time if few conversions have been
   * followed for all of it.
   */
  readonly withinMs: Readonly<Record<string, number>>;
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
  /** The policy that made the log. */
  readonly logged: Figure;
  readonly ips: Figure;
  readonly snips: Figure;
  readonly doublyRobust: Figure;
}

/**
 * Estimates what a policy would have earned, from a log of the decisions of other policies. Some conversions may still be to come.
 *
 * Each arrived reward is multiplied by the ratio of the policy's probability of the action and the logged one (inverse propensity
 * scoring). The self-normalised estimate divides by the sum of these ratios. The doubly robust one applies them to the errors of a
 * reward model. Each reward is also divided by the probability that it has come by the age of its impression. Orders, later amounts and
 * refunds have delays of their own, and so have actions, drawn towards those of all as far as they are alike. The intervals allow for the
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
  const { log, since, matured, learnt, core, decisions, young: days, rows } = await weighedLog(request);
  const { support, estimators } = estimatorsOf(core, rows, matured);
  const { min, max } = matured.goals.reward;
  const rewards = { learnt: learnt.length > 0 ? learnt : rows, greatest: Math.max(-min, max) };
  const figure = (estimate: () => Estimate, weight: (row: Row) => number): Figure =>
    stated(estimate, { effective: effectiveRewards(rows, weight, rewards), size: log.length, of: "decisions" });
  const young = days > 0 ? tooYoung(days) : undefined;
  const whole = isAll(1 - support) && rows.length > 0;
  const ofPolicy = (estimate: () => Estimate): Figure => young ?? (whole ? estimate() : figure(estimate, ({ weight }) => weight));
  return {
    asOf: request.asOf,
    since,
    withinMs: matured.withinMs,
    decisions,
    immature: matured.immatureShares(rows),
    weights: weightsOf(rows),
    support,
    logged: young ?? figure(estimators.logged, () => 1),
    ips: ofPolicy(estimators.ips),
    snips: ofPolicy(estimators.snips),
    doublyRobust: ofPolicy(estimators.doublyRobust),
  };
}
