import { isInMs, type Window } from "../model/delay/window.ts";
import { finiteNumber, flag, nonEmptyString, onlyKeys, outOfRange, type Range, record } from "../values/argument.ts";
import { amountOf, type Goals, type GoalValue } from "./goals.ts";
import type { Conversion } from "./ledger.ts";

/** A conversion of an impression. */
export interface ConversionEvent {
  readonly impressionId: string;
  /**
   * null retracts earlier events of this goal. An event with a later time counts again. For a goal with a value, an amount: of an order
   * line, or below 0 of a refund. The amounts of different events add up.
   *
   * 0 is what an impression without conversions has, so it need not be reported, and changes nothing. With the `eventId` of an earlier
   * event, or with `restates`, it takes that back. Policies that wait for every reward count a 0 as any other: `PolicyFactory.countsZeros`.
   */
  readonly reward: number | null;
  /** Time of the conversion, in ms since 1970. Required with a window in ms. */
  readonly at?: number;
  /** The goal that the visitor reached, default "conversion". Rewards of several goals add up, by the weights of declared goals. */
  readonly goal?: string;
  /** Currency of the amount, for a goal with a value. Default: the goal's. Another one is refused. */
  readonly currency?: string;
  /**
   * For a goal with a value: the amount replaces all earlier ones of the goal. Default false: it adds to them. Rewards of other goals always
   * replace earlier ones.
   */
  readonly restates?: boolean;
  /** Identifies the event, so that a repetition is a duplicate. Default: its time. */
  readonly eventId?: string;
}

/** Options of a recommender that its conversions have to fit. */
export interface ConversionRules {
  readonly window: Window;
  /** Range of the reward of one conversion. */
  readonly reward: Range;
  readonly goals: Goals | undefined;
  /** Whether a reward of 0 counts as any other. */
  readonly countsZeros: boolean;
}

/** The conversion that an event reports, and the id of its impression. @throws {TypeError | RangeError} naming the argument. */
export function parseConversion(
  event: ConversionEvent,
  rules: ConversionRules,
): { readonly impressionId: string; readonly conversion: Conversion } {
  onlyKeys("event", record("event", event), ["impressionId", "reward", "at", "goal", "eventId", "currency", "restates"]);
  const reward = event.reward === null ? null : checkedReward(event, rules);
  const at = isInMs(rules.window) || event.at !== undefined ? finiteNumber("at", event.at) : 0;
  const goal = nonEmptyString("goal", event.goal ?? "conversion");
  if (rules.goals && !Object.hasOwn(rules.goals, goal)) throw outOfRange("goal", `one of ${Object.keys(rules.goals).join(", ")}`, goal);
  const eventId = nonEmptyString("eventId", event.eventId ?? `at ${at}`);
  const impressionId = nonEmptyString("impressionId", event.impressionId, 2048);
  const hasAmounts = goalValue(rules.goals, goal) !== undefined;
  const asked = flag("restates", event.restates ?? false);
  // A retraction and the reward of a goal without a value replace earlier ones anyway. Only a 0 does not.
  const restates = asked && reward !== null && (hasAmounts || (reward === 0 && !rules.countsZeros));
  return { impressionId, conversion: restates ? { goal, eventId, at, reward, restates } : { goal, eventId, at, reward } };
}

/** A reward in its range, or the amount of a goal with a value. @throws {TypeError | RangeError} naming the argument. */
export function checkedReward(
  { reward, goal = "", currency }: Pick<ConversionEvent, "reward" | "goal" | "currency">,
  { reward: { min, max }, goals }: Pick<ConversionRules, "reward" | "goals">,
): number {
  const value = goalValue(goals, goal);
  if (currency !== undefined && currency !== value?.currency) {
    throw outOfRange("currency", value ? `${value.currency}, as declared` : "none, as the goal has no value", currency);
  }
  return value ? amountOf("reward", reward) : finiteNumber("reward", reward, min, max);
}

function goalValue(goals: Goals | undefined, goal: string): GoalValue | undefined {
  return goals && Object.hasOwn(goals, goal) ? goals[goal].value : undefined;
}
