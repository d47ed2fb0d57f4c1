// The counts of a model as plain data, from which its figures are computed. Shards count by themselves, and their counts add up. All times
// are milliseconds since 1970.

import type { UNASSIGNED } from "../domain/figures/holdout-share.ts";
import type { ArmCounts, ReachedCounts } from "../domain/figures/lift.ts";
import type { GroupCounts } from "../domain/figures/product-group.ts";
import type { Reports } from "../domain/figures/reports.ts";
import type { Assignment } from "../protocol/figures.ts";
import type { RecentImpression } from "../protocol/metrics-answer.ts";
import type { Relearning } from "../protocol/model-answer.ts";
import type { CounterName, GoalFigures } from "./counters.ts";

/** Sums over the impressions that were shown in one step of time. */
export interface StepSums {
  /** Start of the step. */
  readonly step: number;
  readonly impressions: number;
  /** Sum of the times since the start at which they were shown. */
  readonly elapsed: number;
  /** Those with an observed reward. */
  readonly observed: number;
  readonly converted: number;
}

/** Impressions that were shown in one step of time. */
export interface StepCounts extends StepSums {
  /** Impressions by group of products. */
  readonly groups: GroupCounts;
}

/** Mean time at which the impressions of a step were shown. */
export const meanTime = ({ step, elapsed, impressions }: StepSums): number => step + elapsed / impressions;

/** First conversions in one cell of the grid of a `DelayEstimate`. */
export interface DelayCounts {
  /** First of the grid's cohorts in which the impressions were shown, and the number of these cohorts. */
  readonly cohort: number;
  readonly length: number;
  /** The bin of their delays. */
  readonly bin: number;
  /** Empty: impressions that were not assigned to an arm. */
  readonly arm: Assignment | typeof UNASSIGNED;
  readonly count: number;
  /** Sum of their delays. */
  readonly delay: number;
  /** Their number by group of products. */
  readonly groups: GroupCounts;
}

/** First conversions of one goal, or of whichever goal comes first. */
export interface GoalCounts {
  readonly delays: readonly DelayCounts[];
  /** When the latest of them happened. */
  readonly latestAt: number | null;
  /** When the last conversion arrived, repeated ones aside, by the learner's clock; null before the first. */
  readonly arrivedAt: number | null;
  /** Starts of the quarters of an hour in which conversions arrived. */
  readonly arrivals: readonly number[];
  /** How late they are reported, by each learner that has got one. Empty for whichever goal comes first. */
  readonly reports: readonly Reports[];
  /** The newest of them by the quarter of an hour in which they happened, counted from 1970. */
  readonly quarters: Readonly<Record<number, number>>;
}

/** Sums over the impressions of a bucket with one assignment. */
export interface BucketSums {
  readonly start: number;
  readonly arm: Assignment;
  readonly impressions: number;
  readonly converted: number;
  readonly reward: number;
  readonly square: number;
}

/** An impression as the dashboard lists it. */
export type Recent = RecentImpression & { readonly sampling: number; readonly shard: number };

/** The counts of a description. */
export interface Totals {
  readonly counters: Readonly<Record<CounterName, number>>;
  /** Sums of the outcomes so far, by declared goal. */
  readonly figures: Readonly<Record<string, GoalFigures>>;
  /** Sums over the impressions with an open window. */
  readonly open: Pick<StepSums, "impressions" | "observed" | "converted">;
  /** Bytes stored. */
  readonly bytes: number;
  /** Time from showing the newest impression to registering it, in ms; null before the first. */
  readonly lagMs: number | null;
  readonly relearning: Relearning | null;
}

export interface ModelCounts extends Totals {
  /** Buckets before this time are closed. */
  readonly watermark: number;
  /** The steps of the last windows, in order of time. */
  readonly steps: readonly StepCounts[];
  /** Earlier impressions that the log holds, by group of products. */
  readonly earlier: GroupCounts;
  readonly first: GoalCounts;
  /** By declared goal. */
  readonly goals: Readonly<Record<string, GoalCounts>>;
  /** Converted impressions by bar of the histogram of their delays. */
  readonly bars: Readonly<Record<number, number>>;
  /** The newest buckets, oldest first. */
  readonly buckets: readonly BucketSums[];
  /** Impressions by assignment and share of the holdout, and the goals that they have reached, by step of a comparison. */
  readonly arms: readonly ArmCounts[];
  readonly reached: readonly ReachedCounts[];
  /** The newest impressions, newest first. */
  readonly recent: readonly Recent[];
}

/** A `DelayEstimate` treats impressions older than this many windows as matured. */
export const SETTLED = 3;
/** Figures stay as of a moment for so many windows when a source has stopped. */
export const REACH = 3;
/** Most sums of buckets and most recent impressions that the dashboard gets. */
export const MOST_BUCKETS = 300;
export const MOST_RECENT = 20;

/** The counts of several learners of one model, of one time. Each has all of its newest buckets and impressions up to their limits. */
export function added(all: readonly ModelCounts[]): ModelCounts {
  const joined = <Row extends object>(rowsOf: (counts: ModelCounts) => readonly Row[], keys: readonly (keyof Row)[]) =>
    summed(all.flatMap(rowsOf), keys);
  return {
    ...addedTotals(all),
    watermark: Math.min(...all.map(({ watermark }) => watermark)),
    steps: joined(({ steps }) => steps, ["step"]).sort((a, b) => a.step - b.step),
    earlier: addedGroups(all.map(({ earlier }) => earlier)),
    first: addedGoals(all.map(({ first }) => first)),
    goals: byName(
      all.map(({ goals }) => goals),
      addedGoals,
    ),
    bars: sumOf(all.map(({ bars }) => bars)),
    buckets: joined(({ buckets }) => buckets, ["start", "arm"])
      .sort((a, b) => a.start - b.start || (a.arm < b.arm ? -1 : 1))
      .slice(-MOST_BUCKETS),
    arms: joined(({ arms }) => arms, ["arm", "share", "step"]),
    reached: joined(({ reached }) => reached, ["arm", "share", "step", "goal"]),
    recent: all
      .flatMap(({ recent }) => recent)
      .sort((a, b) => (a.impressionId < b.impressionId ? 1 : -1))
      .slice(0, MOST_RECENT),
  };
}

export function addedTotals(all: readonly Totals[]): Totals {
  return {
    counters: sumOf(all.map(({ counters }) => counters)),
    figures: byName<GoalFigures>(
      all.map(({ figures }) => figures),
      sumOf,
    ),
    open: sumOf(all.map(({ open }) => open)),
    bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
    lagMs: latest(all.map(({ lagMs }) => lagMs)),
    relearning: addedProgress(all.map(({ relearning }) => relearning).filter((each) => each !== null)),
  };
}

/** Adds what each record has of a name, name by name. */
function byName<T>(records: readonly Readonly<Record<string, T>>[], add: (own: T[]) => T): Record<string, T> {
  const names = new Set(records.flatMap((record) => Object.keys(record)));
  return Object.fromEntries(
    Array.from(names, (name) => [name, add(records.flatMap((each) => (Object.hasOwn(each, name) ? [each[name]] : [])))]),
  );
}

/** The progress of all learners that have begun. */
function addedProgress(all: readonly Relearning[]): Relearning | null {
  if (all.length === 0) return null;
  const ends = all.map(({ endsAt }) => endsAt);
  return {
    startedAt: Math.min(...all.map(({ startedAt }) => startedAt)),
    done: all.reduce((sum, { done }) => sum + done, 0),
    rows: all.reduce((sum, { rows }) => sum + rows, 0),
    endsAt: ends.includes(null) ? null : latest(ends),
  };
}

function addedGoals(all: readonly GoalCounts[]): GoalCounts {
  return {
    delays: summed(
      all.flatMap(({ delays }) => delays),
      ["cohort", "length", "bin", "arm"],
    ),
    latestAt: latest(all.map(({ latestAt }) => latestAt)),
    arrivedAt: latest(all.map(({ arrivedAt }) => arrivedAt)),
    arrivals: Array.from(new Set(all.flatMap(({ arrivals }) => arrivals))).sort((a, b) => a - b),
    reports: all.flatMap(({ reports }) => reports),
    quarters: sumOf(all.map(({ quarters }) => quarters)),
  };
}

function latest(times: readonly (number | null)[]): number | null {
  return times.reduce((a, b) => (a === null || (b !== null && b > a) ? b : a), null);
}

/** Adds counts by group. */
export const addedGroups = (all: readonly GroupCounts[]): GroupCounts => sumOf(all);

/** Adds records, name by name: numbers, or records of numbers. Texts are left out. */
function sumOf<Sums extends object>(records: readonly Sums[]): Sums {
  const sum: Record<string, unknown> = {};
  for (const record of records) {
    for (const [name, value] of Object.entries(record)) {
      if (typeof value === "number") sum[name] = ((sum[name] as number | undefined) ?? 0) + value;
      else if (typeof value === "object") sum[name] = sumOf([(sum[name] as object | undefined) ?? {}, value]);
    }
  }
  return sum as Sums;
}

/** Adds the numbers of rows that have the same keys, and their groups. */
export function summed<Row extends object>(rows: readonly Row[], keys: readonly (keyof Row)[]): Row[] {
  const groups = Map.groupBy(rows, (row) => keys.map((key) => row[key]).join(" "));
  return Array.from(groups.values(), (group) => {
    if (group.length === 1) return group[0];
    const own = Object.fromEntries(keys.map((key) => [key, group[0][key]]));
    return { ...sumOf(group), ...own };
  });
}
