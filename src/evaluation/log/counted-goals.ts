// Says which conversions of a log count, and how much, by the goals that are declared.

import { compareEvents, outcomesOf } from "../../ledger/goal-outcomes.ts";
import { type Goals, parseGoals } from "../../ledger/goals.ts";
import { progressOf, type Stage, stagesOf } from "../../model/goals/stages.ts";
import { outOfRange, type Range } from "../../values/argument.ts";
import type { Converted, Impressions } from "./impressions.ts";
import { DEFAULT_GOAL, type LoggedConversion } from "./log.ts";
import type { LogWindow } from "./request.ts";

/** A goal whose rewards an evaluation counts. */
export interface CountedGoal {
  readonly name: string;
  /** How long after its impression a conversion still counts, in ms: its own, or that of a goal after it. */
  readonly windowMs: number;
  /** Age in ms at which its rewards are revealed, if it is known. */
  readonly knownDelay?: number;
}

/** The first event of a goal, a later one that adds to it, or one that takes something back. Each kind has delays of its own. */
export type Kind = "order" | "amount" | "refund";

/** A change of the reward of an item that has come by the time of the evaluation. */
interface Arrived {
  /** Number of the item in the log. */
  readonly item: number;
  /** Place of its goal. */
  readonly goal: number;
  readonly kind: Kind;
  /** Times the weight of the goal. */
  readonly reward: number;
  /** Time from the impression until it was known, in ms. */
  readonly delay: number;
}

/** The goals of a log, and what its conversions count. */
export interface CountedGoals {
  readonly goals: readonly CountedGoal[];
  /** Range of the reward of a decision. */
  readonly reward: Range;
  /** The changes of all items. Those of an item follow each other, oldest first. */
  readonly arrived: readonly Arrived[];
}

interface Request {
  readonly asOf: number;
  readonly goals?: Goals;
  readonly window: LogWindow;
  readonly windowMs: number;
  readonly reward: Range;
}

const UNIT: Range = { min: 0, max: 1 };

/** @throws {TypeError | RangeError} naming the option, or the conversion of a goal that is not declared. */
export function countedGoals(request: Request, log: Impressions): CountedGoals {
  return request.goals === undefined ? anyGoals(request, log) : declaredGoals(request.goals, request, log);
}

/** The conversions within their windows that are known by a time, in the order in which they became known. */
function knownBy(asOf: number, { shownAt, conversions }: Converted, windowOf: (goal: string) => number): LoggedConversion[] {
  return conversions
    .filter(({ at, knownAt = at, goal = DEFAULT_GOAL }) => knownAt <= asOf && at - shownAt <= windowOf(goal))
    .sort((a, b) => (a.knownAt ?? a.at) - (b.knownAt ?? b.at));
}

const delayOf = ({ shownAt }: Converted, { at, knownAt = at }: LoggedConversion): number => Math.max(knownAt - shownAt, 0);
const kindOf = (reward: number, isFirst: boolean): Kind => (isFirst ? "order" : reward < 0 ? "refund" : "amount");

/** Goals that nobody declared: all rewards add up. */
function anyGoals({ asOf, windowMs, reward }: Request, { converted, places }: Impressions): CountedGoals {
  // A reward of 0 is that of a decision without any, and says nothing by itself.
  const names = new Set(
    converted.flatMap(({ conversions }) => conversions.flatMap(({ goal = DEFAULT_GOAL, reward }) => (reward === 0 ? [] : [goal]))),
  );
  const goals = Array.from(names.size > 0 ? names : [DEFAULT_GOAL], (name) => ({ name, windowMs }));
  const numbers = new Map(goals.map(({ name }, number) => [name, number]));
  const arrived = converted.flatMap((shown): Arrived[] => {
    const reached = new Set<number>();
    const known = new Map<string, number>();
    return knownBy(asOf, shown, () => windowMs).flatMap((conversion, i) => {
      const { goal: name = DEFAULT_GOAL, reward, eventId = `${i}` } = conversion;
      const change = reward - (known.get(`${eventId} ${name}`) ?? 0);
      known.set(`${eventId} ${name}`, reward);
      const goal = numbers.get(name);
      if (change === 0 || goal === undefined) return [];
      const kind = kindOf(change, !reached.has(goal));
      reached.add(goal);
      return [{ item: shown.item, goal, kind, reward: change, delay: delayOf(shown, conversion) }];
    });
  });
  // Rewards of several conversions may exceed the range together.
  const sums = rewardSums(arrived);
  if (sums.length < places.length) sums.push(0);
  const [least, most] = [sums.reduce((a, b) => Math.min(a, b), reward.min), sums.reduce((a, b) => Math.max(a, b), reward.max)];
  return { goals, reward: { min: least, max: most }, arrived };
}

/** Sums of the rewards of each item that has some. */
function rewardSums(arrived: readonly Arrived[]): number[] {
  const sums = new Map<number, number>();
  for (const { item, reward } of arrived) sums.set(item, (sums.get(item) ?? 0) + reward);
  return [...sums.values()];
}

/** Goals as policies learn them, see `goalOutcomes` and `progressOf`. Goals without a value of their own do not count. */
function declaredGoals(options: Goals, { asOf, window, windowMs, reward }: Request, { converted }: Impressions): CountedGoals {
  const inMs = window !== "none";
  const learnt = parseGoals(options, window);
  if (!inMs && learnt.some((goal) => goal.window !== "none" || goal.delay !== undefined))
    throw outOfRange("goals", 'no windows or delays of their own with window "none"', options);
  const stages = stagesOf(learnt);
  const windows = new Map(learnt.map(({ name, window }) => [name, window !== "none" && "ms" in window ? window.ms : windowMs]));
  const counted = stages.flatMap(({ weight }, stage) => (weight === 0 ? [] : [stage]));
  const hasAmounts = (goal: string): boolean => options[goal]?.value !== undefined;
  const outcomes = ({ shownAt }: Converted, known: readonly LoggedConversion[]) => {
    const events = known.map(({ goal = DEFAULT_GOAL, at, reward, eventId }, i) => ({ goal, at, reward, eventId: eventId ?? `${i}` }));
    const isZero = ({ reward }: { reward: number | null }) => reward === 0;
    return outcomesOf(events.sort(compareEvents), { delayOf: ({ at }) => at - shownAt, hasAmounts, isZero });
  };
  const arrived = converted.flatMap((shown): Arrived[] => {
    const all = knownBy(asOf, shown, (goal) => windows.get(goal) as number);
    const before = counted.map((): number | undefined => undefined);
    return all.flatMap((conversion, i) => {
      const progress = progressOf(stages, outcomes(shown, all.slice(0, i + 1)));
      return counted.flatMap((stage, goal): Arrived[] => {
        const value = progress[stage]?.value;
        const [own, last] = [value === undefined ? 0 : stages[stage].weight * within(stages[stage], value), before[goal]];
        if (own === (last ?? 0) && (value === undefined || last !== undefined)) return [];
        before[goal] = own;
        const change = own - (last ?? 0);
        const kind = kindOf(change, last === undefined);
        return [{ item: shown.item, goal, kind, reward: change, delay: delayOf(shown, conversion) }];
      });
    });
  });
  /** A stage is reached when it or a later one converts, whose window may be longer. */
  const reachedWithin = (stage: number): number => {
    const { goal, children } = stages[stage];
    return Math.max(windows.get(goal.name) as number, ...children.map(reachedWithin));
  };
  /** Sums of the events of each impression: the greatest amounts of the log, and the least. */
  const sumsOf = (goal: number): number[] => rewardSums(arrived.filter((each) => each.goal === goal));
  return {
    goals: counted.map((stage) => {
      const { name, delay, after } = stages[stage].goal;
      // A known delay begins with the goal before it, whose time differs between impressions.
      return { name, windowMs: reachedWithin(stage), ...(delay !== undefined && after === undefined && { knownDelay: delay }) };
    }),
    reward: totalRange(counted.map((stage, goal) => rangeOf(stages[stage], reward, () => sumsOf(goal)))),
    arrived,
  };
}

/** Goals of which a decision earns at most `cap` each. */
export function capped(goals: CountedGoals, cap: number): CountedGoals {
  const sums = new Float64Array(goals.goals.length);
  let item = -1;
  return {
    goals: goals.goals,
    reward: { min: goals.reward.min, max: Math.min(goals.reward.max, cap * goals.goals.length) },
    arrived: goals.arrived.flatMap((event): Arrived[] => {
      if (event.item !== item) sums.fill(0);
      item = event.item;
      const before = Math.min(sums[event.goal], cap);
      sums[event.goal] += event.reward;
      const reward = Math.min(sums[event.goal], cap) - before;
      return reward === 0 && event.reward !== 0 ? [] : [{ ...event, reward }];
    }),
  };
}

/** An amount as it counts. */
function within({ amounts, goal }: Stage, value: number): number {
  return amounts ? Math.min(value, goal.value?.max ?? value) : value;
}

/** Range of what a stage brings to a decision. Amounts without a greatest one reach as far as those of the log. */
function rangeOf({ amounts, weight, goal, children }: Stage, reward: Range, sums: () => readonly number[]): Range {
  if (!amounts) return scaled(children.length > 0 ? UNIT : reward, weight);
  if (goal.value?.max !== undefined) return scaled({ min: 0, max: goal.value.max }, weight);
  const rewards = sums();
  return { min: rewards.reduce((least, each) => Math.min(least, each), 0), max: rewards.reduce((most, each) => Math.max(most, each), 0) };
}

/** Without a conversion the reward is 0. */
function scaled({ min, max }: Range, weight: number): Range {
  return { min: Math.min(0, weight * min, weight * max), max: Math.max(0, weight * min, weight * max) };
}

function totalRange(ranges: readonly Range[]): Range {
  return ranges.reduce((sum, each) => ({ min: sum.min + each.min, max: sum.max + each.max }), { min: 0, max: 0 });
}
