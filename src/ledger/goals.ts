// The declared goals of a recommender: their options, checks and order.

import { isInMs, parseWindow, spanOf, type Window } from "../model/delay/window.ts";
import type { GoalOutcomes, LearntGoal } from "../model/goals/goal.ts";
import { finiteNumber, nonEmptyString, onlyKeys, outOfRange, positiveNumber, record, wrongType } from "../values/argument.ts";

/** A goal: the worth of its conversions, and their delays. */
export interface GoalOptions {
  /** Value of a reward of 1. A goal of weight 0 is learnt if another comes after it, and counts for nothing itself. */
  readonly weight: number;
  /** Greatest delay at which a conversion of this goal counts, in the unit of the recommender's window. Default: that window. */
  readonly window?: { readonly ms: number } | { readonly rounds: number };
  /**
   * The goal that comes before this one, as a click before a purchase. This one is then learnt from the impressions that reached the
   * earlier goal, as a share of them. A conversion of it counts as one of the earlier goal too.
   */
  readonly after?: string;
  /**
   * The age at which a reward of this goal is revealed, in the unit of the recommender's window, from the goal that it comes after, if
   * there is one. A law of delays is then not learnt.
   */
  readonly delay?: { readonly ms: number } | { readonly rounds: number };
  /**
   * Makes the rewards of this goal amounts of money of any size. Those of one impression add up: order lines, and refunds as negative
   * amounts. The expected amount is learnt as a second factor: the share that converts, times the amount of those that do.
   */
  readonly value?: GoalValue;
}

/** The amounts of a goal. */
export interface GoalValue {
  /** Code of the currency, such as EUR: three capital letters. */
  readonly currency: string;
  /**
   * The greatest amount that counts wholly. What is above it counts as this. Default: ten times the amount that 99 % of the amounts so far
   * do not exceed, rounded up to a power of two. Fewer than a hundred amounts have a lower bound: of up to ten amounts it is ten times the
   * median. What is beyond this bound counts as the greatest amount within it, rounded up by at most an eighth.
   */
  readonly max?: number;
}

/** Version of what a state holds of amounts, in thousands: recommenders without amounts keep the version of their policy. */
const AMOUNTS_VERSION = 1000;

/** Version of a recommender's state. */
export function stateVersionOf({ stateVersion }: { readonly stateVersion: number }, goals: Goals | undefined): number {
  const hasAmounts = Object.values(goals ?? {}).some((goal) => goal?.value !== undefined);
  return hasAmounts ? AMOUNTS_VERSION + stateVersion : stateVersion;
}

/** Goals by name. */
export type Goals = Readonly<Record<string, GoalOptions>>;

/** Most goals of a recommender: each keeps sums of its own. */
const MOST_GOALS = 64;
/**
 * Largest size of an amount: 10^12, far beyond an order in any currency, in its minor unit too. Sums of 2^52 such amounts are exact if
 * the amounts are multiples of 2^-12, and sums of their squares are finite.
 */
const MOST_AMOUNT = 1e12;
/** Largest size of a weight. */
const MOST_WEIGHT = 1e6;

/**
 * Checks goals, and puts each after the goal that comes before it.
 * @throws {TypeError | RangeError} naming the option.
 */
export function parseGoals(value: unknown, window: Window): LearntGoal[] {
  const options = record("goals", value);
  const names = Object.keys(options);
  if (names.length === 0 || names.length > MOST_GOALS) throw outOfRange("goals", `1 to ${MOST_GOALS} goals`, value);
  const goals = new Map(names.map((name) => [nonEmptyString("goals", name, 64), goalOf(name, options, window)]));
  const sorted: LearntGoal[] = [];
  const visit = (name: string, from: readonly string[]): void => {
    const goal = goals.get(name) as LearntGoal;
    if (from.includes(name)) throw outOfRange(`goals.${name}.after`, "a goal that does not come after this one", goal.after);
    if (sorted.includes(goal)) return;
    if (goal.after !== undefined) visit(goal.after, [...from, name]);
    sorted.push(goal);
  };
  for (const name of names) visit(name, []);
  if (sorted.every(({ weight }) => weight === 0)) throw outOfRange("goals", "a goal with another weight than 0", value);
  return sorted;
}

function goalOf(name: string, options: Record<string, unknown>, window: Window): LearntGoal {
  const at = `goals.${name}`;
  const goal = record(at, options[name]);
  onlyKeys(at, goal, ["weight", "window", "after", "delay", "value"]);
  const { after } = goal;
  if (after !== undefined) {
    if (typeof after !== "string") throw wrongType(`${at}.after`, "the name of a goal", after);
    if (!Object.hasOwn(options, after)) throw outOfRange(`${at}.after`, `one of ${Object.keys(options).join(", ")}`, after);
  }
  const own = goal.window === undefined ? window : ownWindow(`${at}.window`, goal.window, window);
  const delay = goal.delay === undefined ? undefined : knownDelay(`${at}.delay`, goal.delay, own);
  return {
    name,
    weight: finiteNumber(`${at}.weight`, goal.weight, -MOST_WEIGHT, MOST_WEIGHT),
    window: own,
    after: after as string | undefined,
    delay,
    value: goal.value === undefined ? undefined : moneyOf(`${at}.value`, goal.value),
  };
}

function moneyOf(name: string, value: unknown): GoalValue {
  const given = record(name, value);
  onlyKeys(name, given, ["currency", "max"]);
  const { currency } = given;
  if (typeof currency !== "string") throw wrongType(`${name}.currency`, "a code such as EUR", currency);
  if (!/^[A-Z]{3}$/.test(currency)) throw outOfRange(`${name}.currency`, "three capital letters such as EUR", currency);
  if (given.max === undefined) return { currency };
  return { currency, max: finiteNumber(`${name}.max`, positiveNumber(`${name}.max`, given.max), 0, MOST_AMOUNT) };
}

/** Checks an amount of money. */
export function amountOf(name: string, value: unknown): number {
  return finiteNumber(name, value, -MOST_AMOUNT, MOST_AMOUNT);
}

const unitOf = (window: Window): "ms" | "rounds" => (isInMs(window) ? "ms" : "rounds");

function ownWindow(name: string, value: unknown, window: Window): Window {
  onlyKeys(name, record(name, value), ["ms", "rounds"]);
  const own = parseWindow(value);
  if (unitOf(own) !== unitOf(window)) throw outOfRange(name, `${unitOf(window)}, as the recommender's window`, value);
  if (spanOf(own) > spanOf(window))
    throw outOfRange(name, `at most the recommender's window, ${spanOf(window)} ${unitOf(window)}`, spanOf(own));
  return own;
}

function knownDelay(name: string, value: unknown, window: Window): number {
  const unit = unitOf(window);
  onlyKeys(name, record(name, value), [unit]);
  const delay = positiveNumber(`${name}.${unit}`, (value as Record<string, unknown>)[unit]);
  if (delay > spanOf(window)) throw outOfRange(`${name}.${unit}`, `at most the goal's window, ${spanOf(window)}`, delay);
  return delay;
}

/** The value of rewards: the sum over goals, each times its weight. Their order does not matter. */
export function totalOf(outcomes: GoalOutcomes, goals: readonly LearntGoal[]): number {
  const values = goals.flatMap(({ name, weight }) => (Object.hasOwn(outcomes, name) ? [weight * outcomes[name].reward] : []));
  return values.sort((a, b) => a - b).reduce((sum, value) => sum + value, 0);
}
