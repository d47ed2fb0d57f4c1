import { bucketEnd } from "../domain/bucket.ts";
import type { ModelConfig } from "../domain/model.ts";
import { counting, worthOf } from "../domain/reward.ts";
import { shownAtOf } from "../domain/token.ts";
import type { ConversionEvent, Outcome } from "../kv/event-journal.ts";
import type { Movement } from "./store/conversion-store.ts";
import type { StoredImpression } from "./store/impression-store.ts";
import type { LearnerStore } from "./store/learner-store.ts";

export type LedgerStatus = "applied" | "duplicate" | "late" | "conflict" | "orphan";

export interface Entry {
  readonly status: LedgerStatus;
  /** What the policy has to be told; absent if the reward stays the same. */
  readonly movement?: Movement;
}

/** What of a configuration the ledger goes by. */
export type Rules = Pick<ModelConfig, "window" | "goals" | "reward">;

/** Whence an event comes, if it was not just delivered: from a log, for which closed books stay open, unless it was late there. */
export type Logged = "in time" | "late";

/**
 * Enters a conversion within a transaction. By the rules of the SDK's ledger, over rows instead of memory, so that what a
 * learner holds in memory does not grow with what is pending.
 *
 * Whatever the order in which events come, the reward of an impression ends up the same.
 */
export function enter(store: LearnerStore, event: ConversionEvent, rules: Rules, logged?: Logged): Entry {
  const earlier = store.conversions.of(event.impression);
  if (earlier.some((other) => isSame(other, event))) {
    store.count("duplicate");
    return { status: "duplicate" };
  }
  const shownAt = shownAtOf(event.impression);
  if (shownAt < store.horizon) {
    // Not stored: nothing is kept of that time, by which a repetition could be told.
    store.count("late");
    return { status: "late" };
  }
  const impression = store.impressions.find(event.impression);
  const closed = logged ? logged === "late" : bucketEnd(shownAt, rules.window.ms) <= store.watermark;
  const live = impression?.state === "live";
  const counts = counting(earlier);
  let status: LedgerStatus = "applied";
  if (closed || impression?.state === "void" || (live && event.at - shownAt > rules.window.ms)) status = "late";
  else if (!live) status = "orphan";
  else if (counts.some(({ goal, event: name }) => goal === event.goal && name === event.event)) status = "conflict";
  store.conversions.add(event, status);
  if (!live || status === "late") return { status };
  const movement = store.conversions.move(impression, worthOf([...counts, event], rules.goals));
  return movement ? { status, movement } : { status };
}

/** Enters what a log says was undone: it counts for nothing, and is known when it comes again. */
export function enterUndone(store: LearnerStore, event: ConversionEvent): "void" | "duplicate" {
  if (isKnown(store, event)) return "duplicate";
  store.conversions.add(event, "void");
  return "void";
}

/** Enters the conversions that came before their impression did: by its id, or by one of its keys. */
export function joinOrphans(
  store: LearnerStore,
  impression: Pick<StoredImpression, "id" | "action">,
  rules: Rules,
  logged?: Logged,
): Entry[] {
  return store.conversions.removeOrphans(impression, rules.window.ms).map((event) => enter(store, event, rules, logged));
}

/** Why a conversion is none for this model; undefined if it is one. */
export function refusal({ reward, goal }: Outcome, { reward: range, goals }: Rules): string | undefined {
  if (goals && !Object.hasOwn(goals, goal)) return `goal: expected one of ${Object.keys(goals).join(", ")}, got ${goal}`;
  if (reward === null || (reward >= range.min && reward <= range.max)) return undefined;
  return `reward: expected a number between ${range.min} and ${range.max}, got ${reward}`;
}

/** Whether the learner has still to take an event that was delivered: it never got it, and keeps what it is of. */
export function isOwed(store: LearnerStore, event: ConversionEvent, rules: Rules): boolean {
  if (shownAtOf(event.impression) < store.horizon || refusal(event, rules)) return false;
  return !store.impressions.find(event.impression)?.erased && !isKnown(store, event);
}

function isKnown(store: LearnerStore, event: ConversionEvent): boolean {
  return store.conversions.of(event.impression).some((other) => isSame(other, event));
}

function isSame(a: ConversionEvent, b: ConversionEvent): boolean {
  return a.goal === b.goal && a.event === b.event && a.at === b.at && a.reward === b.reward;
}
