// The impressions and conversions that a figure of delays may use, by the moment until which conversions are reported.

import { DelayEstimate, type DelayedConversion } from "afterclick/research";
import type { GroupCounts } from "../../domain/figures/product-group.ts";
import type { GoalCounts, StepCounts } from "../../rpc/model-counts.ts";

const DAY_MS = 86_400_000;
/** Least time of impressions for a rate, and for a law of delays, where delays depend on the hour. */
const SPANS = { rate: DAY_MS, law: 7 * DAY_MS };
/** Halves of a window after which figures are about no shorter time. A month is then half a day. */
const HALVINGS = 6;

/** Impressions that were shown in one step of time, at their mean time. */
export interface Cohort extends StepCounts {
  readonly shownAt: number;
}

/** The impressions shown in the last windows, and earlier ones by group of products. */
export interface History {
  readonly shown: readonly Cohort[];
  readonly earlier: GroupCounts;
  /** The window of the model. */
  readonly windowMs: number;
  readonly now: number;
}

/** The conversions of one cell. */
interface Cell extends DelayedConversion {
  readonly count: number;
  /** Their mean time. */
  readonly meanAt: number;
  /** End of the time in which their impressions were shown. */
  readonly shownUntil: number;
}

/** The conversions behind one estimate. */
export interface Part extends GoalCounts {
  readonly windowMs: number;
  readonly conversions: readonly Cell[];
}

/** The conversions of a goal, as an estimate takes them. */
export function partOf(counts: GoalCounts, windowMs: number): Part {
  const grid = DelayEstimate.grid(windowMs);
  const latest = counts.latestAt ?? undefined;
  const conversions = counts.delays.flatMap(({ cohort, length, count: all, delay, groups }): Cell[] => {
    // Whole milliseconds keep the delay exact.
    const shownAt = Math.ceil(cohort * grid.cohort);
    const at = shownAt + delay / all;
    const cell = { shownAt, at, meanAt: at + (length * grid.cohort) / 2, shownUntil: (cohort + length) * grid.cohort };
    return Object.entries(groups).map(([product, count]) => ({ ...cell, count, product, latest, arrivedAt: null }));
  });
  return { ...counts, windowMs, conversions };
}

/** The impressions and conversions that were known at a time. */
export interface Known {
  readonly history: History;
  readonly part: Part;
  /** Time until a law of delays is known, in ms. 0 if it is. */
  readonly missingMs: number;
}

/** The impressions shown by a time, and their conversions that had happened by then. */
export function knownAt(history: History, part: Part, time: number): Known {
  if (time === history.now) return { history, part, missingMs: 0 };
  // Cells know their mean time about. If all conversions are known to be earlier, they count whole.
  const isKnown = ({ meanAt }: Cell): boolean => (part.latestAt ?? 0) <= time || meanAt <= time;
  return { ...cutAt(history, part, { time, until: time, isKnown }), missingMs: 0 };
}

/**
 * The impressions whose windows had closed at a time, and their conversions. They need no law of delays.
 *
 * Conversions with the time of a report have delays that depend on the hour of the impression. While closed windows are of less than a day,
 * half of the window therefore stands for it, or a quarter, and so on: bins of delays end there too. A law needs impressions of a week.
 */
export function closedAt(history: History, part: Part, time: number): Known {
  const first = Object.keys(history.earlier).length > 0 ? Number.NEGATIVE_INFINITY : (history.shown[0]?.shownAt ?? time);
  const newestFirst = part.conversions.toSorted((a, b) => b.shownAt - a.shownAt);
  // No cell counts in part.
  const untilOf = (windowMs: number): number =>
    newestFirst.reduce((cut, cell) => (cell.shownAt < cut && cut < cell.shownUntil ? cell.shownAt : cut), time - windowMs);
  const windows = Array.from({ length: HALVINGS + 1 }, (_, halvings) => part.windowMs / 2 ** halvings);
  const windowMs = windows.find((each) => untilOf(each) - first >= SPANS.rate) ?? windows[HALVINGS];
  const until = untilOf(windowMs);
  const isKnown = ({ shownAt, shownUntil, at }: Cell): boolean => shownUntil <= until && at - shownAt <= windowMs;
  const isLong = windowMs === part.windowMs && until - first >= SPANS.law;
  const missingMs = isLong ? 0 : Math.max(first + part.windowMs + SPANS.law - time, DAY_MS);
  return { ...cutAt(history, { ...part, windowMs }, { time, until, isKnown }), missingMs };
}

/** Which impressions and conversions count, and the time until which the conversions have come. */
interface Cut {
  readonly time: number;
  readonly until: number;
  readonly isKnown: (cell: Cell) => boolean;
}

function cutAt(history: History, part: Part, { time, until, isKnown }: Cut): Omit<Known, "missingMs"> {
  const latestAt = part.latestAt === null ? null : Math.min(part.latestAt, time);
  const conversions = part.conversions.filter(isKnown).map((each) => ({ ...each, latest: latestAt ?? undefined }));
  return {
    history: { ...history, shown: history.shown.filter(({ shownAt }) => shownAt <= until), now: time },
    part: { ...part, conversions, latestAt },
  };
}
