import type { Window } from "../delay/window.ts";

/** A goal with all options filled in. */
export interface LearntGoal {
  readonly name: string;
  readonly weight: number;
  readonly window: Window;
  /** The goal that comes before this one. */
  readonly after: string | undefined;
  /** Age at which its rewards are revealed, in the unit of the window. Undefined: delays are learnt. */
  readonly delay: number | undefined;
  /** Set if its rewards are amounts of money. `max`: the greatest amount that counts; absent, it follows from the amounts. */
  readonly value: { readonly max?: number } | undefined;
}

/** One goal that an impression has reached. */
export interface GoalOutcome {
  /** The reward as reported, without the weight of the goal; the sum of its amounts, if they are money. */
  readonly reward: number;
  /** Time from the impression to the goal's earliest event with a reward, in the unit of the window. */
  readonly delay: number;
}

/** The goals that an impression has reached, by name. A goal whose events are retracted is absent. */
export type GoalOutcomes = Readonly<Record<string, GoalOutcome>>;

/** The goals of an impression before and after an event. */
export interface GoalChange {
  readonly before: GoalOutcomes;
  readonly after: GoalOutcomes;
}
