// Folds the events of an impression into the goals that it has reached. Worker, commands and SDK share this rule.

import type { GoalOutcome, GoalOutcomes } from "../model/goals/goal.ts";
import type { Goals } from "./goals.ts";

/** An event of a goal. */
export interface GoalEvent {
  readonly goal: string;
  /** Identifies the event among those of its goal. */
  readonly eventId: string;
  /** When it happened, in ms since 1970. */
  readonly at: number;
  /** Null retracts earlier events of the goal. */
  readonly reward: number | null;
  /** Whether the amount replaces all earlier ones of a goal with a value. Otherwise it adds to them. */
  readonly restates?: boolean;
}

/**
 * The goals that an impression has reached, by its events in any order.
 *
 * Of each goal the event with the greatest (time, event id, reward) counts; a retraction has the least reward. Of a goal with a value the
 * amounts of all events count that are not taken back or restated, the greatest of each event id. Their sum is at least 0, and refunds
 * alone reach nothing. The delay of a goal is the time to its earliest event with a reward, so a correction does not change it.
 *
 * @param events of one impression.
 * @param options `shownAt`: the time of the impression, in ms since 1970. `goals`: those with a value matter.
 */
export function goalOutcomes(
  events: readonly GoalEvent[],
  { shownAt, goals }: { readonly shownAt: number; readonly goals?: Goals | null },
): GoalOutcomes {
  const hasAmounts = (goal: string): boolean => goals?.[goal]?.value !== undefined;
  return outcomesOf(events.toSorted(compareEvents), ({ at }) => at - shownAt, hasAmounts);
}

/** `goalOutcomes` of sorted events. `delayOf`: time from the impression. */
export function outcomesOf<Event extends GoalEvent>(
  sorted: readonly Event[],
  delayOf: (event: Event) => number,
  hasAmounts: (goal: string) => boolean,
): GoalOutcomes {
  // A plain object would lose a goal with the name __proto__.
  const outcomes = new Map<string, GoalOutcome>();
  /** Amounts of the present goal, by event. */
  const lines = new Map<string, number>();
  let delay = Number.POSITIVE_INFINITY;
  sorted.forEach((event, i) => {
    const { goal, eventId, reward, restates } = event;
    const amounts = hasAmounts(goal);
    if (reward === null || restates || !amounts) lines.clear();
    if (reward !== null) lines.set(eventId, reward);
    // The clock of a sender may be slow.
    if (reward !== null && (reward > 0 || !amounts)) delay = Math.min(delay, Math.max(delayOf(event), 0));
    if (sorted[i + 1]?.goal === goal) return;
    const rewards = [...lines.values()];
    if (rewards.some((each) => each > 0 || !amounts)) {
      const sum = rewards.reduce((total, each) => total + each, 0);
      outcomes.set(goal, { reward: amounts ? Math.max(sum, 0) : sum, delay });
    }
    delay = Number.POSITIVE_INFINITY;
    lines.clear();
  });
  return Object.fromEntries(outcomes);
}

/**
 * Orders events by goal, time, event id and reward, with a retraction as the least reward, and one that restates after one that adds.
 * Arrival does not matter.
 */
export function compareEvents(a: GoalEvent, b: GoalEvent): number {
  if (a.goal !== b.goal) return a.goal < b.goal ? -1 : 1;
  if (a.at !== b.at) return a.at - b.at;
  if (a.eventId !== b.eventId) return a.eventId < b.eventId ? -1 : 1;
  if (a.reward !== b.reward) return (a.reward ?? Number.NEGATIVE_INFINITY) - (b.reward ?? Number.NEGATIVE_INFINITY);
  return Number(a.restates ?? false) - Number(b.restates ?? false);
}

/** Time from the impression to its first conversion that counts. */
export function firstDelay(outcomes: GoalOutcomes): number | undefined {
  const delays = Object.values(outcomes).map(({ delay }) => delay);
  return delays.length > 0 ? Math.min(...delays) : undefined;
}
