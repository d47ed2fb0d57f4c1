// The lift of a model by its counts. It reads no table, so a command states it of a log as well.

import { DelayEstimate } from "afterclick/research";
import { type ArmComparison, compareArms, type Stratum } from "../../../src/comparison/arm-comparison.ts";
import type { ArmStep } from "../../../src/comparison/arm-step.ts";
import { type Basis, commonLaw, type Laws } from "../../../src/comparison/laws.ts";
import { ProductDelays } from "../../../src/comparison/product-laws.ts";
import type { Assignment } from "../../protocol/figures.ts";
import { type Windows, windowOf } from "../model/goals.ts";
import { gridOf, grownAt, type Interval } from "./delay-grid.ts";
import { shareOf, UNASSIGNED } from "./holdout-share.ts";
import type { GroupCounts } from "./product-group.ts";

/** Sums over the impressions of one assignment in one step. */
export interface ArmCounts {
  readonly arm: Assignment;
  /** @see shareName */
  readonly share: string;
  /** @see comparedSteps */
  readonly step: number;
  readonly impressions: number;
  /** Sum of the times since the start of the step at which they were shown. 0 in the step 0. */
  readonly elapsed: number;
  /** Lists, and the sum of their squared sizes. 0 without an assignment. */
  readonly lists: number;
  readonly squares: number;
  /** Impressions by group of products. */
  readonly groups: GroupCounts;
}

/** Sums over the lists of one assignment in one step that have reached a goal. */
export interface ReachedCounts extends Pick<ArmCounts, "arm" | "share" | "step"> {
  readonly goal: string;
  /** Impressions and lists that have reached it. */
  readonly conversions: number;
  readonly converted: number;
  /** Sums over the lists: the squared number of such impressions, and that number times the size of the list. */
  readonly conversionSquares: number;
  readonly products: number;
}

/** The counts from which a lift is computed. A worker has them in its tables, and a command counts a log. */
export interface LiftCounts {
  readonly arms: readonly ArmCounts[];
  readonly reached: readonly ReachedCounts[];
  /** First conversions by goal, in the cells of the goal's grid. */
  readonly delays: ReadonlyMap<string, readonly LiftDelays[]>;
}

/** First conversions of one assignment in one cell. `delay`: the sum of their delays. `groups`: their number by group of products. */
interface LiftDelays extends Interval, Pick<ArmCounts, "groups"> {
  readonly arm: Assignment | typeof UNASSIGNED;
  readonly bin: number;
  readonly count: number;
  readonly delay: number;
}

/** Goal of a model that declares none. */
export const ANY_GOAL = "";
/** Probability that any of all intervals misses. */
export const ALPHA = 0.05;

export interface LiftedArm {
  readonly lists: number;
  readonly impressions: number;
  readonly conversions: number;
  /** Corrected for conversions still to come, and averaged over the shares that are compared. */
  readonly rate: number | null;
}

export interface GoalLift {
  readonly goal: string;
  /** The figures are as of this time. */
  readonly completeUntil: number;
  readonly windowMs: number;
  /** Rates count conversions within this time: the window, or a shorter time while few impressions have had the whole window. */
  readonly withinMs: number;
  /** Currency of the goal's amounts. Conversions are compared, not amounts. Null without amounts. */
  readonly currency: string | null;
  readonly policy: LiftedArm;
  readonly holdout: LiftedArm;
  /** Absolute difference of rates for which the interval is narrowest. Null before there are rates. */
  readonly effect: number | null;
  readonly difference: ArmComparison["difference"];
  /** The difference as a share of the holdout's rate. Null without a difference. */
  readonly relative: number | null;
  readonly decided: boolean;
  /** The lists that are compared. Before windows close, they tell only if policy and holdout have the same delays. */
  readonly basis: Basis;
  /** The shares that the holdout has had. Each is compared by itself. */
  readonly shares: readonly LiftedShare[];
}

interface LiftedShare {
  /** Null: isolates decided by an older share than the learner's. */
  readonly holdout: number | null;
  readonly lists: { readonly policy: number; readonly holdout: number };
  /** Whether both arms have two matured lists. If not, the share carries no information. */
  readonly compared: boolean;
}

export interface LiftOptions {
  /** @see ComparisonOptions.effect */
  readonly effect?: number;
  readonly alpha: number;
  /** The moment until which conversions are reported. Impressions shown later do not count. */
  readonly now: number;
}

/** Compares the policy with the holdout by one goal. The figures of dashboard, metrics and `compare`. */
export function liftOf(counts: LiftCounts, goal: string, windows: Windows, options: LiftOptions): GoalLift {
  const reached = counts.reached.filter((each) => each.goal === goal);
  const windowMs = windowOf(windows, goal);
  const names = Array.from(new Set(counts.arms.map(({ share }) => share))).filter((name) => name !== UNASSIGNED);
  const strata = names.sort().map((name): Stratum => {
    const [control, treatment] = (["holdout", "policy"] as const).map((arm) => {
      return stepsOf(counts.arms, reached, { arm, share: name }).filter(({ shownAt }) => shownAt <= options.now);
    });
    return { control, treatment };
  });
  const laws = lawsOf(counts, goal, windows, options.now);
  const { control, treatment, within, basis, compared, effect, difference, decided } = compareArms(strata, laws, options);
  return {
    goal,
    completeUntil: options.now,
    windowMs,
    withinMs: Math.round(within),
    currency: windows.goals?.[goal]?.value?.currency ?? null,
    policy: { ...summed(strata.flatMap((stratum) => stratum.treatment)), rate: treatment },
    holdout: { ...summed(strata.flatMap((stratum) => stratum.control)), rate: control },
    effect,
    difference,
    relative: "value" in difference && control ? difference.value / control : null,
    decided,
    basis,
    shares: strata.map((stratum, i) => ({
      holdout: shareOf(names[i]),
      lists: { policy: summed(stratum.treatment).lists, holdout: summed(stratum.control).lists },
      compared: compared[i],
    })),
  };
}

type Key = Pick<ArmCounts, "arm" | "share">;

function stepsOf(arms: readonly ArmCounts[], reached: readonly ReachedCounts[], { arm, share }: Key): ArmStep[] {
  const isOwn = (each: Key): boolean => each.arm === arm && each.share === share;
  const conversions = new Map(reached.filter(isOwn).map((each) => [each.step, each]));
  return arms.filter(isOwn).map((counted) => {
    const { impressions, lists, squares, step, groups } = counted;
    const own = conversions.get(step) ?? NOTHING;
    return {
      ...{ shownAt: meanTime(counted), impressions, lists, squares, groups },
      ...{ conversions: own.conversions, converted: own.converted, conversionSquares: own.conversionSquares, products: own.products },
    };
  });
}

const NOTHING = { conversions: 0, converted: 0, conversionSquares: 0, products: 0 };

const meanTime = ({ step, elapsed, impressions }: Pick<ArmCounts, "step" | "elapsed" | "impressions">): number =>
  step + elapsed / impressions;

function summed(steps: readonly ArmStep[]): Omit<LiftedArm, "rate"> {
  const sum = { lists: 0, impressions: 0, conversions: 0 };
  for (const { lists, impressions, conversions } of steps) {
    sum.lists += lists;
    sum.impressions += impressions;
    sum.conversions += conversions;
  }
  return sum;
}

/** The laws of delays that policy and holdout share. */
function lawsOf(counts: LiftCounts, goal: string, windows: Windows, now: number): Laws {
  const grid = gridOf(windows, goal);
  const cells = (counts.delays.get(goal) ?? []).map((cell) => ({ ...cell, age: now - (cell.cohort + cell.length) * grid.cohort }));
  const shown = counts.arms.map((counted) => ({ age: now - meanTime(counted), groups: counted.groups })).filter(({ age }) => age >= 0);
  const common = () => commonLaw(delaysOf(counts, goal, windows, now));
  return new ProductDelays(cells, windowOf(windows, goal)).shared({ control: "holdout", treatment: "policy", shown, common });
}

/** Estimates the delays from the impressions of all assignments and their first conversions. */
function delaysOf({ arms, delays }: LiftCounts, goal: string, windows: Windows, now: number): DelayEstimate {
  const estimate = new DelayEstimate({ window: windowOf(windows, goal) });
  const grid = gridOf(windows, goal);
  const newest = Math.floor(now / grid.cohort);
  const intervalOf = (shownAt: number): number => grownAt(newest, { cohort: Math.floor(shownAt / grid.cohort), length: 1 }).cohort;
  const intervals = new Set<number>();
  const steps = Map.groupBy(arms, ({ step }) => step);
  for (const [step, own] of steps) {
    const impressions = own.reduce((sum, each) => sum + each.impressions, 0);
    const shownAt = meanTime({ step, impressions, elapsed: own.reduce((sum, each) => sum + each.elapsed, 0) });
    if (shownAt > now) continue;
    estimate.show(shownAt, impressions);
    intervals.add(intervalOf(shownAt));
  }
  for (const { cohort, count, delay } of delays.get(goal) ?? []) {
    // Whole milliseconds keep the delay exact.
    const shownAt = Math.ceil(cohort * grid.cohort);
    const at = shownAt + delay / count;
    if (at > now) continue;
    // The mean time of a step may lie in the interval beside.
    if (!intervals.has(intervalOf(shownAt))) estimate.show(shownAt);
    estimate.convert({ shownAt, at, count, arrivedAt: null });
  }
  estimate.advance(now);
  return estimate;
}
