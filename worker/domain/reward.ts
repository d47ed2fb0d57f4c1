import { toDyadic } from "../../publication/featurizer.ts";
import type { ConversionStatus } from "./conversion.ts";
import type { Outcome } from "./event.ts";
import type { ModelConfig } from "./model.ts";

/** Reward of an impression, resolved from all its conversions. */
export interface ResolvedReward {
  /** Sum over the goals; 0 if all conversions were retracted. */
  readonly reward: number;
  /** Whether a conversion of some goal is not retracted. */
  readonly converted: boolean;
}

/** A reward as it counts: rounded towards zero to a multiple of 2^-12, so that sums are exact. */
export const roundedReward = (reward: number): number => toDyadic(reward);

/** The conversions whose status makes them count. */
export function counting<Conversion extends { readonly status: ConversionStatus }>(conversions: readonly Conversion[]): Conversion[] {
  return conversions.filter(({ status }) => status === "applied" || status === "conflict");
}

/**
 * For each goal the event with the greatest (time, event name, reward) counts. A retraction ranks below every reward.
 * Null before the first conversion: an early retraction waits for the conversion that it retracts.
 */
export function resolved(outcomes: readonly Outcome[], goals: ModelConfig["goals"]): ResolvedReward | null {
  if (outcomes.every(({ reward }) => reward === null)) return null;
  const winners = new Map<string, Outcome>();
  for (const outcome of outcomes) {
    const winner = winners.get(outcome.goal);
    if (!winner || outranks(outcome, winner)) winners.set(outcome.goal, outcome);
  }
  const rewards = Array.from(winners.values()).flatMap(({ goal, reward }) => {
    if (reward === null) return [];
    return goals ? toDyadic(goals[goal].weight * reward) : reward;
  });
  return { reward: rewards.reduce((sum, reward) => sum + reward, 0), converted: rewards.length > 0 };
}

function outranks(a: Outcome, b: Outcome): boolean {
  if (a.at !== b.at) return a.at > b.at;
  if (a.event !== b.event) return a.event > b.event;
  return (a.reward ?? Number.NEGATIVE_INFINITY) > (b.reward ?? Number.NEGATIVE_INFINITY);
}
