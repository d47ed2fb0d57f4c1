import type { Outcome } from "../kv/event-journal.ts";
import type { RowStatus } from "../learner/store/conversion-store.ts";
import { type ModelConfig, toDyadic } from "./model.ts";

/** What the conversions of an impression come to. */
export interface Worth {
  /** Sum over its goals; 0 if all of them were taken back. */
  readonly reward: number;
  /** Whether a goal counts that was not taken back. */
  readonly converted: boolean;
}

/** The conversions of an impression that count. */
export function counting<Conversion extends { readonly status: RowStatus }>(conversions: readonly Conversion[]): Conversion[] {
  return conversions.filter(({ status }) => status === "applied" || status === "conflict");
}

/**
 * Of each goal the event with the greatest (time, event, reward) counts, a retraction being the least reward.
 * Null before the first conversion: a retraction that comes first waits for what it retracts.
 */
export function worthOf(outcomes: readonly Outcome[], goals: ModelConfig["goals"]): Worth | null {
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
