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
  /** Null retracts earlier events of the goal. 0 is the reward of silence: it takes back the event's own earlier rewards alone. */
  readonly reward: number | null;
  /** Whether the amount replaces all earlier ones of a goal with a value. Otherwise it adds to them. A 0 of any goal may do so. */
  readonly restates?: boolean;
}

/**
 * The goals that an impression has reached, by its events in any order.
 *
 * Of each goal the event with the greatest (time, event id, reward) counts; a retraction has the least reward. Of a goal with a value the
 * amounts of all events count that are not taken back or restated, the greatest of each event id. Their sum is at least 0, and refunds
 * alone reach nothing. The delay of a goal is the time to its earliest event with a reward, so a correction does not change it.
 *
 * A reward of 0 is what an impression without events has. It takes back the earlier rewards of its event id. Without any it says nothing.
 *
 * @param events of one impression.
 * @param options `shownAt`: the time of the impression, in ms since 1970. `goals`: those with a value matter. `countsZeros`: whether a
 * reward of 0 counts as any other, because the policy `countsZeros`. Default false.
 */
export function goalOutcomes(
  events: readonly GoalEvent[],
  { shownAt, goals, countsZeros }: { readonly shownAt: number; readonly goals?: Goals | null; readonly countsZeros?: boolean },
): GoalOutcomes {
  const hasAmounts = (goal: string): boolean => goals?.[goal]?.value !== undefined;
  const isZero = ({ reward }: GoalEvent): boolean => reward === 0 && !countsZeros;
  return outcomesOf(events.toSorted(compareEvents), { delayOf: ({ at }) => at - shownAt, hasAmounts, isZero });
}

/** The part of a goal's rules that the fold of its events needs. */
interface Folding<Event> {
  /** Time from the impression. */
  delayOf(event: Event): number;
  hasAmounts(goal: string): boolean;
  /** Whether an event has the reward that silence has. */
  isZero(event: Event): boolean;
}

/** `goalOutcomes` of sorted events. */
export function outcomesOf<Event extends GoalEvent>(
  sorted: readonly Event[],
  { delayOf, hasAmounts, isZero }: Folding<Event>,
): GoalOutcomes {
  // A plain object would lose a goal with the name __proto__.
  const outcomes = new Map<string, GoalOutcome>();
  /** Rewards of the present goal that stand, by event. Those that are no amounts are in order of time, and the last one counts. */
  const lines = new Map<string, number>();
  let delay = Number.POSITIVE_INFINITY;
  sorted.forEach((event, i) => {
    const { goal, eventId, reward, restates } = event;
    const amounts = hasAmounts(goal);
    if (reward === null || restates) lines.clear();
    else if (!amounts || isZero(event)) lines.delete(eventId);
    if (reward !== null && !isZero(event)) {
      lines.set(eventId, reward);
      // The clock of a sender may be slow.
      if (reward > 0 || !amounts) delay = Math.min(delay, Math.max(delayOf(event), 0));
    }
    if (sorted[i + 1]?.goal === goal) return;
    const rewards = [...lines.values()];
    if (rewards.some((each) => each > 0 || !amounts)) {
      const sum = rewards.reduce((total, each) => total + each, 0);
      outcomes.set(goal, { reward: amounts ? Math.max(sum, 0) : rewards[rewards.length - 1], delay });
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
