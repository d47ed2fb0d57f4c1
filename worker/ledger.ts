import { bucketEnd } from "./bucket.ts";
import type { ConversionEvent } from "./event-store.ts";
import type { LearnerStore, Movement } from "./learner-store.ts";
import { shownAtOf } from "./token.ts";

export type LedgerStatus = "applied" | "duplicate" | "late" | "conflict" | "orphan";

export interface Entry {
  readonly status: LedgerStatus;
  /** What the policy has to be told; absent if the reward stays the same. */
  readonly movement?: Movement;
}

/**
 * Enters a conversion within a transaction. By the rules of the SDK's ledger, over rows instead of memory, so that what a
 * learner holds in memory does not grow with what is pending.
 *
 * Whatever the order in which events come, the reward of an impression ends up the same.
 */
export function enter(store: LearnerStore, event: ConversionEvent, windowMs: number): Entry {
  const earlier = store.conversions(event.impression);
  if (earlier.some((other) => isSame(other, event))) {
    store.count("duplicate");
    return { status: "duplicate" };
  }
  const shownAt = shownAtOf(event.impression);
  if (bucketEnd(shownAt, windowMs) <= store.watermark) {
    // Not stored: what is below the watermark is over, and its rows are about to go.
    store.count("late");
    return { status: "late" };
  }
  const impression = store.impression(event.impression);
  const status = !impression
    ? "orphan"
    : event.at - shownAt > windowMs
      ? "late"
      : earlier.some(({ goal, event: name, status }) => goal === event.goal && name === event.event && status !== "late")
        ? "conflict"
        : "applied";
  store.addConversion(event, status);
  if (!impression || status === "late") return { status };
  const total = totalReward([...earlier.filter((other) => other.status !== "late"), event]);
  const movement = store.moveReward(impression, total);
  return movement.previous === total ? { status } : { status, movement };
}

/** Whether this very event is stored. */
export function isKnown(store: LearnerStore, event: ConversionEvent): boolean {
  return store.conversions(event.impression).some((other) => isSame(other, event));
}

function isSame(a: ConversionEvent, b: ConversionEvent): boolean {
  return a.goal === b.goal && a.event === b.event && a.at === b.at && a.reward === b.reward;
}

/** Enters the conversions that came before their impression did. */
export function joinOrphans(store: LearnerStore, impression: string, windowMs: number): Entry[] {
  return store.removeOrphans(impression).map((event) => enter(store, event, windowMs));
}

/** Sum over goals of the reward of the event with the greatest (time, event, reward). */
function totalReward(events: readonly ConversionEvent[]): number {
  const winners = new Map<string, ConversionEvent>();
  for (const event of events) {
    const winner = winners.get(event.goal);
    if (!winner || outranks(event, winner)) winners.set(event.goal, event);
  }
  let total = 0;
  for (const { reward } of winners.values()) total += reward;
  return total;
}

function outranks(a: ConversionEvent, b: ConversionEvent): boolean {
  if (a.at !== b.at) return a.at > b.at;
  if (a.event !== b.event) return a.event > b.event;
  return a.reward > b.reward;
}
