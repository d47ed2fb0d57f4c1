// The ledger of a learner: the rules are the SDK's, and the memory is rows.

import { isRefund } from "../../domain/conversion/amounts.ts";
import type { LedgerStatus, StoredConversion } from "../../domain/conversion/conversion.ts";
import { type ConversionEvent, type GoalEvent, isConflict, isOfPage, isOfRecord, type KeyedEvent } from "../../domain/conversion/event.ts";
import { Fold } from "../../domain/conversion/fold.ts";
import { type Rules, refusal } from "../../domain/conversion/refusal.ts";
import { counting, outcomeOf, type RewardChange, roundedReward } from "../../domain/conversion/reward.ts";
import { isSilent, isZero } from "../../domain/conversion/silence.ts";
import { shownAtOf } from "../../domain/ids/uuid.ts";
import { bucketEnd } from "../../domain/impression/bucket.ts";
import { appendedOf } from "../../domain/impression/impression.ts";
import { windowOf } from "../../domain/model/goals.ts";
import type { Joining } from "../store/conversion-store.ts";
import type { LearnerStore } from "../store/learner-store.ts";

/**
 * Most purchases of one goal after one impression: one a day for seven weeks. Beyond them the impression belongs to several visitors, as those
 * of a cached page do.
 */
const MOST_PURCHASES = 50;

export interface Entry {
  /** Refused: the impression has more purchases than one visitor makes. */
  readonly status: LedgerStatus | "refused";
  /** Absent if the policies have nothing to observe. */
  readonly change?: RewardChange;
  /** Set if the impression was erased: nothing of the event may be stored anywhere. */
  readonly erased?: true;
}

/** Set for imported events: they may enter closed buckets unless the log has them as late. */
export type Logged = "in time" | "late";

/**
 * Enters a conversion within a transaction, by the rules of the SDK's ledger. Its state is in rows, so memory does not grow with
 * the number of pending impressions. The resolved reward does not depend on the order in which events arrive.
 * An event that a rollback undid may come again, and so may a late one that is in time by now.
 *
 * A silent event is stored, because it may take back an earlier one that comes later. It appears in no figure.
 */
export function enter(store: LearnerStore, event: ConversionEvent, rules: Rules, logged?: Logged): Entry {
  const shownAt = shownAtOf(event.impression);
  const impression = store.impressions.find(event.impression);
  const closed = logged ? logged === "late" : bucketEnd(shownAt, rules.window.ms) <= store.model.watermark;
  const live = impression?.state === "live";
  const late = closed || impression?.state === "void" || (live && event.at - shownAt > windowOf(rules, event.goal));
  const known = store.conversions.of(event.impression);
  const earlier = known.filter(({ status }) => status !== "void" && (late || status !== "late"));
  const silent = isSilent(event, rules);
  if (isKnown(earlier, event) || (!logged && isOverruled(said(earlier, rules), event))) {
    if (!silent) store.database.count("duplicate");
    return { status: "duplicate" };
  }
  if (shownAt < store.model.horizon) {
    // Not stored: the rows that would reveal a repetition are pruned.
    if (!silent) store.database.count("late");
    return { status: "late" };
  }
  if (impression?.erased) return ofErased(store, event);
  if (!late && !logged && isShared(earlier, event, rules)) {
    store.database.count("shared");
    return { status: "refused" };
  }
  const counts = counting(earlier);
  let status: LedgerStatus = "applied";
  if (late) status = "late";
  else if (!live) status = "orphan";
  else if (!silent && said(counts, rules).some((other) => isConflict(other, event))) status = "conflict";
  const change = live && status !== "late" ? new Fold(shownAt, rules, counts).apply(event) : undefined;
  store.conversions.insert(event, status, { idle: silent && !change });
  if (event.reward !== null && !silent && !isRefund(event, rules.goals)) {
    // A correction is not a late report, and an event that waited for its impression was one before.
    const isFirst = !late && !logged && !("seq" in event) && !said(known, rules).some(({ goal }) => goal === event.goal);
    store.database.noteArrival(rules.goals ? event.goal : "", Date.now(), isFirst ? event.at : undefined);
  }
  if (!live || !change) return { status };
  store.impressions.change(impression, outcomeOf(change.after), rules);
  return { status, change: { impression: appendedOf(impression), ...change } };
}

/** Whether an event is a further purchase after all that one visitor makes. Events of one time are lines of one order. */
function isShared(earlier: readonly ConversionEvent[], event: ConversionEvent, rules: Rules): boolean {
  if (earlier.length < MOST_PURCHASES) return false;
  const isPurchase = (other: ConversionEvent): boolean => {
    return other.goal === event.goal && other.reward !== null && !isRefund(other, rules.goals) && !isSilent(other, rules);
  };
  const purchases = new Map(earlier.filter(isPurchase).map(({ event: name, at }) => [name, at]));
  const times = new Set(purchases.values());
  return isPurchase(event) && !purchases.has(event.event) && !times.has(event.at) && times.size >= MOST_PURCHASES;
}

/** The events that say something. */
function said<Event extends ConversionEvent>(events: readonly Event[], rules: Rules): Event[] {
  return events.filter((event) => !isSilent(event, rules));
}

/** An event as it is stored. Only amounts and zeros can restate: other rewards always do. */
export function storedForm<Event extends ConversionEvent | KeyedEvent>(event: Event, rules: Rules): Event {
  const { currency: _, renewal: __, restates, ...rest } = event;
  const reward = event.reward === null ? null : roundedReward(event.reward);
  const mayRestate = rules.goals?.[event.goal]?.value !== undefined || isZero({ reward }, rules);
  return { ...(rest as Event), reward, ...(restates && mayRestate && { restates }) };
}

/** The result for an event that was erased, or whose impression was. */
export function ofErased(store: LearnerStore, event: GoalEvent): Entry & { readonly status: "late" } {
  if (!isSilent(event, store.model.config)) store.database.count("late");
  return { status: "late", erased: true };
}

/** Enters a conversion that was undone or refused before an export. It does not count, and its repetition is a duplicate. */
export function enterUncounted<Status extends "void" | "refused">(
  store: LearnerStore,
  event: ConversionEvent,
  status: Status,
): Status | "duplicate" | "late" {
  if (isKnown(store.conversions.of(event.impression), event)) return "duplicate";
  if (store.impressions.find(event.impression)?.erased) return ofErased(store, event).status;
  store.conversions.insert(event, status);
  return status;
}

/** Enters the orphans of an impression: those that name its id or one of its keys. */
export function joinOrphans(store: LearnerStore, impression: Joining, rules: Rules, logged?: Logged): Entry[] {
  return store.conversions.removeOrphans(impression, rules).map((event) => enter(store, event, rules, logged));
}

/**
 * Whether an impression belongs to a deleted model of the same name. One that is stored does not: it may be imported. Events from before
 * a reset are late instead. @param generation as the impression's token states it; not stated if it is 0 or undefined.
 */
export function isOfNamesake(store: LearnerStore, impression: string, generation: number | undefined): boolean {
  if (!generation || generation === store.model.generation || shownAtOf(impression) < store.model.horizon) return false;
  return store.impressions.find(impression) === undefined;
}

/**
 * Whether a journalled event is missing here: the learner never got it, and still keeps rows of its time.
 * @param notedAt when a delivery that the learner did not get was last noted, in ms since 1970. What a rollback undid before is missing.
 */
export function isMissing(store: LearnerStore, event: ConversionEvent, rules: Rules, notedAt = 0): boolean {
  if (shownAtOf(event.impression) < store.model.horizon || refusal(event, rules) || isOfNamesake(store, event.impression, event.generation))
    return false;
  const isUndone = ({ status, seq }: StoredConversion) => status === "void" && store.log.undoneAt(seq) < notedAt;
  const earlier = store.conversions.of(event.impression).filter((each) => !isUndone(each));
  if (isShared(earlier, event, rules)) return false;
  return !store.impressions.find(event.impression)?.erased && !isKnown(earlier, event) && !isOverruled(said(earlier, rules), event);
}

/** Whether an event tells nothing beside earlier ones of its impression. */
function isKnown(earlier: readonly StoredConversion[], event: ConversionEvent): boolean {
  const versions = earlier.filter((other) => other.goal === event.goal && other.event === event.event);
  // The time of a page's event is that of its arrival, so a repetition has another.
  if (isOfPage(event.event)) return versions.length > 0;
  // The table has one row for events that differ in `restates` alone. The first one counts.
  return versions.some(({ at, reward }) => at === event.at && reward === event.reward);
}

/** Whether something that counts or waits leaves no room for an event of another origin. */
function isOverruled(earlier: readonly StoredConversion[], { goal, event }: ConversionEvent): boolean {
  const valid = earlier.filter(({ status }) => status === "applied" || status === "conflict" || status === "orphan");
  // A page does not know better than a backend.
  if (isOfPage(event)) return valid.some((other) => other.goal === goal);
  // The address of a hook is not signed: another goal in it makes no second order.
  return isOfRecord(event) && valid.some((other) => other.event === event && other.goal !== goal);
}
