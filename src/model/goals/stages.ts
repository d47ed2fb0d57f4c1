// The stages of a funnel: which goals and amounts an impression has started, and what each stage is worth.

import type { GoalOutcome, GoalOutcomes, LearntGoal } from "./goal.ts";

/** A goal, or the amounts of a goal, among all stages, by place. */
export interface Stage {
  readonly goal: LearntGoal;
  /** Whether it stands for the amounts of those that reached the goal. */
  readonly amounts: boolean;
  /** Value of a reward of 1. */
  readonly weight: number;
  /** The stage before it. */
  readonly parent: number | undefined;
  readonly children: readonly number[];
  /** Whether it or a later stage has a value. The others need no regression. */
  readonly matters: boolean;
}

/** A stage that an impression has started, and perhaps reached. */
export interface Progress {
  /** Time from the impression to the start of the stage: 0, or when the stage before was reached. */
  readonly start: number;
  /** The reward that the stage learns. Undefined until it is reached. */
  readonly value?: number;
  /** Time from the start to the conversion. */
  readonly delay?: number;
}

/** The stages of goals in which each goal follows the one that comes before it. */
export function stagesOf(goals: readonly LearntGoal[]): Stage[] {
  const parts = goals.flatMap((goal) => {
    if (!goal.value) return [{ goal, amounts: false, weight: goal.weight }];
    return [
      { goal, amounts: false, weight: 0 },
      { goal, amounts: true, weight: goal.weight },
    ];
  });
  const parents = parts.map(({ goal, amounts }) => {
    const before = amounts ? goal.name : goal.after;
    return before === undefined ? undefined : parts.findIndex((each) => each.goal.name === before);
  });
  const children = parts.map((_, i) => parents.flatMap((parent, child) => (parent === i ? [child] : [])));
  const matters = (i: number): boolean => parts[i].weight !== 0 || children[i].some(matters);
  return parts.map((part, i) => ({ ...part, parent: parents[i], children: children[i], matters: matters(i) }));
}

/**
 * The progress of an impression in each stage, by its goals. Undefined for a stage that has not started.
 *
 * A stage is reached as soon as it or a later one is: a purchase without its click counts as a click that nobody saw. A stage that
 * another one comes after is reached or not, so its reward counts as 1, unless it is 0: it is then not reached.
 */
export function progressOf(stages: readonly Stage[], outcomes: GoalOutcomes): (Progress | undefined)[] {
  const outcomeOf = ({ name }: LearntGoal): GoalOutcome | undefined => (Object.hasOwn(outcomes, name) ? outcomes[name] : undefined);
  const seenAt = stages.map(({ goal }) => {
    const own = outcomeOf(goal);
    return own && own.reward !== 0 ? own.delay : Number.POSITIVE_INFINITY;
  });
  // Later stages come after earlier ones in the list.
  for (let i = stages.length - 1; i >= 0; i--) {
    const { parent } = stages[i];
    if (parent !== undefined) seenAt[parent] = Math.min(seenAt[parent], seenAt[i]);
  }
  return stages.map(({ goal, amounts, parent, children }, i) => {
    const own = outcomeOf(goal);
    // Amounts come with the conversion. Nobody knows those of a goal that was reached unseen.
    if (amounts) return own && own.reward !== 0 ? { start: own.delay, value: own.reward, delay: 0 } : undefined;
    const start = parent === undefined ? 0 : seenAt[parent];
    if (start === Number.POSITIVE_INFINITY) return undefined;
    if (children.length > 0) return seenAt[i] === Number.POSITIVE_INFINITY ? { start } : { start, value: 1, delay: seenAt[i] - start };
    return own ? { start, value: own.reward, delay: Math.max(own.delay - start, 0) } : { start };
  });
}

/** The expected value of each stage: what it is worth itself, and what the stages after it are worth. */
export function folded<Value>(stages: readonly Stage[], ofStage: (stage: number, later: readonly Value[]) => Value): Value[] {
  const values = new Array<Value>(stages.length);
  for (let i = stages.length - 1; i >= 0; i--) {
    const { matters, children } = stages[i];
    if (matters)
      values[i] = ofStage(
        i,
        children.filter((child) => stages[child].matters).map((child) => values[child]),
      );
  }
  return stages.flatMap(({ parent, matters }, i) => (parent === undefined && matters ? [values[i]] : []));
}
