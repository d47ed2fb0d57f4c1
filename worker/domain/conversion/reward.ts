// The reward that the conversions of an impression make. The SDK's ledger folds them by the same rule.

import { type GoalOutcomes, goalOutcomes, toDyadic } from "afterclick/research";
import { MOST_AMOUNT } from "../../protocol/most.ts";
import type { AppendedImpression } from "../impression/impression.ts";
import { type Amounts, type Delays, NOTHING, type Outcome } from "../impression/outcome.ts";
import type { Appended, Policies } from "../model/policies.ts";
import { differences } from "../model/reconfiguration.ts";
import { amountsOf } from "./amounts.ts";
import type { ConversionStatus } from "./conversion.ts";
import type { GoalEvent } from "./event.ts";
import { countsZeros, isZero, type RewardRules } from "./silence.ts";

/** The reward of an impression, resolved from all its conversions. */
export interface ResolvedReward {
  /** Sum over the goals; 0 if all conversions were retracted. */
  readonly reward: number;
  /** Time from the impression to its first conversion that counts, in ms. Undefined if all conversions were retracted. */
  readonly delay: number | undefined;
  /** By goal. Absent if the model declares no goals. */
  readonly goals?: GoalOutcomes;
  /**
   * Time from the impression to each goal that it has reached, in ms. A goal whose order is refunded in full is not reached. The empty goal
   * has the first of those with a weight, without which the impression has not converted.
   */
  readonly delays: Delays;
  /** By goal with a value. Absent if the model declares no goals. */
  readonly amounts?: Readonly<Record<string, Amounts>>;
}

/** Whether an impression has converted. */
export const hasConverted = (delays: Delays): boolean => Object.hasOwn(delays, "");

/** A change of the outcome of an impression. `before`: null before the first conversion. */
export interface RewardChange {
  readonly impression: AppendedImpression;
  readonly before: ResolvedReward | null;
  readonly after: ResolvedReward;
}

/** A reward as it counts: rounded towards zero to a multiple of 2^-12, so that sums are exact. */
export const roundedReward = (reward: number): number => toDyadic(reward);

/** Whether any model can learn a reward. A retraction has none. */
export const isInRange = (reward: number | null): boolean => reward === null || Math.abs(reward) <= MOST_AMOUNT;

/** The conversions whose status makes them count. */
export function counting<Conversion extends { readonly status: ConversionStatus }>(conversions: readonly Conversion[]): Conversion[] {
  return conversions.filter(({ status }) => status === "applied" || status === "conflict");
}

/**
 * The reward of an impression by its conversions in any order; see `goalOutcomes`. Null before the first conversion: an early retraction
 * waits for the conversion that it retracts, and a refund for its order. Goals that a model does not declare any more do not count.
 */
export function resolved(all: readonly GoalEvent[], rules: RewardRules, shownAt: number): ResolvedReward | null {
  const { goals } = rules;
  const outcomes = goals ? all.filter(({ goal }) => Object.hasOwn(goals, goal)) : all;
  const paid = (event: GoalEvent): boolean =>
    event.reward !== null && !isZero(event, rules) && (event.reward > 0 || goals?.[event.goal]?.value === undefined);
  if (!outcomes.some(paid)) return null;
  const events = outcomes.map(({ event, ...outcome }) => ({ ...outcome, eventId: event }));
  const reached = goalOutcomes(events, { shownAt, goals, countsZeros: countsZeros(rules) });
  let [total, delay, first]: [number, number | undefined, number | undefined] = [0, undefined, undefined];
  const delays: [string, number][] = [];
  for (const [goal, own] of Object.entries(reached)) {
    total += goals ? toDyadic(goals[goal].weight * own.reward) : own.reward;
    delay = Math.min(delay ?? own.delay, own.delay);
    if (goals?.[goal].value && own.reward === 0) continue;
    if (goals) delays.push([goal, own.delay]);
    if (goals?.[goal].weight !== 0) first = Math.min(first ?? own.delay, own.delay);
  }
  if (first !== undefined) delays.unshift(["", first]);
  const common = { reward: total, delay, delays: Object.fromEntries(delays) };
  return goals ? { ...common, goals: reached, amounts: amountsOf(outcomes, goals) } : common;
}

/** The outcome that a resolved reward makes. Null: of no conversion. */
export function outcomeOf(resolved: ResolvedReward | null): Outcome {
  if (!resolved) return NOTHING;
  const { reward, delays, amounts = null } = resolved;
  const converted = hasConverted(delays);
  const reached = Object.keys(delays).length > 0;
  // A refunded order leaves the goals before it, and is taken back all the same.
  const waits = reached && !converted && !Object.values(amounts ?? {}).some(({ orders }) => orders > 0);
  return { reward, converted, waits, delays: reached ? delays : null, amounts };
}

/** Whether the policies have to observe a change from one outcome of an impression to another. */
export function differs(before: ResolvedReward | null, after: ResolvedReward | null): after is ResolvedReward {
  return after !== null && differences(before, after).length > 0;
}

/** Lets each policy observe a change. `impressions`: what the `append` of each policy returned, in the order of the policies. */
export function observeAll(
  policies: Policies,
  impressions: readonly Appended[],
  { before, after }: Pick<RewardChange, "before" | "after">,
): void {
  const outcome = {
    reward: after.reward,
    delay: { before: before?.delay, after: after.delay },
    ...(before && { previous: before.reward }),
    ...(after.goals && { goals: { before: before?.goals ?? {}, after: after.goals } }),
  };
  policies.forEach(({ policy }, place) => {
    policy.observe({ impression: impressions[place], ...outcome });
  });
}
