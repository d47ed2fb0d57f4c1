import type { Unlearnt } from "../domain/impression/sampling.ts";
import { FIGURE_NAMES } from "../protocol/counted.ts";

/** Impressions that were erased while their window was open: all, those with an observed reward, and those that had converted. */
const ERASED = ["erased", "erasedObserved", "erasedConverted"] as const;
/** Counters that a rollback restores. The others are never undone. */
export const LEARNT = [...FIGURE_NAMES, "applied", "conflict", "pageGoals", ...ERASED] as const;
/** Impressions that were served and not learnt, by cause. */
const UNLEARNT = ["crawlers", "declined"] as const satisfies readonly Unlearnt[];
const DELIVERIES = ["duplicate", "late", "orphan"] as const;
/** Conversions that pages reported, conversions by status, and impressions that were not learnt. */
export const EVENTS = ["pageGoals", "applied", "conflict", ...DELIVERIES, ...UNLEARNT] as const;
/** Orphans whose key no impression had, whose key had other actions, or whose key's impressions were shown outside the window before them. */
const UNJOINED = ["unknownKeys", "otherActions", "otherTimes"] as const;
export type Unjoined = (typeof UNJOINED)[number];
/**
 * Missed conversions, refused impressions, dropped impressions, impressions left out by sampling, publications that an isolate did not
 * take, impression ids of pages that were taken, orphans whose key only pages gave, amounts in another currency, events by key that did not
 * name the product of a list of several, stored conversions that the policies did not take, calls that a shard did not answer, addresses of
 * pages that had their share of a limit, once a minute, archived files that an erasure found lost or altered, and purchases beyond those that
 * one visitor makes after an impression.
 */
export const INCIDENTS = [
  "missed",
  "refused",
  "dropped",
  "unsampled",
  "keptOut",
  "collisions",
  "ofPages",
  "otherCurrency",
  "withoutAction",
  ...UNJOINED,
  "skipped",
  "unanswered",
  "overShare",
  "damaged",
  "shared",
] as const;

export const COUNTERS = [...LEARNT, ...DELIVERIES, ...UNLEARNT, ...INCIDENTS];

/**
 * `waitingZeros`: rewards of 0 that wait for their impression. They say nothing, so no figure has them. `idleRows`: rows that say nothing.
 * `idlePublished`: those of them up to the publication.
 */
export type CounterName = (typeof COUNTERS)[number] | "waitingZeros" | "idleRows" | "idlePublished";
/** Figures that are counted by goal: converted impressions, orders and refunds, and the sums of both. */
export const GOAL_FIGURES = ["converted", "orders", "refunds", "paid", "refunded"] as const;
type GoalFigure = (typeof GOAL_FIGURES)[number];
/** Of one goal. Sums are in its currency. */
export type GoalFigures = Readonly<Record<GoalFigure, number>>;
export type GoalCounter = `goal ${GoalFigure} ${string}`;
/** Counts converted impressions whose delay falls into this bar of the histogram. */
export type DelayCounter = `delay ${number}`;
