import type { GoalOutcome, GoalOutcomes } from "afterclick";
import { toDyadic } from "../../publication/featurizer.ts";
import type { ConversionStatus } from "./conversion.ts";
import type { Outcome } from "./event.ts";
import type { Goals } from "./goals.ts";
import type { AppendedImpression } from "./impression.ts";
import type { Appended, Policies } from "./policies.ts";
import { differences } from "./reconfiguration.ts";

/** What an impression has brought, resolved from all its conversions. */
export interface ResolvedReward {
  /** Sum over the goals; 0 if all conversions were retracted. */
  readonly reward: number;
  /** Time from the impression to its first conversion that counts, in ms. Undefined if all conversions were retracted. */
  readonly delay: number | undefined;
  /** By goal. Absent if the model declares no goals. */
  readonly goals?: GoalOutcomes;
}

/** A change of what an impression has brought. `before`: null before the first conversion. */
export interface RewardChange {
  readonly impression: AppendedImpression;
  readonly before: ResolvedReward | null;
  readonly after: ResolvedReward;
}

/** A reward as it counts: rounded towards zero to a multiple of 2^-12, so that sums are exact. */
export const roundedReward = (reward: number): number => toDyadic(reward);

/** The conversions whose status makes them count. */
export function counting<Conversion extends { readonly status: ConversionStatus }>(conversions: readonly Conversion[]): Conversion[] {
  return conversions.filter(({ status }) => status === "applied" || status === "conflict");
}

/**
 * For each goal the event with the greatest (time, event name, reward) counts. A retraction ranks below every reward. The delay of a goal
 * that counts is the time to its earliest event with a reward, so a correction of the reward does not change it.
 * Null before the first conversion: an early retraction waits for the conversion that it retracts.
 */
export function resolved(outcomes: readonly Outcome[], goals: Goals | null, shownAt: number): ResolvedReward | null {
  if (outcomes.every(({ reward }) => reward === null)) return null;
  const counted = new Map<string, GoalOutcome>();
  for (const [goal, events] of Map.groupBy(outcomes, ({ goal }) => goal)) {
    const { reward } = events.reduce((winner, event) => (outranks(event, winner) ? event : winner));
    if (reward === null) continue;
    const first = events.reduce(
      (earliest, each) => (each.reward === null ? earliest : Math.min(earliest, each.at)),
      Number.POSITIVE_INFINITY,
    );
    // The clock of a sender may be slow.
    counted.set(goal, { reward, delay: Math.max(first - shownAt, 0) });
  }
  let [total, delay]: [number, number | undefined] = [0, undefined];
  for (const [goal, own] of counted) {
    total += goals ? toDyadic(goals[goal].weight * own.reward) : own.reward;
    delay = Math.min(delay ?? own.delay, own.delay);
  }
  return { reward: total, delay, ...(goals && { goals: Object.fromEntries(counted) }) };
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

function outranks(a: Outcome, b: Outcome): boolean {
  if (a.at !== b.at) return a.at > b.at;
  if (a.event !== b.event) return a.event > b.event;
  return (a.reward ?? Number.NEGATIVE_INFINITY) > (b.reward ?? Number.NEGATIVE_INFINITY);
}
